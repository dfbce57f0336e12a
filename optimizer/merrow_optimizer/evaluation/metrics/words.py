"""Metrics on words: exact, contains, and the token F1 of reading comprehension."""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, right, shown, text_of, wrong
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.values import as_text

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Exact(BaseMetric):
    """The whole output is the gold, but for space around it. Gold that isn't a text is compared as JSON."""

    name = "exact"

    async def score(self, item: Item, output: Any) -> Score:
        read = text_of(output).strip()
        for gold in golds_of(item.gold) or [[]]:
            if isinstance(gold, str):
                if _plain(gold) == _plain(read):
                    return right(read, "equal to the right answer")
            elif any(_same(gold, value) for value in _values(output)):
                return right(read, "equal to the right answer as JSON")
        return wrong(read, "differs from the right answer")


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").strip())


def _values(output: Any) -> list[Any]:
    if not isinstance(output, str):
        return [output]
    try:
        return [json.loads(output)]
    except (ValueError, RecursionError):
        return []


def _same(gold: Any, value: Any) -> bool:
    """Equality of JSON, where true is not 1."""
    if isinstance(gold, bool) or isinstance(value, bool):
        return gold is value
    if isinstance(gold, dict):
        return (
            isinstance(value, dict)
            and gold.keys() == value.keys()
            and all(_same(gold[key], value[key]) for key in gold)
        )
    if isinstance(gold, list):
        return isinstance(value, list) and len(gold) == len(value) and all(map(_same, gold, value))
    return bool(gold == value)


class Contains(BaseMetric):
    """The gold's words are in the output, one after the other and as whole words; upper and lower case are the same."""

    name = "contains"

    def fault(self, item: Item) -> str | None:
        if all(as_text(gold).strip() for gold in golds_of(item.gold)) and golds_of(item.gold):
            return None
        return "an empty text is part of every answer; give the words that the answer must contain"

    async def score(self, item: Item, output: Any) -> Score:
        said = _spaced(text_of(output))
        text = said.casefold()
        # Letters that become several without case would move what is shown.
        read = said if len(said) == len(text) else text
        for gold in golds_of(item.gold):
            words = _folded(as_text(gold))
            place = _place_of(words, text)
            if place is not None:
                around = read[max(0, place - 60) : place + len(words) + 60].strip()
                return right(around, f"contains {as_text(gold).strip()!r}")
        return wrong(read, "doesn't contain the right answer")


def _folded(text: str) -> str:
    return _spaced(text).casefold()


def _spaced(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _place_of(words: str, text: str) -> int | None:
    place = text.find(words)
    while place >= 0:
        end = place + len(words)
        if not _joins(text[place - 1 : place], words[0]) and not _joins(words[-1], text[end : end + 1]):
            return place
        place = text.find(words, place + 1)
    return None


def _joins(left: str, right_: str) -> bool:
    """Whether two neighbours are inside one word. Scripts without spaces between words (wide characters) have no such inside."""
    return bool(left and right_) and all(
        (char.isalnum() or char == "_") and unicodedata.east_asian_width(char) not in "WF" for char in (left, right_)
    )


class F1(BaseMetric):
    """Token F1: words in lower case without punctuation and articles, the harmonic mean of precision and recall.

    ``separator`` divides the gold and the output into parts; the best pair of parts decides.
    """

    name = "f1"

    def __init__(self, separator: str | None = None) -> None:
        super().__init__({"separator": separator} if separator else {})
        self._separator = separator or None

    async def score(self, item: Item, output: Any) -> Score:
        read = text_of(output).strip()
        golds = [part for gold in golds_of(item.gold) for part in self._parts(as_text(gold))]
        value, best = best_f1(golds, self._parts(read))
        return Score(value, shown(read), shown(f"F1 {value:.3f} with {best!r}"))

    def _parts(self, text: str) -> list[str]:
        return text.split(self._separator) if self._separator else [text]


def best_f1(golds: list[str], answers: list[str]) -> tuple[float, str]:
    """The best F1 of a gold with an answer, and that gold."""
    counted = [(Counter(tokens(gold)), gold) for gold in golds]
    best, which = 0.0, golds[0] if golds else ""
    for answer in answers:
        counts = Counter(tokens(answer))
        for wanted, gold in counted:
            value = _f1(wanted, counts) if wanted else float(_bare(gold) == _bare(answer))
            if value > best:
                best, which = value, gold
    return best, which


def tokens(text: str) -> list[str]:
    """The words that count."""
    text = text.lower().translate(_NO_PUNCTUATION)
    words = text.split()
    if text.isascii() and "".join(words).isprintable():
        # The same, in half the time: nothing but space parts words here.
        return [word for word in words if word not in ("a", "an", "the")]
    return _ARTICLES.sub(" ", text).split()


def _bare(text: str) -> str:
    return text.strip().lower()


def _f1(wanted: Mapping[str, int], counts: Mapping[str, int]) -> float:
    common = sum(min(count, counts[word]) for word, count in wanted.items() if word in counts)
    if not common:
        return 0.0
    return 2 * common / (sum(wanted.values()) + sum(counts.values()))
