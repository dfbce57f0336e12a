"""The snippets of the documentation, and what the editors' tests share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROKEN = """flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: solver)"]
    B[Check (twice)]
    RETURN([Return])
    class PROBLEM,RETURN Interface
    class A,B CustomOp
    PROBLEM --> A
    A --> B
    B --> RETURN
"""
CODE = "MW006"
REPAIRED = '    B["Check (twice)"]'


def snippet(title: str) -> str:
    """The first fenced block below the heading ``title`` of docs/editors.md."""
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    section = re.split(rf"^## {title}$", text, flags=re.MULTILINE)[1]
    found = re.search(r"```\w+\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def need(program: str, installation: str) -> str:
    """The path of an editor. Without it the test is skipped, but fails where everything must be tried."""
    path = shutil.which(program)
    if path is None:
        miss(f"{program} is not installed; {installation} installs it.")
    return path


def miss(sentence: str) -> NoReturn:
    """Something that the test needs isn't there."""
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run an editor with an empty home; what it printed. Fails where it fails."""
    home = folder / "home"
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("STATE", "CACHE", "DATA", "CONFIG")},
        **variables,
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    printed = done.stdout + done.stderr
    if "is not installed" in printed:
        miss(printed.strip())
    assert done.returncode == 0, printed
    return printed
