"""What ``make demo`` shows: a broken workflow checked, repaired on a copy, and checked again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "broken.mmd"
SHOWN = 3
"""How many findings of the first check are shown in full."""


def merrow(folder: str, *arguments: str) -> str:
    """Run the program in ``folder``, show the command, and return what it printed."""
    sys.stdout.write(f"\n{paint('1;36', '$ merrow ' + ' '.join(arguments))}\n")
    environment = {**os.environ, "FORCE_COLOR": "1"} if colour() else dict(os.environ)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "merrow_server", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode > 1:
        raise SystemExit(f"The demo failed: {done.stderr}")
    return done.stdout + done.stderr


def colour() -> bool:
    """Whether somebody watches in colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(style: str, text: str) -> str:
    """``text`` in an ANSI style, where that is seen."""
    return f"\033[{style}m{text}\033[0m" if colour() else text


def shortened(output: str) -> str:
    """The first findings of a check and its summary."""
    *findings, summary = output.strip().split("\n\n")
    left_out = len(findings) - SHOWN
    shown = findings[:SHOWN] + ([f"... and {left_out} more"] if left_out > 0 else [])
    return "\n\n".join([*shown, summary])


def main() -> int:
    """The show; 0 unless something is broken that should not be."""
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(EXAMPLE, Path(folder) / "flow.mmd")
        sys.stdout.write("A workflow with mistakes in it: what is wrong, where, and what helps.\n")
        sys.stdout.write(shortened(merrow(folder, "check", "flow.mmd")) + "\n")
        sys.stdout.write("\nWhat a repair would change:\n")
        sys.stdout.write(merrow(folder, "check", "--diff", "--unsafe-fixes", "flow.mmd"))
        sys.stdout.write("\nRepaired, and checked again:\n")
        sys.stdout.write(merrow(folder, "check", "--fix", "--unsafe-fixes", "flow.mmd"))
        sys.stdout.write(merrow(folder, "check", "flow.mmd") or "All checks passed.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
