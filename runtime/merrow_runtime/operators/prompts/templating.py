"""The prompt of a template: its own words, and on lines of their own the framed data that its variables stand for."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_analysis.definitions.templates import pieces


def filled(template: str, texts: Mapping[str, str]) -> str:
    """The template with the text of each variable, set off by line breaks; a stray brace stays as it is written."""
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
