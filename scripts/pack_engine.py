"""Renew the copies of the extension's drawing engine and preview that `merrow render` and `merrow view` have:
``python scripts/pack_engine.py``.

The copies are in the package, compressed, so that an installation from a plain checkout draws without npm. ``--check`` changes
nothing, and fails where they are not what the sources of the extension and its locked packages make.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "vscode-extension"
PACKED = ROOT / "server" / "merrow_server" / "drawing"
LICENCES = "LICENCES.txt"


def built() -> dict[str, bytes]:
    """What is built now, by the name of the file: the scripts and styles, and the licences of the packages in them."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["node", "scripts/build.mjs", "--engine", folder], cwd=EXTENSION, check=True)  # noqa: S603, S607
        return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


def packed() -> dict[str, bytes]:
    """The same as the package has it."""
    found = {file.name.removesuffix(".gz"): gzip.decompress(file.read_bytes()) for file in PACKED.glob("*.gz")}
    licences = PACKED / LICENCES
    return found | ({LICENCES: licences.read_bytes()} if licences.is_file() else {})


def main() -> int:
    """Renew or check the copies; the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    is_check = options.parse_args().check
    wanted = built()
    if packed() == wanted:
        return 0
    if is_check:
        sys.stderr.write(
            "The copies of the drawing engine and the preview are out of date; renew them with: make engine\n"
        )
        return 1
    for old in PACKED.glob("*.gz"):
        old.unlink()
    for name, data in wanted.items():
        is_text = name == LICENCES
        (PACKED / (name if is_text else f"{name}.gz")).write_bytes(data if is_text else gzip.compress(data, 9, mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
