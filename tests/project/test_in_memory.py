"""Where the temporary files of `make test` are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "in_memory.sh"
MEMORY = Path("/dev/shm")  # noqa: S108
TELL = 'printf %s "${TMPDIR-none}"; test -z "${TMPDIR-}" || touch "$TMPDIR/left"; exit 3'

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a script for bash")


def told(**environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    done = subprocess.run(
        [SCRIPT, "bash", "-c", TELL], env=inherited | environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (3, "")
    return done.stdout


def test_they_are_in_memory_or_where_they_ever_were_and_then_gone() -> None:
    folder = told()
    assert folder == "none" or Path(folder).parent == MEMORY
    assert not Path(folder).exists()


def test_whoever_names_a_place_has_it(tmp_path: Path) -> None:
    assert told(TMPDIR=str(tmp_path)) == str(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["left"]


def test_without_room_in_memory_they_are_where_they_ever_were(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "df").write_text("#!/bin/sh\nprintf 'Filesystem 1024-blocks Used Available\\ntmpfs 65536 0 65536\\n'\n")
    (programs / "df").chmod(0o755)
    assert told(PATH=f"{programs}:{os.environ['PATH']}") == "none"
