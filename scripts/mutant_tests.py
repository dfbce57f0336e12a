"""Which tests to run for a break: those that ran the broken line, and those that name the broken module."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ran_by import ROOT, RanBy, Test

if TYPE_CHECKING:
    from mutant_spots import Spot

_PACKAGES = ("analysis", "runtime", "optimizer", "server")
_OTHER_WORDS = {"test", "command", "client", "rules", "commands"}
_LEAST = 0.02
"""Seconds that a test takes at least, with what goes on around it."""


class Selection:
    """The test files of the repository, and which tests go with a break."""

    def __init__(self, ran_by: RanBy) -> None:
        self._ran_by = ran_by
        self._tests = {
            file.relative_to(ROOT).as_posix(): _imports(file)
            for package in (*_PACKAGES, "plain")
            for file in sorted((ROOT / "tests" / package).rglob("test_*.py"))
            if "node_modules" not in file.parts
        }

    def tests(self, spot: Spot, text: str, seconds: float) -> list[str]:
        """The tests of a break of a file with this ``text``, those that are likely to notice it first.

        Tests that ran the line, in files that name the module first, one case of each before others, quick ones before long ones,
        as many as fit into ``seconds`` together. Files that name the module and are new, or have changed, since that run come
        before them, whole. If no test is known to have run the line, as in a process of the sandbox, the files that name the
        module run, and those of the folder that belongs to it.
        """
        naming = self.naming(spot.path)
        inside = any(first < spot.line <= last for first, last in _functions(text))
        # What is outside functions runs when it is imported, which whatever test came first did.
        ran = self._ran_by.tests(spot.path, _statement(text, spot.line) if inside else None)
        chosen = _fitting(_likely_first(ran, frozenset(naming)), seconds)
        changed = [file for file in naming if file in self._ran_by.changed]
        if not chosen:
            return [*dict.fromkeys([*naming, *self._beside(spot.path)])]
        return [*changed, *(test for test in chosen if test.partition("::")[0] not in changed)]

    def naming(self, path: str) -> list[str]:
        """Test files that import the module or are called like it, smallest first."""
        module, words = _module(path), _words(PurePosixPath(path).stem)
        return _smallest_first(
            test for test, imported in self._tests.items() if module in imported or (words and words <= _words(test))
        )

    def _beside(self, path: str) -> list[str]:
        """The test files of the folder that is called like the module's, or like the nearest one around that."""
        package, _, *folders = PurePosixPath(path).parent.parts
        own = PurePosixPath("tests", package, *folders)
        while not (ROOT / own).is_dir():
            own = own.parent
        return _smallest_first(test for test in self._tests if PurePosixPath(test).parent == own)


def _smallest_first(tests: Iterable[str]) -> list[str]:
    return sorted(tests, key=lambda test: (ROOT / test).stat().st_size)


def _likely_first(tests: list[Test], naming: frozenset[str]) -> list[Test]:
    """One case of each test before a second one; in files that name the module before others; quick before long."""
    nth: dict[str, int] = {}
    places: dict[str, int] = {}
    for test in tests:
        places[test.id] = nth[test.function] = nth.get(test.function, -1) + 1
    return sorted(tests, key=lambda test: (places[test.id], test.file not in naming, test.seconds))


def _fitting(tests: list[Test], seconds: float) -> list[str]:
    """As many as fit, one at least; those of a file together, so that what they share is set up once."""
    by_file: dict[str, list[str]] = {}
    for number, test in enumerate(tests):
        seconds -= max(test.seconds, _LEAST)
        if seconds < 0 and number:
            break
        by_file.setdefault(test.file, []).append(test.id)
    return [test for several in by_file.values() for test in several]


@cache
def _functions(text: str) -> list[tuple[int, int]]:
    """The lines of each function: that before its body, which are not of it, and its last."""
    return [
        (node.body[0].lineno - 1, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@cache
def _statement(text: str, line: int) -> range:
    """The lines of the statement around a line; of one that has a body, those before it."""
    best = range(line, line + 1)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            body = getattr(node, "body", None)
            first = getattr(node, "lineno", None) or (body[0].lineno - 1 if body else line)
            last = max(first, body[0].lineno - 1) if body else (getattr(node, "end_lineno", None) or first)
            if first <= line <= last and (len(best) == 1 or first >= best.start):
                best = range(first, last + 1)
    return best


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
