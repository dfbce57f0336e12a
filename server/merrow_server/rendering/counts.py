"""Numbers of things in words, for terminals and editors."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``3 errors``, ``1 error``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
