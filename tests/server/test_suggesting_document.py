"""The commands of docs/suggesting.md run as they are written, with a scripted model on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.optimizer.suggestions.scripted import Model, candidate, prompt, said, setting
from tests.runtime.openai_server import serving

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")
@pytest.mark.thinned(24, "commands of the documents")
def test_the_commands_run(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/suggesting.md").read_text("utf-8"), re.M | re.S))
    (tmp_path / "merrow").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m merrow_server "$@"\n')
    (tmp_path / "merrow").chmod(0o755)
    places = {"MERROW_STATE_DIR": str(tmp_path / "state"), "MERROW_CONFIG_DIR": str(tmp_path / "config")}
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    answers = said(
        candidate(prompt("Name the unknowns. Solve. Answer with the number.", "EQUATIONS"), title="Be short"),
        candidate(setting("samples", 2, "CAREFUL"), title="Ask twice"),
    )
    model = Model(answers, [said(candidate(prompt(f"Attempt {n}.", "EQUATIONS"))) for n in range(9)])
    with serving(model) as server:
        done = subprocess.run(
            ["sh", "-eu"],
            input=script,
            text=True,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **places, "PATH": path, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-test"},
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "3 to 19 calls to gpt-4o-mini" in done.stdout
    assert "1  Be short  (25.0 of 50)" in done.stdout
    assert "Solve. Answer with the number." in (tmp_path / "flow.mmd").read_text("utf-8")
    assert json.loads((tmp_path / "suggestions.json").read_text("utf-8"))["suggestions"]
