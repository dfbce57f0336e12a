"""Numbers of things in words, for terminals and editors."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 error``, ``3 errors``, ``12,000 errors``."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"
