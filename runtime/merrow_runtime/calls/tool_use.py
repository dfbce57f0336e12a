"""Calls of tools: kept like any other, and done once where they may not be repeated.

A call that the user's settings call repeatable is made again where its result was lost. Before any other one an *intent* is
committed; one that has no result is never followed by another call before a person has said what came of it. Where a server asks
in the place of a result, that is kept as a *leg* of the call, and the call is made again with the answers.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, Protocol, TypeVar

from merrow_analysis.definitions.types import BUILT_IN, TEXT, Type, TypeTable
from merrow_analysis.people.forms import ANSWER, NOTE, Form, FormField, UnanswerableError, form_of
from merrow_analysis.visible import plain
from merrow_runtime.calls.account import NodeAccount
from merrow_runtime.calls.effects import Effects
from merrow_runtime.calls.tool_questions import DECLINED, person_question, response, sameness
from merrow_runtime.calls.tool_servers import FIRST_LEG, ToolServers
from merrow_runtime.errors import DiffersFailure, NodeFailure, StaleStateFailure, ToolFailure, UnreachedFailure
from merrow_runtime.operators.base import NodeDefinition
from merrow_runtime.requests import (
    CallKey,
    PersonAnswer,
    PersonQuestion,
    ToolCall,
    ToolLeg,
    ToolQuestion,
    ToolQuestions,
    ToolResult,
)
from merrow_runtime.store.contract import CallKind, CallRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.usage import NOTHING

MOST_LEGS, MOST_ANSWERS = 200, 20
"""How often a tool is called for one result, and how many different questions its server may ask for it."""

DONE, NOT_DONE = "done", "not done"
"""What a person may say of a call that was begun."""

_LABELS = ("It was done", "It was not done: call it now")
_LONGEST_SHOWN = 20_000

T = TypeVar("T")


def result_key(digest: str) -> bytes:
    """What the result of a call is found by, whichever run made the call; ``digest`` is that of the call."""
    return hashlib.sha256(f"tool\n{digest}".encode()).digest()[:16]


class AsksPerson(Protocol):
    """How a person is asked about a call."""

    async def person(
        self, step: str, question: PersonQuestion, seconds: float | None = None, *, holds: bool = False
    ) -> PersonAnswer: ...


class ToolUse:
    """One call of a node, with its key and what the key is known by."""

    def __init__(
        self,
        effects: Effects,
        node: NodeDefinition,
        account: NodeAccount,
        key: CallKey,
        call: ToolCall,
        digested: tuple[str, str],
        *,
        since: float = 0.0,
        seconds: float | None = None,
        outputs: Mapping[str, Type] | None = None,
        told: bool = False,
    ) -> None:
        """``digested`` is the hash of the call, and the call as a JSON text. Calls that began before ``since`` are another's.
        ``outputs`` are what the tool gives, where the node's do not say it. With ``told`` what fails is a result, which is kept:
        who asked for the call is told of it.
        """
        self._effects, self._account, self._node = effects, account, node
        self._key, self._call = key, call
        self._digest, self._content = digested
        self._since, self._seconds = since, seconds
        self._outputs, self._told = node.outputs if outputs is None else outputs, told

    @property
    def _servers(self) -> ToolServers:
        assert self._effects.open_tools is not None  # noqa: S101 (every run has them)
        return self._effects.open_tools()

    async def result(self, asks: AsksPerson) -> ToolResult:
        """What the tool gave, now or before. Raises `NodeFailure`."""
        effects = self._effects
        record = await self._recalled(self._key) if effects.knows else None
        if record is not None:
            return self._read(record, ToolResult.from_json)
        started = time.time()
        try:
            return await self._by_legs(asks)
        except ToolFailure as failure:
            if self._told and not failure.differs:
                failed = ToolResult(plain(str(failure)), failed=True)
                await self._keep(self._key, "tool", failed.to_json(), started)
                return failed
            lost = (DiffersFailure if failure.differs else UnreachedFailure).of(self._node.id, plain(str(failure)))
            run = self._account.run
            run.unanswered = run.unanswered or lost.at(self._key.node, self._key.path).sentence
            raise lost from None

    async def _by_legs(self, asks: AsksPerson) -> ToolResult:
        """Call the tool, and again with the answers where its server asks in the place of a result. A question that a person has
        answered is not put again, also where the call was begun from the start.
        """
        leg, known, answered = FIRST_LEG, dict[str, Mapping[str, Any]](), 0
        for number in range(MOST_LEGS):
            came = await self._leg(number, leg, asks)
            if isinstance(came, ToolResult):
                return came
            answers: dict[str, Mapping[str, Any]] = {}
            for place, question in enumerate(came.questions):
                same = sameness(question)
                if same not in known:
                    answered += 1
                    known[same] = await self._answered(f"{number}.{place}", question, asks)
                answers[question.key] = known[same]
            if answered > MOST_ANSWERS:
                break
            leg = ToolLeg(answers, came.state)
        raise NodeFailure.of(self._node.id, f"the tool {self._call.tool} asks too often before it gives a result.")

    async def _leg(self, number: int, leg: ToolLeg, asks: AsksPerson) -> ToolResult | ToolQuestions:
        """What the server answers to a call that brings so much, now or before."""
        key = replace(self._key, step=f"{self._key.step} leg {number}")
        record = await self._recalled(key) if self._effects.knows else None
        if record is not None:
            return self._read(record, ToolQuestions.from_json)
        if self._servers.may_repeat(self._call):
            await self._servers.prepare(self._call)
            return await self._made(key, leg, asks)
        return await self._once(key, self._key.step if number == 0 else key.step, leg, asks)

    async def _once(self, key: CallKey, step: str, leg: ToolLeg, asks: AsksPerson) -> ToolResult | ToolQuestions:
        for number in count():
            intent = replace(self._key, step=f"{step} intent", attempt=number)
            if not self._effects.knows or await self._recalled(intent) is None:
                await self._servers.prepare(self._call)
                # Where it is not this one that is kept, another process has begun to call it.
                if await self._keep(intent, "intent", {}, time.time()):
                    with suppress(ToolFailure):  # Nobody knows what came of it.
                        return await self._made(key, leg, asks)
            known = await self._asked_of(asks, step, number)
            if known is not None:
                return known
        raise AssertionError  # the count has no end

    async def _made(self, key: CallKey, leg: ToolLeg, asks: AsksPerson) -> ToolResult | ToolQuestions:
        """Call the tool and keep what it gives, also that its server asks (by ``key``) or refused. Raises `ToolFailure` where
        nothing came back.
        """
        started = time.time()
        self._effects.moved(self._account, "begins")
        try:
            came = await self._called(leg, asks)
        except ToolFailure as failure:
            if not failure.answered:
                raise
            came = ToolResult(plain(str(failure)), failed=True, refused=True)
        finally:
            self._effects.moved(self._account, "ends")
        if isinstance(came, ToolQuestions):
            await self._keep(key, "leg", came.to_json(), started)
        elif self._told or not (
            came.failed and self._servers.may_repeat(self._call)
        ):  # That may succeed when the run is resumed.
            await self._keep(self._key, "tool", came.to_json(), started, known=not came.failed)
        return came

    async def _called(self, leg: ToolLeg, asks: AsksPerson) -> ToolResult | ToolQuestions:
        """What the server answers. Where it does not know its state any more, the call is begun from the start: what ended with a
        question has done nothing yet.
        """
        asked = count()

        async def meanwhile(question: ToolQuestion, seconds: float) -> Mapping[str, Any]:
            try:
                return await self._answered(f"asked {next(asked)}", question, asks, seconds)
            except (NodeFailure, ToolFailure):  # Nobody is there, or it can't be asked.
                return DECLINED

        try:
            return await self._servers.call(self._call, self._seconds, leg, meanwhile, ends=self._told)
        except StaleStateFailure:
            return await self._servers.call(self._call, self._seconds, FIRST_LEG, meanwhile, ends=self._told)

    async def _answered(
        self, place: str, question: ToolQuestion, asks: AsksPerson, seconds: float | None = None
    ) -> Mapping[str, Any]:
        """What a person says to a question of the server, in so many ``seconds`` where it waits for that with the call."""
        put = person_question(self._call.tool, question)
        answer = await asks.person(f"{self._key.step} {place}", put, seconds, holds=seconds is not None)
        return response(question, answer)

    async def _asked_of(self, asks: AsksPerson, step: str, number: int) -> ToolResult | None:
        """What a person says came of a call that was begun; None where it is to be made now. Raises `NodeFailure`."""
        fields = result_fields(self._node, self._outputs)
        outcome = FormField(ANSWER, "word", "Was it done?", words=(DONE, NOT_DONE), labels=_LABELS)
        tool = self._call.tool
        # The same each time it is put, so that it is not put again.
        ask = (
            f"The tool {tool} was called, and it is not known what came of it. Look whether it was done: it is called again only"
            " if you say that it was not."
        )
        shown = (("Tool", tool), ("Arguments", plain(text_of(dict(self._call.arguments)))[:_LONGEST_SHOWN]))
        question = PersonQuestion(ask, Form((outcome, *fields.values())).schema(), shown)
        answer = await asks.person(f"{step} outcome {number}", question)
        if answer.action != "accept":
            raise NodeFailure.of(self._node.id, f"it is not known what came of its call of {tool}.")
        if answer.content.get(ANSWER) != DONE:
            return None
        if self._told:
            return ToolResult(str(answer.content.get(NOTE) or "It was done."))
        given = {
            port: answer.content.get(field.name, "" if field.kind == "text" else None) for port, field in fields.items()
        }
        return ToolResult("", given)

    async def _recalled(self, key: CallKey) -> CallRecord | None:
        effects = self._effects
        if key is not self._key and effects.replay is not None and not effects.replay.may_ask:
            return None
        return await effects.recall(key, self._digest, self._account, model=False, since=self._since)

    async def _keep(
        self, key: CallKey, kind: CallKind, result: Mapping[str, object], started: float, *, known: bool = False
    ) -> bool:
        """Commit a call; whether it is this one that is kept, rather than another process's. With ``known`` it is found by others
        that replay the tools.
        """
        effects = self._effects
        answer = result_key(self._digest) if known and effects.cache is not None and self._servers.are_real else None
        record = CallRecord(
            key, kind, self._digest, self._content, text_of(result), NOTHING, True, kind, started, time.time() - started
        )
        kept = await effects.keep(record, self._account, answer)
        await effects.record(kept)
        return kept is record

    def _read(self, record: CallRecord, reads: Callable[[Mapping[str, Any]], T]) -> T:
        try:
            return reads(record.result)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise NodeFailure.of(self._node.id, "the result of its tool is damaged in the journal.") from None


def result_fields(node: NodeDefinition, outputs: Mapping[str, Type]) -> dict[str, FormField]:
    """The fields in which a person can say what a tool gave, by its ``outputs``; those that are Json may be absent, and have
    none. One text is a note.
    """
    types = TypeTable({**BUILT_IN, **node.kinds}, node.words, node.records, node.unions)
    fields: dict[str, FormField] = {}
    for port, type_ in outputs.items():
        try:
            made = form_of(type_, types).sole
        except UnanswerableError:
            continue
        if made is not None and made.name == ANSWER:
            name = NOTE if list(outputs.values()) == [TEXT] else f"{port}_" if port == ANSWER else port
            title = "What it gave" if name == NOTE else port.replace("_", " ").capitalize()
            fields[port] = replace(made, name=name, title=title, required=False, least=None)
    return fields
