"""Which Python ``scripts/install.sh`` makes an environment with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A Python that says of itself that it loads libpython, and keeps what it was asked to do.
SLOW = """#!/bin/sh
echo "$*" >> "$0.log"
case "$*" in */proc/self/maps*) exit 1;; esac
exec {python} "$@"
"""


def is_quick(python: str) -> bool:
    code = 'import pip, sys; sys.exit("libpython" in open("/proc/self/maps").read() or sys.version_info < (3, 11))'
    return (
        Path(python).exists() and subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not is_quick("/usr/bin/python3"), reason="the system has no Python that is quick")
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.slow
def test_a_quick_python_is_used_unless_a_slow_one_is_named(tmp_path: Path, named: bool) -> None:
    slow = tmp_path / "python3"
    slow.write_text(SLOW.format(python=os.path.realpath(sys.executable)))
    slow.chmod(0o755)
    (tmp_path / "lock.txt").write_text("")
    environment = {
        "PATH": f"{tmp_path}:/bin:/usr/bin",
        "HOME": str(tmp_path),
        **({"PYTHON": str(slow)} if named else {}),
    }
    command = [str(ROOT / "scripts" / "install.sh"), str(tmp_path / "venv"), str(tmp_path / "lock.txt")]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    asked = (tmp_path / "python3.log").read_text().splitlines()
    assert any(line.startswith("-m venv") for line in asked) == named
    assert (tmp_path / "venv" / "bin" / "python").exists()
