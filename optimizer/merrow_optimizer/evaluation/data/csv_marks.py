"""The mark of texts in CSV that a spreadsheet would compute: an apostrophe before them."""

from __future__ import annotations

import re

REPORT = ("item", "repeat", "status", "read", "gold", "reason", "run")
"""Columns that a CSV has which Merrow wrote; in others an apostrophe is part of the text."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?\Z")
# What begins a formula, also as a full-width letter, or is skipped before one. Texts that have the mark get another one, so that
# taking one off always gives what was marked.
_FORMULA = re.compile("'*[\\s\x00-\x1f\ufeff]*[=+\\-@＝＋－＠]|'*[\t\r\n]")


def marked(text: str) -> str:
    """A text as a cell that no spreadsheet computes. A plain number, such as ``-5``, stays a number."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


def unmarked(cell: str) -> str:
    """The text that `marked` made a cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
