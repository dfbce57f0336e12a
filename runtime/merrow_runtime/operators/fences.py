"""Fences of backticks, as CommonMark has them: how values are framed in prompts and how answers set off code and data.

A fence that is longer than any run of backticks inside can't be closed from inside; so text that is framed with `framed`
never gets out of its frame, whatever it holds, and `fences` gives back exactly what was framed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHORTEST = 3
_RUNS = re.compile("`+")
_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*")


@dataclass(frozen=True, slots=True)
class Fence:
    """What stands between two fences. ``language`` is the first word after the opening one, lower case;
    ``closed`` is False where the text ends before a closing one.
    """

    language: str
    text: str
    closed: bool = True


def framed(text: str, language: str = "") -> str:
    """``text`` between fences of backticks, longer than any run of them inside."""
    fence = "`" * _SHORTEST
    if "`" in text:
        fence = "`" * max(_SHORTEST, 1 + max(len(run) for run in _RUNS.findall(text)))
    return f"{fence}{language}\n{text}\n{fence}"


def fences(text: str) -> list[Fence]:
    """Every fenced block of ``text``, in order. A fence that is never closed reaches to the end."""
    found: list[Fence] = []
    inside: list[str] = []
    mark, language = "", ""
    for line in text.split("\n"):
        if not mark:
            opening = _OPENING.fullmatch(line.rstrip("\r"))
            if opening is not None:
                mark, language, inside = opening[1], opening[2].lower(), []
            continue
        bare = line.strip()
        if len(bare) >= len(mark) and not bare.strip(mark[0]):
            found.append(Fence(language, "\n".join(inside)))
            mark = ""
        else:
            inside.append(line)
    if mark:
        found.append(Fence(language, "\n".join(inside), closed=False))
    return found
