"""The commands of docs/evaluating.md run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")
@pytest.mark.thinned(24, "commands of the documents")
def test_the_commands_run(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/evaluating.md").read_text("utf-8"), re.M | re.S))
    (tmp_path / "merrow").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m merrow_server "$@"\n')
    (tmp_path / "merrow").chmod(0o755)
    places = {"MERROW_STATE_DIR": str(tmp_path / "state"), "MERROW_CONFIG_DIR": str(tmp_path / "config")}
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-eu"],
        input=script,
        text=True,
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, **places, "PATH": path},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3 items of sums.jsonl" in done.stdout
    assert "trick  wrong" in done.stdout
    assert "2 right, 1 wrong" in done.stdout
