"""What the characters of an arrow or a direction say, in Mermaid's words."""

from __future__ import annotations

from merrow_analysis.syntax.characters import trim

_HEADS = {"x": "arrow_cross", ">": "arrow_point", "o": "arrow_circle"}
_TAILS = {"x": "arrow_cross", "<": "arrow_point", "o": "arrow_circle"}
_DIRECTIONS = {"<": "RL", "^": "BT", ">": "LR", "v": "TB", "TD": "TB"}


def read_arrow(end: str, start: str | None = None) -> tuple[str, str, int | None]:
    """Type, stroke and length of a link; ``start`` is its first part where text stands inside (``-- text -->``)."""
    kind, stroke, length = _read_end(trim(end))
    if start is None:
        return kind, stroke, length
    opening = trim(start)
    tail = _TAILS.get(opening[:1])
    if tail is not None:
        opening = opening[1:]
    opening_stroke = "dotted" if "." in opening else "thick" if "=" in opening else "normal"
    if opening_stroke != stroke or (tail is not None and tail != kind):
        return "INVALID", "INVALID", None
    return (f"double_{tail}" if tail else kind), stroke, length


def _read_end(text: str) -> tuple[str, str, int]:
    line = text[:-1]
    kind = _HEADS.get(text[-1:], "arrow_open")
    tail = {"x": "x", ">": "<", "o": "o"}.get(text[-1:])
    if tail is not None and text.startswith(tail):
        kind = f"double_{kind}"
        line = line[1:]
    dots = line.count(".")
    if dots:
        return kind, "dotted", dots
    stroke = "thick" if line.startswith("=") else "invisible" if line.startswith("~") else "normal"
    return kind, stroke, len(line) - 1


def normal_direction(word: str) -> str:
    """Mermaid's name of a direction: ``TD`` and ``v`` are TB, ``<`` RL, ``^`` BT, ``>`` LR."""
    return _DIRECTIONS.get(word, word)
