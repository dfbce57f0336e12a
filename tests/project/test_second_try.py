"""What `make test` does with a test that fails: it is tried once more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "tests.sh"
TESTS = {
    "passes": "def test_passes(): pass",
    "unstable": """
from pathlib import Path

def test_unstable():
    tried = Path("tried")
    tried.write_text(tried.read_text() + "x" if tried.exists() else "x")
    assert tried.read_text() == "xx"
""",
    "fails": "def test_fails(): assert False",
    "interrupted": "def test_interrupted(): raise KeyboardInterrupt",
}


def tried(folder: Path, *names: str) -> tuple[int, str]:
    for name in names:
        (folder / f"test_{name}.py").write_text(TESTS[name])
    command = [SCRIPT, sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:hypothesispytest"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a script for bash")
@pytest.mark.parametrize(
    ("names", "code", "words", "unsaid"),
    [
        (("passes",), 0, "1 passed", "second try"),
        (("passes", "unstable"), 0, "PASSED test_unstable.py::test_unstable", "PASSED test_passes"),
        (("passes", "unstable"), 0, "UNSTABLE", "no tests ran"),
        (("fails", "unstable"), 1, "second try", "UNSTABLE"),
        (("interrupted",), 2, "KeyboardInterrupt", "second try"),
    ],
)
def test_what_fails_is_tried_once_more(
    tmp_path: Path, names: tuple[str, ...], code: int, words: str, unsaid: str
) -> None:
    got, said = tried(tmp_path, *names)
    assert got == code
    assert words in said
    assert unsaid not in said
