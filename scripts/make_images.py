"""Draw docs/images/check.svg, the picture of the README, from what ``merrow check`` really prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = "broken.mmd"
WIDTH = 108


def main() -> int:
    """Run the check in colour and write it as a picture."""
    command = [sys.executable, "-m", "merrow_server", "check", EXAMPLE]
    environment = {**os.environ, "FORCE_COLOR": "1"}
    shown = subprocess.run(  # noqa: S603 - our own program
        command, cwd=ROOT / "examples", env=environment, capture_output=True, text=True, check=False
    )
    if shown.returncode != 1:
        sys.stderr.write(f"merrow check {EXAMPLE} was expected to find errors:\n{shown.stdout}{shown.stderr}")
        return 1
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(f"$ merrow check {EXAMPLE}\n{shown.stdout}".rstrip()))
        # A fixed id keeps the file the same where the output is the same.
        svg = console.export_svg(title="merrow check", unique_id="merrow-check")
    # The picture must not fetch a font from elsewhere.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    target = ROOT / "docs" / "images" / "check.svg"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(svg, "utf-8")
    sys.stdout.write(f"{target.relative_to(ROOT)} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
