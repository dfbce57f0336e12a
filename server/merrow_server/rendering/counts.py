"""Numbers of things in words, for terminals and editors."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 error``, ``3 errors``, ``12,000 errors``."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def interrupted_text(calls: int) -> str:
    """A sentence about ``calls`` that were on their way when a process was killed; empty for none."""
    if not calls:
        return ""
    were = "1 call was" if calls == 1 else f"{calls:,} calls were"
    return (
        f"{were} under way when the process was killed: counted without an answer, and may have been charged for one."
    )
