"""What ``make demo`` shows: a broken workflow checked, repaired on a copy and checked again; then a workflow run to its end.

The run needs neither key nor network: its answers come from a recording, which is labelled as written by hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
BROKEN = EXAMPLES / "broken.mmd"
RUN = (EXAMPLES / "vote.mmd", EXAMPLES / "inputs" / "word_problem.txt", EXAMPLES / "replays" / "vote.jsonl")
"""What is run: the workflow, its input, the recording that answers."""

SHOWN = 3
"""How many findings of the first check are shown in full."""


def merrow(folder: str, *arguments: str) -> str:
    """Run the program in ``folder``, show the command, and return what it printed."""
    sys.stdout.write(f"\n{paint('1;36', '$ merrow ' + ' '.join(arguments))}\n")
    # A journal of the demo's own: what is shown here is no run of the user's.
    environment = {**os.environ, "MERROW_STATE_DIR": str(Path(folder) / "state")}
    if colour():
        environment["FORCE_COLOR"] = "1"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "merrow_server", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode > 1:
        raise SystemExit(f"The demo failed: {done.stdout}")
    return done.stdout


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


def check_and_repair(folder: str) -> None:
    """A broken workflow, checked, repaired and checked again."""
    shutil.copy(BROKEN, Path(folder) / "flow.mmd")
    sys.stdout.write("A workflow with mistakes in it: what is wrong, where, and what helps.\n")
    sys.stdout.write(shortened(merrow(folder, "check", "flow.mmd")) + "\n")
    sys.stdout.write("\nWhat a repair would change:\n")
    sys.stdout.write(merrow(folder, "check", "--diff", "--unsafe-fixes", "flow.mmd"))
    sys.stdout.write("\nRepaired, and checked again:\n")
    sys.stdout.write(merrow(folder, "check", "--fix", "--unsafe-fixes", "flow.mmd"))
    sys.stdout.write(merrow(folder, "check", "flow.mmd") or "All checks passed.\n")


def run_to_the_end(folder: str) -> None:
    """A workflow that is in order, run on a word problem."""
    workflow, problem, recording = (Path(shutil.copy(path, folder)).name for path in RUN)
    header = json.loads((Path(folder) / recording).read_text("utf-8").partition("\n")[0])
    sys.stdout.write("\nAnother workflow, run from end to end: three voices and a vote on a word problem.\n\n")
    sys.stdout.write(textwrap.indent((Path(folder) / problem).read_text("utf-8"), "    "))
    sys.stdout.write(f"\nNo key, no network, no cost: a recording answers, as it says itself.\n{header['shows']}\n")
    shown = merrow(folder, "run", workflow, "--input", f"problem=@{problem}", "--replay", recording)
    sys.stdout.write(shown)
    run = re.search(r"merrow show (\S+)", plain(shown))
    if run is None:
        raise SystemExit("The demo failed: the run has no id.")
    sys.stdout.write("\nWhat became of each node is in the journal (--node VOTE has every prompt and answer of one):\n")
    sys.stdout.write(merrow(folder, "show", run[1]))


def plain(text: str) -> str:
    """``text`` without ANSI styles."""
    return re.sub(r"\033\[[\d;]*m", "", text)


def main() -> int:
    """The show; 0 unless something is broken that should not be."""
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        check_and_repair(folder)
        run_to_the_end(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
