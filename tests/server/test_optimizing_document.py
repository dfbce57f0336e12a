"""The commands of docs/optimizing.md run as they are written."""

from __future__ import annotations

import json
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
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/optimizing.md").read_text("utf-8"), re.M | re.S))
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
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "20 items of sums.jsonl (part all) to search with, 10 set aside for the end." in done.stdout
    assert "The budget of 120 answers is used up, except for what the held-out items need." in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "search.jsonl").read_text().splitlines()]
    assert {line["event"] for line in lines} >= {"search_started", "candidate", "draw", "search_finished"}
