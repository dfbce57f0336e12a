"""Which tests to run for a broken module: those that name it, and the wider tests of its package."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("analysis", "runtime", "optimizer", "server")
_OTHER_WORDS = {"test", "command", "client", "rules", "commands"}
# Modules whose tests have another folder than their own: the folder of the sources, the folder of the tests.
_FOLDERS = {
    "server/merrow_server/features": "tests/server/lsp",
    "server/merrow_server/features/commands": "tests/server/lsp",
    "server/merrow_server/lsp": "tests/server/lsp",
    "server/merrow_server/runs": "tests/server/lsp",
    "server/merrow_server/cli": "tests/server",
    "server/merrow_server/rendering": "tests/server",
    "runtime/merrow_runtime": "tests/runtime/engine",
    "optimizer/merrow_optimizer/mutations": "tests/optimizer",
}
# Tests of other folders, and whose modules they go through as well: plain flowcharts from the text to the end of a run,
# the mutations, which are written as edits, and the command line. The first ones are quick and notice most.
_ALSO = {
    "tests/plain": ("analysis", "runtime"),
    "tests/optimizer": ("analysis/merrow_analysis/edits",),
    "tests/server": ("runtime", "analysis/merrow_analysis/rules"),
}
# What looks at one part only, or takes minutes, runs for that part alone.
_APART = {
    "tests/server/lsp": ("server/merrow_server/features", "server/merrow_server/lsp", "server/merrow_server/runs"),
    "tests/runtime/sandbox": ("runtime/merrow_runtime/sandbox",),
    "tests/runtime/test_datasets.py": ("runtime/merrow_runtime/operators",),
    "tests/runtime/test_third_party_server.py": ("runtime/merrow_runtime/models",),
    "tests/analysis/test_survival.py": ("analysis/merrow_analysis/syntax",),
    "tests/analysis/test_yaml_text.py": ("analysis/merrow_analysis/definitions",),
    "tests/analysis/test_markdown.py": ("analysis/merrow_analysis/markdown",),
    "tests/analysis/test_differential.py": ("analysis/merrow_analysis/syntax",),
}


class Selection:
    """The test files of the repository, and which of them go with a source file."""

    def __init__(self) -> None:
        self._tests = {
            file.relative_to(ROOT).as_posix(): _imports(file)
            for package in (*_PACKAGES, "plain")
            for file in sorted((ROOT / "tests" / package).rglob("test_*.py"))
            if "node_modules" not in file.parts
        }

    def naming(self, path: str) -> list[str]:
        """Tests that import the module or are called like it; where none does, those that are called like its folder, or
        else are in it. Smallest first.
        """
        module, words = _module(path), _words(PurePosixPath(path).stem)
        found = [
            test for test, imported in self._tests.items() if module in imported or (words and words <= _words(test))
        ]
        if not found and (words := _words(PurePosixPath(path).parent.name)):
            found = [test for test in self._tests if words <= _words(test)]
        found = [test for test in found if not self._is_apart(test, path)]
        return self._in_order(found or self._beside(path))

    def wider(self, path: str) -> list[str]:
        """The other tests of the module's package, and those that go through it as well; those with a word of its name first."""
        near, package = [test for test in self._beside(path) if not self._is_apart(test, path)], path.split("/")[0]
        done, words = set(self.naming(path)), _words(PurePosixPath(path).stem)
        far = [
            test
            for test in self._tests
            if test.startswith(f"tests/{package}/") and test not in near and not self._is_apart(test, path)
        ]
        for folder, sources in _ALSO.items():
            if path.startswith(sources):
                far += [test for test in self._tests if PurePosixPath(test).parent == PurePosixPath(folder)]
        tests = [test for test in (*self._in_order(near), *self._in_order(far)) if test not in done]
        return sorted(tests, key=lambda test: (not words & _words(test), not test.startswith("tests/plain/")))

    def _beside(self, path: str) -> list[str]:
        """The tests in the folder that belongs to the module's."""
        folder = PurePosixPath(path).parent
        parts = folder.parts
        own = PurePosixPath(_FOLDERS.get(folder.as_posix(), "/".join(("tests", parts[0], *parts[2:]))))
        while not (ROOT / own).is_dir():
            own = own.parent
        return [test for test in self._tests if PurePosixPath(test).parent == own]

    @staticmethod
    def _is_apart(test: str, path: str) -> bool:
        return any(test.startswith(prefix) and not path.startswith(own) for prefix, own in _APART.items())

    @staticmethod
    def _in_order(tests: list[str]) -> list[str]:
        return sorted(tests, key=lambda test: (ROOT / test).stat().st_size)


def _module(path: str) -> str:
    return ".".join(PurePosixPath(path).with_suffix("").parts[1:]).removesuffix(".__init__")


def _words(name: str) -> set[str]:
    return set(PurePosixPath(name).stem.removeprefix("test_").split("_")) - _OTHER_WORDS


@cache
def _imports(file: Path) -> frozenset[str]:
    """The modules that a test file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)
