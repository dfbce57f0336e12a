"""The judge: a model that scores all candidates in two calls, in one order and in the reversed one. Its scores are advice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from merrow_optimizer.suggestions.candidate_answers import plain
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.question import JobQuestion
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.shapes import object_schema
from merrow_runtime.operators.formats.structured import read_json
from merrow_runtime.quoting import RULE, quoted
from merrow_runtime.requests import AnswerSchema, Message, ModelReply
from merrow_runtime.together import together

CRITERIA: Mapping[str, str] = {
    "coherence": "each node gets what it needs, and what it gives is used",
    "fit": "the change addresses what goes wrong, or the goal",
    "economy": "what it adds is worth its calls",
    "prompts": "prompts are clear, general and complete",
    "soundness": "the reason given for the change holds",
}
"""What is scored of suggestions, from 1 to 10 each."""
PUBLISHED: Mapping[str, str] = {
    "coherence": "the workflow as a whole: each node gets what it needs, and what it gives is used",
    "innovation": "the change is a new idea, other than what was tried",
    "balance": "it is as complex as the task needs, and no more",
    "prompts": "prompts are clear, general and complete",
    "rationale": "the reason given for the change holds",
}
"""The five criteria of the published loop."""
_LEAST, _MOST = 1, 10
TRIES = 2
"""How often one call is made until its answer can be read."""
_REASON = 300
_TASK = (
    "You are a strict and fair judge of changes to a workflow of language models. You score each candidate by five criteria,"
    " from 1 (poor) to 10 (excellent), independently of the order in which they are listed. First the reason, then the numbers."
)


def schema_of(criteria: Mapping[str, str] = CRITERIA) -> AnswerSchema:
    """The form of an answer by these criteria, as a JSON schema."""
    verdict = object_schema(
        {
            "candidate": {"type": "integer", "description": "The number of the candidate in the list."},
            "reason": {"type": "string", "description": "What speaks for and against it, in a sentence or two."},
            **{name: {"type": "integer", "description": description} for name, description in criteria.items()},
        }
    )
    return AnswerSchema("verdicts", object_schema({"verdicts": {"type": "array", "items": verdict}}))


def _form(criteria: Mapping[str, str]) -> str:
    """The same in words."""
    example = json.dumps({"verdicts": [{"candidate": 1, "reason": "...", **dict.fromkeys(criteria, 1)}]})
    return f"Answer with one JSON object and nothing else, with a verdict for each candidate:\n{example}\n"


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """What the judge said of a candidate: the mean over both orders of each criterion, and of their sum as ``total`` (5 to 50).

    ``unsure`` says that another candidate was better in one order and worse in the other.
    """

    scores: Mapping[str, float]
    total: float
    unsure: bool
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As results list it."""
        return {"total": self.total, "criteria": dict(self.scores), "unsure": self.unsure, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class _Row:
    """What one call said of one candidate."""

    numbers: Mapping[str, float]
    reason: str

    @property
    def total(self) -> float:
        return sum(self.numbers.values())


def order_of(count: int, seed: int) -> list[int]:
    """The order of the first call; the second one's is the reversed one."""
    order = list(range(count))
    Random(f"{seed} judge").shuffle(order)  # noqa: S311 (no secret)
    return order


async def judged(
    asker: Asker,
    model: str,
    shown: Mapping[str, Any],
    candidates: Sequence[Mapping[str, Any]],
    seed: int,
    criteria: Mapping[str, str] = CRITERIA,
) -> list[JudgeVerdict]:
    """A verdict for each candidate, in their order. ``shown`` is the workflow and what is wanted, by names; ``criteria`` are what
    is scored, by name.

    Raises `AnswerFailure` where the model gives no scores, and what asking raises.
    """
    order = order_of(len(candidates), seed)
    orders = (order, order[::-1])
    first, second = await together(
        _call(asker, model, shown, candidates, permutation, criteria) for permutation in orders
    )
    return verdicts(first, second)


def verdicts(first: Sequence[_Row], second: Sequence[_Row]) -> list[JudgeVerdict]:
    """The verdicts of two calls, each with a row for each candidate. Which call was first makes no difference."""
    results = []
    for number, (row, other) in enumerate(zip(first, second, strict=True)):
        scores = {name: (mark + other.numbers[name]) / 2 for name, mark in row.numbers.items()}
        turns = any(
            (row.total - first[rival].total) * (other.total - second[rival].total) < 0
            for rival in range(len(first))
            if rival != number
        )
        reason = max(row.reason, other.reason, key=lambda text: (len(text), text))
        results.append(JudgeVerdict(scores, sum(scores.values()), turns, reason))
    return results


def ranking(verdicts: Sequence[JudgeVerdict]) -> list[int]:
    """The numbers of the candidates, the best first; of equal ones the earlier."""
    return sorted(range(len(verdicts)), key=lambda number: (-verdicts[number].total, number))


def messages(
    shown: Mapping[str, Any],
    candidates: Sequence[Mapping[str, Any]],
    order: Sequence[int],
    criteria: Mapping[str, str] = CRITERIA,
) -> tuple[Message, ...]:
    """The question of one call."""
    listed = [{"candidate": place, **candidates[number]} for place, number in enumerate(order, 1)]
    told = "\n".join(f"- {name}: {description}" for name, description in criteria.items())
    data = quoted({**shown, "The candidates, as differences": listed})
    text = f"{data}\n\n{RULE}\n\nThe criteria:\n{told}\n\n{_form(criteria)}"
    return Message("system", _TASK), Message("user", text)


def limit_of(count: int) -> int:
    """Tokens that an answer about so many candidates may have."""
    return 300 * count + 300


async def _call(
    asker: Asker,
    model: str,
    shown: Mapping[str, Any],
    candidates: Sequence[Mapping[str, Any]],
    order: Sequence[int],
    criteria: Mapping[str, str],
) -> list[_Row]:
    def read(reply: ModelReply) -> list[_Row]:
        try:
            return _read(reply.text, len(order), criteria)
        except AnswerFailure as failure:
            raise AnswerFailure(str(failure), advice=f"{failure}\n\n{_form(criteria)}") from None

    asked, limit = messages(shown, candidates, order, criteria), limit_of(len(order))
    answer = await asker.ask(JobQuestion("judge", model, asked, read, schema_of(criteria), TRIES, max_tokens=limit))
    rows = dict(zip(order, answer.value, strict=True))
    return [rows[number] for number in range(len(order))]


def _read(text: str, count: int, criteria: Mapping[str, str]) -> list[_Row]:
    """The rows of an answer, by the places of the candidates in it. Raises `AnswerFailure`."""
    parsed = read_json(text)
    listed = parsed.get("verdicts") if isinstance(parsed, dict) else parsed
    rows: dict[int, _Row] = {}
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict):
            continue
        place = entry.get("candidate")
        numbers = {name: _number(entry.get(name)) for name in criteria}
        if (
            isinstance(place, int)
            and not isinstance(place, bool)
            and 1 <= place <= count
            and None not in numbers.values()
        ):
            known = {name: number for name, number in numbers.items() if number is not None}
            rows.setdefault(place, _Row(known, plain(entry.get("reason"), _REASON)))
    missing = [place for place in range(1, count + 1) if place not in rows]
    if missing:
        raise AnswerFailure(
            f"The answer has no whole verdict for candidate {json.dumps(missing)[1:-1]}.", advice=_form(criteria)
        )
    return [rows[place] for place in range(1, count + 1)]


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _LEAST <= value <= _MOST:
        return None
    return float(value)
