"""Multiple choice: the letter that an output chooses."""

from __future__ import annotations

import re
import string
from typing import Any

from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, right, text_of, wrong
from merrow_optimizer.evaluation.metrics.boxes import last_box
from merrow_optimizer.evaluation.scores import Score

_OPTION_FIELDS = ("choices", "options")
_AROUND = " \t\n.:,;!*_`'\"()[]{}$"
_OPENING = r"[\s*_`\"'(\[{$]*(?:\\(?:text|mathrm|mathbf)(?:bf)?\{\(?)?"
_CAPITAL = r"(?P<capital>[A-Z])(?!\w|['’]\w)"
# A small letter may be a word: it is an option in parentheses, or where the line ends behind it.
_SMALL = r"(?P<small>[a-z])(?=\)|[*_`\"'\]}$.!]*(?:\n|\Z))"
_MARKS = r"[\s*_`\"']*"
_SAID = re.compile(
    rf"\b(?i:answer|option|choice)(?:(?:\s[\w'’]+){{0,6}}?{_MARKS}\b(?i:is|are|was|would be|should be|must be)\b:?|{_MARKS}[:=>])"
    rf"(?:{_MARKS}(?i:option|choice|letter)\b)?{_OPENING}(?:{_CAPITAL}|{_SMALL})"
)
_CALLED_RIGHT = re.compile(
    r"(?<![\w'’])(?P<capital>[A-Z])[)\]*_`]*\s(?i:is|would be|must be)\s(?:(?i:the|therefore|thus)\s)?"
    r"(?i:correct|right|best|answer)\b"
)
_NAMED = re.compile(rf"\b(?:(?i:option|choice){_OPENING}|(?i:answer){_OPENING}(?!\w\s[a-z])){_CAPITAL}")
_AHEAD = re.compile(r"[*_`\s(\[]*([A-Z])[*_`]*[).:\]](?!\w)")
_SMALL_AHEAD = re.compile(r"[(\[]?([a-z])[)\]] ")
_IN_PARENTHESES = re.compile(r"\((?P<capital>[A-Z])\)")


class Choice(BaseMetric):
    """The output chooses the gold option. ``letters`` is how many options there are where an item doesn't list them."""

    name = "choice"
    version = 2

    def __init__(self, letters: int = 10) -> None:
        super().__init__({} if letters == 10 else {"letters": letters})
        if isinstance(letters, bool) or not isinstance(letters, int) or not 2 <= letters <= 26:
            raise DataError.of("The number of letters must be between 2 and 26.", field="letters")
        self._letters = letters

    def fault(self, item: Item) -> str | None:
        options = _options(item)
        if options is not None and not 2 <= len(options) <= 26:
            return f"there must be 2 to 26 options, not {len(options)}"
        for gold in golds_of(item.gold) or [None]:
            if self._gold(gold, options) is None:
                last = self._known(options)[-1]
                return f"the gold answer {gold!r} is neither a letter from A to {last}, nor an option, nor its number from 0"
        return None

    async def score(self, item: Item, output: Any) -> Score:
        options = _options(item)
        wanted = {self._gold(gold, options) for gold in golds_of(item.gold)}
        read = _chosen(text_of(output), self._known(options), options)
        if read is None:
            return wrong("", "the output chooses no option")
        names = " or ".join(sorted(letter for letter in wanted if letter))
        return right(read, f"{read} is right") if read in wanted else wrong(read, f"not {names}")

    def _known(self, options: list[str] | None) -> str:
        return string.ascii_uppercase[: len(options) if options else self._letters]

    def _gold(self, gold: Any, options: list[str] | None) -> str | None:
        """The letter of a gold answer: a letter, the text of an option, or the place of an option from 0."""
        known = self._known(options)
        if isinstance(gold, int) and not isinstance(gold, bool):
            return known[gold] if 0 <= gold < len(known) else None
        if not isinstance(gold, str):
            return None
        letter = gold.strip(_AROUND).upper()
        if len(letter) == 1 and letter in known:
            return letter
        return _of_text(gold, known, options)


def _options(item: Item) -> list[str] | None:
    for name in _OPTION_FIELDS:
        options = item.inputs.get(name)
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            return options
    return None


def _of_text(text: str, known: str, options: list[str] | None) -> str | None:
    plain = text.strip(_AROUND).casefold()
    letters = [
        letter
        for letter, option in zip(known, options or (), strict=False)
        if option.strip(_AROUND).casefold() == plain
    ]
    return letters[0] if len(letters) == 1 else None


def _chosen(text: str, known: str, options: list[str] | None) -> str | None:
    """The letter that an output chooses, by the surest sign that it has: the whole text, a box, "the answer is B" or "B is
    correct", the last or the first line, the only option that is named, the only letter in parentheses.
    """
    whole = _letter(text, known) or _of_text(text, known, options)
    if whole:
        return whole
    box = last_box(text)
    if box is not None:
        inner = re.sub(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}", r"\1", box)
        chosen = _of_line(inner, known, options)
        if chosen:
            return chosen
    # One space between words, so that no pattern has two ways to take a long run of it.
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    text = "\n".join(lines)
    marks = [(match.end(), letter) for match in _SAID.finditer(text) if (letter := _meant(match, known))]
    marks += [(match.end(), letter) for match in _CALLED_RIGHT.finditer(text) if (letter := _meant(match, known))]
    if marks:
        return max(marks)[1]
    if len(lines) == 1 and (ahead := _SMALL_AHEAD.match(text)) and ahead[1].upper() in known:
        return ahead[1].upper()
    for line in lines[-1:] + lines[:1]:
        chosen = _of_line(line, known, options)
        if chosen:
            return chosen
    for pattern in (_NAMED, _IN_PARENTHESES):
        letters = {match["capital"] for match in pattern.finditer(text) if match["capital"] in known}
        if len(letters) == 1:
            return letters.pop()
    return None


def _of_line(line: str, known: str, options: list[str] | None) -> str | None:
    """The option that a line is, or begins with: ``B``, ``B) Paris``, ``Paris``."""
    ahead = _AHEAD.match(line)
    return _letter(line, known) or _of_text(line, known, options) or (ahead[1] if ahead and ahead[1] in known else None)


def _letter(text: str, known: str) -> str | None:
    letter = text.strip(_AROUND).upper()
    return letter if len(letter) == 1 and letter in known else None


def _meant(match: re.Match[str], known: str) -> str | None:
    """The option that a match names, None where there is no such letter."""
    letter = next(each for each in match.groupdict().values() if each is not None).upper()
    return letter if letter in known else None
