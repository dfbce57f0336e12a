"""The commands of docs/planning.md run as they are written."""

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
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/planning.md").read_text("utf-8"), re.M | re.S))
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
    assert "calls: 3 to 12" in done.stdout
    assert (tmp_path / "site" / "RETURN.md").exists()
    assert "expected completed, simulated" in done.stdout
    assert "14:00" in (tmp_path / "party" / "index.html").read_text("utf-8")
    assert (tmp_path / "party.mmd").read_text("utf-8") == (ROOT / "examples/plan/street_party.mmd").read_text("utf-8")
    assert "A page about bees" in (tmp_path / "bees.mmd").read_text("utf-8")
