"""Questions to the model that extracts: each answer is checked, sent back at most twice, and in the journal before it is used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from merrow_optimizer.extraction.refused import AnswerRefused
from merrow_optimizer.planning.json_objects import JsonObject, Unreadable, json_objects
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.question import JobQuestion
from merrow_runtime.errors import EmptyAnswerFailure
from merrow_runtime.models.endpoint import Endpoint, OnText
from merrow_runtime.quoting import RULE, quoted
from merrow_runtime.requests import AnswerSchema, Message, ModelReply, ModelRequest
from merrow_runtime.usage import NOTHING

TRIES = 3
"""How often a question is put: once, and at most twice again with what is wrong with the answer."""
LONGEST_ANSWER = 4_000
"""Tokens that an answer may have."""
_HALF = re.compile(r"[\ud800-\udfff]")
"""What no file can have in it."""
T = TypeVar("T")


@dataclass(slots=True)
class QuestionTally:
    """Of the questions of one stage: how many were put, calls made for them, how many answers were valid at first, after being
    sent back, and never; and how many were sent back since they repeated a case.
    """

    questions: int = 0
    calls: int = 0
    first: int = 0
    again: int = 0
    never: int = 0
    leaks: int = 0

    def to_json(self) -> dict[str, Any]:
        """As reports show it."""
        return {
            "questions": self.questions,
            "answers": self.calls,
            "valid_first": self.first,
            "valid_after_repair": self.again,
            "never_valid": self.never,
            "leaks_refused": self.leaks,
        }


@lru_cache
def instructions(stage: str) -> str:
    """What a stage tells the model; the texts are beside this module."""
    return Path(__file__).with_name(f"{stage}.txt").read_text(encoding="utf-8").strip()


def question(stage: str, shown: Mapping[str, Any], schema: AnswerSchema) -> tuple[Message, ...]:
    """The first messages of a question: what is ``shown`` is data, whatever it says."""
    shape = json.dumps(schema.schema, ensure_ascii=False)
    told = f"{instructions(stage)}\n\n{RULE}\n\nAnswer with one JSON object and nothing else, valid by this JSON Schema:\n{shape}"
    return Message("system", told), Message("user", quoted(shown))


def object_schema(name: str, /, **properties: Any) -> AnswerSchema:
    """An object with all of these properties, and no others."""
    return AnswerSchema(name, object_of(**properties))


def object_of(**properties: Any) -> dict[str, Any]:
    """The schema of such an object."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TEXT_VALUE = {"type": "string"}
TEXT_OR_NULL = {"type": ["string", "null"]}


def list_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": schema}


class SentBackIfEmpty:
    """The endpoint of the model that extracts: an answer without a text is one that can't be used, as any other. All else is that
    of the endpoint itself.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpoint, name)

    @property
    def origin(self) -> str:
        """See `Endpoint`."""
        return self._endpoint.origin

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer. Raises `EndpointFailure`."""
        try:
            return await self._endpoint.complete(request, on_text)
        except EmptyAnswerFailure as failure:
            return ModelReply("", usage=failure.usage or NOTHING)

    async def close(self) -> None:
        """See `Endpoint`."""
        await self._endpoint.close()


class Generator:
    """Puts the questions of an extraction to the ``model`` that extracts, and counts what came of them by stages."""

    def __init__(self, model: str, asker: Asker) -> None:
        self.tallies: dict[int, QuestionTally] = {}
        self._model, self._asker = model, asker

    async def answer(
        self,
        stage: int,
        messages: Sequence[Message],
        schema: AnswerSchema,
        read: Callable[[Mapping[str, Any]], T],
        temperature: float = 0.0,
    ) -> T | None:
        """What ``read`` makes of the answer; None where it refused every one of them (it raises `AnswerRefused`).

        Raises `EndpointFailure`, `BudgetFailure`, `StoreFailure`.
        """
        tally = self.tallies.setdefault(stage, QuestionTally())
        tally.questions += 1

        def read_object(reply: ModelReply) -> T:
            tally.calls += 1
            try:
                return read(_object(reply))
            except AnswerRefused as why:
                tally.leaks += why.is_leak
                raise

        asked = (str(stage), self._model, tuple(messages), read_object, schema, TRIES, temperature, LONGEST_ANSWER)
        try:
            answer = await self._asker.ask(JobQuestion(*asked))
        except AnswerRefused:
            tally.never += 1
            return None
        if answer.attempts > 1:
            tally.again += 1
        else:
            tally.first += 1
        return answer.value


def _object(reply: ModelReply) -> Mapping[str, Any]:
    """The object of an answer. Raises `AnswerRefused`."""
    if reply.finish == "refusal":
        raise AnswerRefused(["You refused to answer; answer for the problems as they are."])
    unreadable: Unreadable | None = None
    for parsed in json_objects(reply.text):
        if isinstance(parsed, JsonObject):
            if parsed.repeated:
                raise AnswerRefused([f"The answer has the key {parsed.repeated[0]!r} twice in one object."])
            if _HALF.search(json.dumps(parsed.value, ensure_ascii=False)):
                raise AnswerRefused(["The answer has half of a character (a lone surrogate); write whole characters."])
            return parsed.value
        unreadable = unreadable or parsed
    if unreadable is None:
        raise AnswerRefused(["The answer has no JSON object; answer with one and nothing else."])
    raise AnswerRefused([f"{unreadable.why} Answer more briefly." if unreadable.cut else unreadable.why])
