"""The prompt of a template: its own words, and on lines of their own the framed data that its variables stand for."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_analysis.bounded.allowance import Allowance, TooMuchError
from merrow_analysis.definitions.templates import pieces
from merrow_runtime.errors import NodeFailure

LONGEST = 10_000_000
"""Characters of a prompt: more than any model takes."""


def filled(template: str, texts: Mapping[str, str]) -> str:
    """The template with the text of each variable, set off by line breaks; a stray brace stays as it is written.

    Raises `NodeFailure` before anything is filled in where that would be longer than `LONGEST`.
    """
    _check_length(template, texts)
    parts: list[str] = []
    after_block = False
    for piece in pieces(template.strip()):
        if piece.kind == "variable":
            before = parts[-1].rstrip(" \t") if parts else ""
            if parts:
                parts[-1] = before
            parts.append(("" if not before or before.endswith("\n") else "\n") + texts.get(piece.text, ""))
            after_block = True
            continue
        text = piece.text
        if after_block:
            text = text.lstrip(" \t")
            text = text if not text or text.startswith("\n") else f"\n{text}"
        after_block = after_block and not text
        parts.append(text)
    return "".join(parts)


def _check_length(template: str, texts: Mapping[str, str]) -> None:
    allowance = Allowance(LONGEST, "")
    for piece in pieces(template.strip()):
        try:
            allowance.take(len(texts.get(piece.text, "") if piece.kind == "variable" else piece.text))
        except TooMuchError:
            raise NodeFailure(
                f"Its prompt would have more than {LONGEST:,} characters once `{{{piece.text[:40]}}}` is filled in; use each"
                " variable once, or give it less."
            ) from None
