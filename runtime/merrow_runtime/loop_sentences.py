"""Loops that wanted another turn when they ended, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

_MOST = 8
"""Loops that are named: of one inside a Map there may be thousands."""


def exhausted_sentences(loops: Sequence[Mapping[str, Any]], exhausted: Collection[str]) -> Iterator[str]:
    """What is said of each Loop whose path is in ``exhausted``; ``loops`` as `LoopRecord.to_json` has them. Ids and answers
    are in it as they are: whoever prints it makes them harmless.
    """
    named = frozenset(exhausted)
    several = [loop for loop in loops if loop["path"] in named]
    yield from map(_sentence, several[:_MOST])
    if len(several) > _MOST:
        more = len(several) - _MOST
        yield "1 more Loop stopped like this." if more == 1 else f"{more:,} more Loops stopped like this."


def _sentence(loop: Mapping[str, Any]) -> str:
    turns = "1 turn" if loop["turns"] == 1 else f"{loop['turns']:,} turns"
    why = "its budget was used up" if loop["why"] == "budget" else "its turns ran out"
    sentence = f"Loop {loop['path']} stopped after {turns}: {why}."
    if "replaced" in loop:
        answers = (
            f"{replaced['at']} answered `{replaced['answer']}`, and `{replaced['taken']}` was taken"
            for replaced in loop["replaced"]
        )
        sentence += f" In the last turn {'; '.join(answers)}."
    turn = f"turn {loop['best']}, the best one" if "best" in loop else "the last turn"
    return f"{sentence} The result is from {turn}."
