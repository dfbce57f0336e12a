"""Programs of this package that run in a process of their own, of Python's standard library alone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def is_archived() -> bool:
    """Whether Merrow is in the archive of a compiled program."""
    return not Path(__file__).is_file()


def script(name: str) -> tuple[str, ...]:
    """How Python is called with a file of this package. Where that is in an archive, from which Python starts no single file, it
    gets the text.
    """
    if is_archived():
        return "-c", (files("merrow_runtime.outside") / name).read_text(encoding="utf-8")
    return (str(Path(__file__).with_name(name)),)
