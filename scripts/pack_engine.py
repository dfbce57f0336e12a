"""Renew the copy of the extension's drawing engine that `merrow render` draws with: ``python scripts/pack_engine.py``.

The copy is in the package, compressed, so that an installation from a plain checkout draws without npm. ``--check`` changes
nothing, and fails where the copy is not what the sources of the extension and its locked packages make.
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
ENGINE, LICENCES = PACKED / "engine.js.gz", PACKED / "LICENCES.txt"


def built() -> tuple[bytes, bytes]:
    """The engine as it is built now, and the licences of the packages in it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["node", "scripts/build.mjs", "--engine", folder], cwd=EXTENSION, check=True)  # noqa: S603, S607
        return (Path(folder) / "engine.js").read_bytes(), (Path(folder) / "LICENCES.txt").read_bytes()


def main() -> int:
    """Renew or check the copy; the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    engine, licences = built()
    is_current = ENGINE.is_file() and gzip.decompress(ENGINE.read_bytes()) == engine
    is_current = is_current and LICENCES.is_file() and LICENCES.read_bytes() == licences
    if is_current:
        return 0
    if options.parse_args().check:
        sys.stderr.write("The copy of the drawing engine is out of date; renew it with: make engine\n")
        return 1
    ENGINE.write_bytes(gzip.compress(engine, 9, mtime=0))
    LICENCES.write_bytes(licences)
    return 0


if __name__ == "__main__":
    sys.exit(main())
