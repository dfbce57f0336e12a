"""Fences of backticks, as CommonMark has them: how values are framed in prompts and how answers set off code and data.

A fence that is longer than any run of backticks inside can't be closed from inside; so text that is framed with `framed`
never gets out of its frame, whatever it holds, and `fences` gives back exactly what was framed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SHORTEST = 3
_RUNS = re.compile("`+")
_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(([^`\s]*)[^`]*)")


@dataclass(frozen=True, slots=True)
class Fence:
    """What stands between two fences. ``language`` is the first word after the opening one, lower case;
    ``closed`` is False where the text ends before a closing one; ``info`` is all that the opening line says, ``above`` the last
    line before it that is not blank.
    """

    language: str
    text: str
    closed: bool = True
    info: str = ""
    above: str = ""


def framed(text: str, language: str = "", fence: str | None = None) -> str:
    """``text`` between fences of backticks, longer than any run of them inside; or between these."""
    fence = fence_around([text]) if fence is None else fence
    return f"{fence}{language}\n{text}\n{fence}"


def fence_around(texts: Iterable[str]) -> str:
    """The shortest fence that is longer than any run of backticks in these texts."""
    runs = (len(run) for text in texts if "`" in text for run in _RUNS.findall(text))
    return "`" * max(_SHORTEST, 1 + max(runs, default=0))


def fences(text: str) -> list[Fence]:
    """Every fenced block of ``text``, in order. A fence that is never closed reaches to the end."""
    blocks: list[Fence] = []
    inside: list[str] = []
    mark = language = info = above = ""
    for line in text.split("\n"):
        if not mark:
            opening = _OPENING.fullmatch(line.rstrip("\r"))
            if opening is not None:
                mark, info, language, inside = opening[1], opening[2].strip(), opening[3].lower(), []
            elif line.strip():
                above = line.strip()
            continue
        bare = line.strip()
        if len(bare) >= len(mark) and not bare.strip(mark[0]):
            blocks.append(Fence(language, "\n".join(inside), info=info, above=above))
            mark = above = ""
        else:
            inside.append(line)
    if mark:
        blocks.append(Fence(language, "\n".join(inside), closed=False, info=info, above=above))
    return blocks
