"""Whether a prompt has something of the cases in it: words in a row of a problem or solution, or an answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from merrow_optimizer.evaluation.metrics.boxes import last_box
from merrow_optimizer.extraction.refused import AnswerRefused
from merrow_optimizer.extraction.solved_cases import SolvedCase
from merrow_optimizer.suggestions.leaks import runs, words
from merrow_runtime.values import as_text

RUN = 5
"""Words in a row of a case that a prompt may not have,"""
SHARED = 3
"""unless so many cases have them."""
_LATEX = re.compile(r"\\[A-Za-z]+")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]{4,}")
_LONGEST_ANSWER = 12
"""Words of an answer: what is longer is a text, whose words in a row are looked for."""


class CaseLeaks:
    """Looks for what is a case's own in prompts. ``cases`` are all that there are; ``is_code`` says that answers are programs,
    whose words are everybody's.
    """

    def __init__(self, cases: Sequence[SolvedCase], *, is_code: bool) -> None:
        self._answers: dict[str, set[str]] = {}
        counted: Counter[tuple[str, ...]] = Counter()
        for case in cases:
            own = {run for text in (case.problem, case.solution) for run in runs(words(text), RUN)}
            counted.update(own)
            self._answers[case.id] = set() if is_code else answer_words(case)
        self._runs = {run for run, times in counted.items() if times < SHARED}

    def check(self, prompt: str, cases: Iterable[str]) -> None:
        """Raise `AnswerRefused` where a prompt has words of any case, or an answer of one of these, by their ids. The sentence
        repeats nothing of it.
        """
        prompt_words = words(prompt)
        if not prompt_words:
            return
        single = {*prompt_words, *(number.replace(",", "") for number in _NUMBER.findall(prompt))}
        if not self._runs.isdisjoint(runs(prompt_words, RUN)):
            raise AnswerRefused(
                [f"The prompt has {RUN} or more words in a row of a case; say it for any case of this kind."],
                is_leak=True,
            )
        for case in cases:
            if not single.isdisjoint(self._answers[case]):
                raise AnswerRefused(
                    ["The prompt has the answer of a case in it; say how answers are found, and use no example."],
                    is_leak=True,
                )


def answer_words(case: SolvedCase) -> set[str]:
    """What of a case's answer no prompt may have: numbers of two digits or more, words of four letters or more."""
    gold = "" if case.item.gold is None else as_text(case.item.gold)
    answer = last_box(gold) or gold
    plain = _LATEX.sub(" ", answer)
    if len(words(plain)) > _LONGEST_ANSWER:
        return set()
    numbers = {number.replace(",", "") for number in _NUMBER.findall(plain)}
    return {number for number in numbers if sum(map(str.isdigit, number)) > 1} | {
        word.casefold() for word in _WORD.findall(plain)
    }
