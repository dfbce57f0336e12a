r"""The solve rate of MATH: the answer in the last box of the output and the one of the gold solution are equal."""

from __future__ import annotations

import importlib.util
import math
import re
from typing import Any

from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, right, text_of, wrong
from merrow_optimizer.evaluation.metrics.boxes import last_box
from merrow_optimizer.evaluation.metrics.structure import compare
from merrow_optimizer.evaluation.metrics.worker import MetricWorker
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.installing import how_to_install

_LONGEST = 2_000
_MOST_BOXES = 200
_SENTENCE_END = re.compile(r"(?<![0-9])[.!?]\s+")
_SAID = re.compile(r"(?:\bis|\bare|\bequals|answer\s*:|=)\s*[:*]*\s*", re.IGNORECASE)
_SAID_OF_EQUATION = re.compile(r"(?:\bis|\bare|\bequals|answer\s*:|:\s)\s*[:*]*\s*", re.IGNORECASE)
_WORDS_BEFORE = re.compile(r"\A(?:[A-Za-z]+[,:]?\s+)+(?![-+*/=^<>\s])")
_CALLED = re.compile(r"\bequation\b", re.IGNORECASE)
_NAMED = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?|\s*\(\s*\w+\s*\)|')?|[A-Za-z][A-Za-z ]*")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_VARIABLE = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_FORMULA = re.compile(r"\$\$?([^$]{1,2000})\$\$?|\\\(((?:[^\\]|\\[^)]){1,2000})\\\)")
_PUBLISHED_BOX = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")


class _Boxed(BaseMetric):
    def __init__(self) -> None:
        super().__init__()
        self._worker = MetricWorker("mathematics")

    async def prepare(self) -> None:
        if importlib.util.find_spec("math_verify") is None:
            raise DataError.of(f"The metric {self.name} needs the package math-verify; {how_to_install('evaluate')}")
        await self._worker.start()

    async def close(self) -> None:
        await self._worker.close()

    async def _ask(self, gold: str, read: str, published: bool) -> bool:
        answer = await self._worker.ask({"gold": gold, "answer": read, "published": published})
        if "failed" in answer:
            raise InvalidItemError(answer["failed"])
        return bool(answer["equal"])


class Math(_Boxed):
    """Equal as texts, as numbers (exactly, or to six digits where one is a decimal), as structures, or by algebra."""

    name = "math"
    version = 3

    def fault(self, item: Item) -> str | None:
        gold = reference_in(text_of(item.gold))
        if not gold:
            return "the gold solution has no answer"
        return "the answer of the gold solution is longer than 2,000 characters" if len(gold) > _LONGEST else None

    async def score(self, item: Item, output: Any) -> Score:
        gold = reference_in(text_of(item.gold))
        read = answer_in(text_of(output), equation=is_equation(gold))
        if not read:
            return wrong("", "the output has no answer")
        if len(read) > _LONGEST:
            return wrong(read, "an answer can't be longer than 2,000 characters")
        decided = compare(gold, read)
        if decided is None:
            decided = await self._ask(gold, read, published=False)
        return right(read, f"equal to {gold}") if decided else wrong(read, f"not {gold}")


class MathPublished(_Boxed):
    """The published rule: one level of braces in the box, numbers equal to 0.001."""

    name = "math-published"

    async def score(self, item: Item, output: Any) -> Score:
        gold, read = _published_answer(text_of(item.gold)), _published_answer(text_of(output))
        if gold == read:
            return right(read, "equal as texts")
        if len(read) > _LONGEST or len(gold) > _LONGEST:
            return wrong(read, "an answer can't be longer than 2,000 characters")
        numbers = _published_number(gold), _published_number(read)
        if numbers[0] is not None and numbers[1] is not None:
            if math.isclose(numbers[0], numbers[1], rel_tol=0, abs_tol=1e-3):
                return right(read, f"equal to {gold} as numbers")
        elif await self._ask(gold, read, published=True):
            return right(read, f"equal to {gold}")
        return wrong(read, f"not {gold}")


def reference_in(text: str) -> str:
    """The answer of a gold solution, as `answer_in`. Where the text is nothing but an equation, that is the answer and not its
    right side alone, and so is one with 0 on a side or one that its sentence calls an equation.
    """
    whole = answer_in(text, equation=True)
    if not is_equation(whole):
        return answer_in(text)
    alone = whole == text.strip().strip("*_ \n").rstrip(".").strip()
    zero = any(side.strip().strip("$") == "0" for side in whole.split("="))
    return whole if alone or zero or last_box(text) is not None or _CALLED.search(text) else answer_in(text)


def is_equation(text: str) -> bool:
    """Whether an answer is an equation of which no side alone is the answer: ``3x-y+13=0``, but not ``x = 5`` or ``2+3 = 5``."""
    left, equals, right_ = text.strip("$ ").partition("=")
    sides = (left.strip(), right_.strip())
    if not equals or "=" in right_ or not all(sides) or left[-1] in "<>!:\\" or _NAMED.fullmatch(sides[0]):
        return False
    return any(_VARIABLE.search(_COMMAND.sub(" ", side)) for side in sides)


def answer_in(text: str, *, equation: bool = False) -> str:
    """The answer of a solution: its last box, else what its last sentence says, without words ahead of it: what is behind the
    last ``=``, or the whole ``equation`` where one is wanted.
    """
    box = last_box(text)
    if box is not None:
        return box.strip()
    sentence = _last_sentence(text[-2 * _LONGEST :]).strip("*_ \n")
    formulas = [first or second for first, second in _FORMULA.findall(sentence)]
    if formulas:
        return str(formulas[-1]).strip()
    marks = list((_SAID_OF_EQUATION if equation else _SAID).finditer(sentence))
    rest: str = sentence[marks[-1].end() :] if marks else sentence
    rest = rest.strip("*_ \n").rstrip(".").strip()
    return _WORDS_BEFORE.sub("", rest) if equation else rest


def _last_sentence(text: str) -> str:
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if part.strip()]
    return sentences[-1].strip() if sentences else ""


def _published_answer(text: str) -> str:
    box = None
    starts = [match.start() for match in re.finditer(r"\\boxed\{", text)]
    for start in starts[-_MOST_BOXES:]:
        box = _PUBLISHED_BOX.match(text, start, start + 4 * _LONGEST) or box
    return box[1].strip() if box else _last_sentence(text[-2 * _LONGEST :])


def _published_number(text: str) -> float | None:
    text = text.replace(",", "").strip()
    share = text.endswith("%")
    if share:
        text = text[:-1].rstrip("\\").strip()
    try:
        number = float(text) / (100 if share else 1)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
