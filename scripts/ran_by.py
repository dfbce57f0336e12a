"""Which tests run which line of the product, from one run of all tests with coverage.

    python scripts/ran_by.py

The answer is kept in ``.cache/ran-by``. What a test starts counts as the test's: other processes, and the forks of the processes
that tests keep at hand (tests/server/forked.py). What is killed, and what runs in the sandbox, is not seen.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".cache" / "ran-by"
SOURCES = (
    "analysis/merrow_analysis",
    "runtime/merrow_runtime",
    "optimizer/merrow_optimizer",
    "server/merrow_server",
)
_DATA, _FACTS, _SECONDS, _PIECES = "lines", "facts.json", "seconds.json", "pieces"
_PHASE = re.compile(r" \((?:setup|call|teardown)\)$")


@dataclass(frozen=True, slots=True)
class Test:
    """A test by its node id, and how many seconds it took."""

    id: str
    seconds: float

    @property
    def file(self) -> str:
        return self.id.partition("::")[0]

    @property
    def function(self) -> str:
        """Without the case of a test with parameters."""
        return self.id.partition("[")[0]


class RanBy:
    """What one run of all tests found out. ``folder`` is where it was kept, ``root`` the checkout that is asked about."""

    def __init__(self, folder: Path = KEPT, root: Path = ROOT) -> None:
        from coverage import CoverageData

        self._root = root
        self._facts = json.loads((folder / _FACTS).read_text("utf-8"))
        self._data = CoverageData(str(folder / _DATA))
        self._data.read()
        self._by_line: dict[str, dict[int, set[str]]] = {}

    @cached_property
    def changed(self) -> frozenset[str]:
        """The test files that are new, or have changed, since."""
        return frozenset(path for path, text in _texts(self._root, "tests").items() if self._tests.get(path) != text)

    @property
    def _tests(self) -> Mapping[str, str]:
        known: Mapping[str, str] = self._facts["tests"]
        return known

    def tests(self, path: str, lines: Iterable[int] | None) -> list[Test]:
        """The tests that passed and ran one of these lines of a source file, or any line (None), quickest first. Lines that are
        new since the run are run by nobody.
        """
        known = self._lines_of(path)
        then = self._lines_then(path)
        wanted = known.values() if lines is None else [known.get(then.get(line, 0), set()) for line in lines]
        seconds: Mapping[str, float] = self._facts["seconds"]
        found = {test for tests in wanted for test in tests if test in seconds and self._is_there(test)}
        return sorted((Test(test, seconds[test]) for test in found), key=lambda test: (test.seconds, test.id))

    def _lines_of(self, path: str) -> dict[int, set[str]]:
        if path not in self._by_line:
            contexts = self._data.contexts_by_lineno(str(Path(self._facts["root"]) / path))
            self._by_line[path] = {
                line: {_test_of(one) for one in several} - {""} for line, several in contexts.items()
            }
        return self._by_line[path]

    def _lines_then(self, path: str) -> dict[int, int]:
        """Lines of a file as it is, and which they were at the run."""
        now = (self._root / path).read_text("utf-8").splitlines()
        then = self._facts["sources"].get(path, "").splitlines()
        blocks = SequenceMatcher(None, then, now, autojunk=False).get_matching_blocks()
        return {block.b + i + 1: block.a + i + 1 for block in blocks for i in range(block.size)}

    def _is_there(self, test: str) -> bool:
        """Whether a test of that run still has its name. Cases may have others: what is not found is left out when it runs."""
        file, _, name = test.partition("::")
        if file not in self.changed:
            return file in self._tests
        path = self._root / file
        return path.is_file() and f"def {name.rpartition('::')[2].partition('[')[0]}(" in path.read_text("utf-8")


def is_known(folder: Path = KEPT) -> bool:
    """Whether a run has found it out, to its end."""
    return (folder / _FACTS).is_file()


def _test_of(context: str) -> str:
    """The test of a context: of a process that a test started it says the test twice, or its phase."""
    return _PHASE.sub("", context.rpartition("|")[2] or context.partition("|")[0])


def _texts(root: Path, *folders: str) -> dict[str, str]:
    """The Python files in these folders by their paths."""
    files = (file for folder in folders for file in sorted((root / folder).rglob("*.py")))
    return {
        file.relative_to(root).as_posix(): file.read_text("utf-8")
        for file in files
        if "node_modules" not in file.parts and "__pycache__" not in file.parts
    }


def find_out(folder: Path = KEPT, root: Path = ROOT, tests: Iterable[str] = (), workers: int = 2) -> int:
    """Run the tests, all where none are named, and keep what they ran; the exit code of pytest."""
    pieces = folder / _PIECES
    pieces.mkdir(parents=True, exist_ok=True)
    for old in (folder / _DATA, folder / _FACTS, folder / _SECONDS, *pieces.iterdir()):
        old.unlink(missing_ok=True)
    settings = folder / "coveragerc"
    sources = "\n    ".join(str(root / source) for source in SOURCES)
    settings.write_text(
        f"[run]\nsource =\n    {sources}\nparallel = true\npatch = _exit, fork\nsigterm = true\n"
        f"data_file = {pieces / 'of'}\ncontext = ${{PYTEST_CURRENT_TEST-}}\n"
        "disable_warnings = no-data-collected, module-not-measured, module-not-imported, dynamic-conflict\n",
        "utf-8",
    )
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},  # a test may ask
        "COVERAGE_PROCESS_START": str(settings),
        "MERROW_RAN_BY": str(folder / _SECONDS),
        "PYTHONPATH": str(Path(__file__).parent),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--dist", "worksteal", "-p", "note_tests"]
    done = subprocess.run([*command, *tests], cwd=root, env=environment, check=False)  # noqa: S603
    combine = ["combine", "-q", f"--rcfile={settings}", f"--data-file={folder / _DATA}"]
    found = [str(piece) for piece in pieces.iterdir()]
    for first in range(0, len(found), 1000):
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "coverage", *combine, "--append", *found[first : first + 1000]],
            cwd=root,
            check=False,
        )
    if not (folder / _SECONDS).is_file():
        return done.returncode  # such as an interruption: nothing is known
    seconds = json.loads((folder / _SECONDS).read_text("utf-8"))
    kept = {"root": str(root), "sources": _texts(root, *SOURCES), "tests": _texts(root, "tests"), "seconds": seconds}
    (folder / _FACTS).write_text(json.dumps(kept), "utf-8")
    return done.returncode


@click.command()
def main() -> None:
    """Run all tests once and keep which of them ran which line, for scripts/mutants.py."""
    code = find_out()
    if code not in (0, 1):
        raise click.ClickException(f"The tests ended with {code}.")


if __name__ == "__main__":
    main()
