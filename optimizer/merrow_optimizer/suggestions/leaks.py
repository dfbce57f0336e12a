"""Whether a new prompt repeats the data that a workflow is scored on: a gold answer, or a run of words of an item."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from merrow_optimizer.evaluation.items import Item

RUN = 12
"""Words in a row that a prompt and an item may not share."""
_SHORT, _NEAR = 3, 5
"""A gold answer with fewer letters and digits (``7``, ``no``) is one only beside so many words in a row of its item."""
_LABEL = 0.1
"""A gold answer of at least this share of all items is a label, which a prompt has to name."""
_LEAST_FOR_LABELS = 10
_WORD = re.compile(r"[^\W_]+", re.UNICODE)


class Leaks:
    """Looks for the data of ``items`` in prompts."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._runs: set[tuple[str, ...]] = set()
        self._golds: set[tuple[str, ...]] = set()
        self._short: list[tuple[tuple[str, ...], set[tuple[str, ...]]]] = []
        golds: Counter[tuple[str, ...]] = Counter()
        near: list[tuple[tuple[str, ...], list[str]]] = []
        count = 0
        for item in items:
            count += 1
            for text in _texts([dict(item.inputs), item.gold, dict(item.extra)]):
                self._runs.update(runs(words(text), RUN))
            given = [word for text in _texts(dict(item.inputs)) for word in words(text)]
            for gold in dict.fromkeys(tuple(words(text)) for text in _texts(item.gold)):
                if gold:
                    golds[gold] += 1
                    near.append((gold, given))
        labels = {gold for gold, times in golds.items() if count >= _LEAST_FOR_LABELS and times >= _LABEL * count}
        for gold, given in near:
            if gold in labels or len("".join(gold)) < _SHORT:
                self._short.append((gold, set(runs(given, _NEAR))))
            else:
                self._golds.add(gold)

    def found_in(self, prompt: str) -> str | None:
        """What of the data a prompt repeats, as a sentence that doesn't repeat it again; None where it is free of them."""
        prompt_words = words(prompt)
        if any(run in self._runs for run in runs(prompt_words, RUN)):
            return f"A prompt repeats {RUN} or more words of the data; describe the kind of task instead."
        lengths = {len(gold) for gold in self._golds}
        if any(run in self._golds for length in lengths for run in runs(prompt_words, length)):
            return "A prompt gives away the right answer of an item; describe how to find answers instead."
        shared = set(runs(prompt_words, _NEAR))
        for gold, given in self._short:
            if not shared.isdisjoint(given) and gold in set(runs(prompt_words, len(gold))):
                return "A prompt gives away an item with its right answer; describe the kind of task instead."
        return None


def words(text: str) -> list[str]:
    """The words and numbers of a text, in small letters."""
    return [word.casefold() for word in _WORD.findall(text)]


def runs(sequence: list[str], length: int) -> Iterator[tuple[str, ...]]:
    """Each row of so many words."""
    return (tuple(sequence[at : at + length]) for at in range(len(sequence) - length + 1))


def _texts(value: Any) -> Iterator[str]:
    """The texts and numbers in a value, each alone."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
        elif isinstance(part, (str, int, float)) and not isinstance(part, bool):
            yield str(part)
