"""How an operator reaches its model and the sandbox: one node's side of every call."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from merrow_analysis.definitions.types import TEXT
from merrow_analysis.visible import plain
from merrow_runtime.calls.account import NodeAccount
from merrow_runtime.calls.effects import Effects, PendingQuestion, reply_of
from merrow_runtime.calls.environment_use import EnvironmentUse
from merrow_runtime.calls.permission import (
    IN_RUN,
    ONCE,
    REFUSE,
    STOP,
    Permission,
    permission_of,
    permission_question,
    permission_step,
)
from merrow_runtime.calls.tool_use import ToolUse
from merrow_runtime.environments.episodes import EpisodePlace
from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.errors import AnswerFailure, EndpointFailure, NodeFailure, ReplayMiss, UnansweredFailure
from merrow_runtime.models.endpoint import answer_limit_at
from merrow_runtime.operators.prompts.asking_again import QuestionTurn, joined, until_read
from merrow_runtime.operators.prompts.memory import STEP as MEMORY_STEP
from merrow_runtime.operators.prompts.prompting import with_advice
from merrow_runtime.people.told import told_of
from merrow_runtime.program.definitions import Step
from merrow_runtime.provenance import OFFLINE_ORIGIN, PERSON, REPLAY_ORIGIN, Provenance, named
from merrow_runtime.requests import (
    AnswerSchema,
    CallKey,
    Conversation,
    EnvironmentAction,
    Message,
    ModelReply,
    ModelRequest,
    OfferedTool,
    PersonAction,
    PersonAnswer,
    PersonQuestion,
    StepKind,
    ToolCall,
    ToolResult,
)
from merrow_runtime.store.contract import AskState, CallRecord
from merrow_runtime.store.rows import storable_json, text_of
from merrow_runtime.together import together
from merrow_runtime.usage import NOTHING
from merrow_runtime.values import Outputs, Value, canonical

if TYPE_CHECKING:
    from merrow_runtime.calls.store_use import StoreUse
    from merrow_runtime.sandbox import SandboxResult, TestResult
    from merrow_runtime.workflow import Workflow

T = TypeVar("T")
_GIVES_TEXT = {"result": TEXT}
"""What a tool gives to a model."""
RunFile = Callable[[Mapping[str, Value]], Awaitable[Outputs]]

ATTEMPTS = 3
"""How many times a question is asked in total if answers can't be used."""

_DAMAGED = "the answer that a person gave is damaged in the journal."
_ACTIONS: Mapping[AskState, PersonAction] = {"answered": "accept", "declined": "decline", "expired": "expire"}
"""What came of a question, by how it was closed."""

_REFUSED = AnswerFailure(
    "The model refused to answer.",
    advice="Please answer the question; if you can't, say in the answer what is missing.",
)


def _ended(request: ModelRequest, reply: ModelReply, limit: int | None) -> AnswerFailure | None:
    """Why an answer that ended as this one did can't be used, whatever its text is. ``limit`` is what the endpoint lets an answer
    have where the request says nothing.
    """
    if reply.finish == "refusal":
        return _REFUSED
    if reply.finish != "length":
        return None
    if request.max_tokens is not None:
        by = f"the node's `max_tokens` of {request.max_tokens:,}; raise it"
    elif limit is not None and reply.usage.completion_tokens >= limit:
        by = (
            f"the limit of {limit:,} tokens for models at local addresses; set `max_tokens` at the node, or under `[models]` in"
            " your settings"
        )
    else:
        by = "a limit of the server, its context for example; raise it there, or ask for less (`max_tokens`, `memory`)"
    return AnswerFailure(
        f"The answer was cut off by {by}.",
        advice="Your answer was cut off since it was too long. Answer again, and be brief.",
    )


class NodeTools:
    """`merrow_runtime.operators.base.Tools` of one sample of a visit."""

    __slots__ = (
        "_account",
        "_attempt",
        "_effects",
        "_history",
        "_judges",
        "_past_cache",
        "_place",
        "_random",
        "_run_file",
        "_sample",
        "_seed",
        "_since",
        "_step",
        "_turn",
        "_workflow",
        "asked",
    )

    def __init__(
        self,
        effects: Effects,
        step: Step,
        account: NodeAccount,
        sample: int,
        seed: str,
        *,
        past_cache: bool = False,
        run_file: RunFile | None = None,
        attempt: int = 1,
        history: tuple[Message, ...] = (),
        judges: bool = False,
        since: float = 0.0,
        turn: str = "",
        place: EpisodePlace | None = None,
        workflow: Workflow | None = None,
    ) -> None:
        """``seed``, together with the run's seed and the sample, seeds the visit's shuffles; ``run_file`` runs the file that a
        Call names and is None for other nodes. ``attempt`` counts the attempts of a node whose result is validated, and
        ``history`` is what it is told about earlier ones; with ``judges`` they are those of its validator. Calls of the visit
        that started before ``since`` belong to another visit. ``place`` is where an Environment acts, and ``workflow`` what
        declares the stores that the node uses. ``turn`` names the turns in which what it asks is a question of its own, however
        alike the requests are.
        """
        self.asked = False
        """Whether a model was asked anything."""
        self._attempt, self._history, self._judges = attempt, history, judges
        self._since = since
        self._turn = turn
        self._place = place
        self._workflow = workflow
        self._run_file = run_file
        self._effects = effects
        self._step = step
        self._account = account
        self._sample = sample
        self._past_cache = past_cache
        self._random: Random | None = None
        self._seed = seed

    @property
    def random(self) -> Random:
        """See `merrow_runtime.operators.base.Tools.random`; created on first use, since few nodes need it."""
        if self._random is None:
            later = "" if self._attempt == 1 else f":{self._attempt}"
            self._random = Random(f"{self._effects.options.seed}:{self._seed}:{self._sample}{later}")  # noqa: S311 (no secret)
        return self._random

    @random.setter
    def random(self, random: Random) -> None:
        self._random = random

    async def ask(
        self,
        step: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        *,
        schema: AnswerSchema | None = None,
        temperature: float | None = None,
        model: str | None = None,
    ) -> T:
        """See `merrow_runtime.operators.base.Tools.ask`."""
        return await self._asked(
            step,
            joined(messages, self._history),
            lambda reply: read(reply.text),
            schema=schema,
            temperature=temperature,
            model=model,
        )

    async def converse(
        self,
        step: str,
        talk: Conversation,
        read: Callable[[ModelReply], T],
        *,
        offered: Sequence[OfferedTool] = (),
        schema: AnswerSchema | None = None,
    ) -> T:
        """See `merrow_runtime.operators.base.Tools.converse`."""
        return await self._asked(step, tuple(talk.messages), read, schema=schema, offered=tuple(offered), talk=talk)

    async def _asked(
        self,
        step: str,
        messages: tuple[Message, ...],
        read: Callable[[ModelReply], T],
        *,
        schema: AnswerSchema | None = None,
        temperature: float | None = None,
        model: str | None = None,
        offered: tuple[OfferedTool, ...] = (),
        talk: Conversation | None = None,
    ) -> T:
        gate = self._effects.gate
        node = self._step.definition
        asked_of = node.model if model is None else model
        before = None if talk is None else talk.sent

        async def put(turn: QuestionTurn) -> tuple[ModelReply, tuple[T, ...], AnswerFailure | None]:
            if turn.failure is not None:
                visit, sample = self._account.visit, self._told_sample
                self._effects.telling.retrying(visit, sample, step, str(turn.failure), 0.0)
            request = ModelRequest(
                asked_of,
                turn.messages,
                node.temperature if temperature is None else temperature,
                None if self._judges or model is not None else node.max_tokens,
                node.seed + turn.attempt if node.seed is not None and turn.repeats else node.seed,
                schema,
                self._step.timeout,
                offered,
            )
            digest, content = _digested(request.canonical_text())
            if talk is not None:
                if turn.attempt == 0:
                    talk.sent = digest, len(messages)
                content = _since(before, request, content)
            try:
                return await self._answer(self._key(step, turn.attempt), request, (digest, content), read)
            except ReplayMiss as miss:
                if turn.failure is None:
                    raise
                why = f"{miss} The answer that it has can't be used: {turn.failure}"
                raise ReplayMiss(why, node=node.id) from None

        gate.under_way += 1
        try:
            self.asked = True
            asked = await until_read(messages, ATTEMPTS, put)
            if asked.failure is None:
                return asked.value[0]
            endpoint = self._effects.endpoint
            where = named(endpoint) if endpoint in (OFFLINE_ORIGIN, REPLAY_ORIGIN) else f"{asked_of} at {endpoint}"
            same = ", the same more than once" if asked.repeats else ""
            raise NodeFailure.of(
                node.id, f"{where} gave no usable answer in {asked.attempts} attempts{same}. {asked.failure}"
            )
        finally:
            gate.under_way -= 1

    async def person(
        self, step: str, question: PersonQuestion, seconds: float | None = None, *, holds: bool = False
    ) -> PersonAnswer:
        """See `merrow_runtime.operators.base.Tools.person`; ``holds`` as in `PendingQuestions.put`."""
        effects, account = self._effects, self._account
        self.asked = True
        key = self._key(step)
        if self._history:
            question = replace(question, problems=(plain(self._history[-1].content),))
        digest, content = _digested(canonical(question.to_json()))
        record = await effects.recall(key, digest, account, model=False, since=self._since) if effects.knows else None
        if record is None and effects.options.unattended:
            raise NodeFailure.of(key.node, "nobody can be asked here, and no answer of a person is recorded.")
        if record is None:
            ask = await effects.person(key, digest, question, account.visit, seconds, holds=holds)
            if ask.state not in _ACTIONS or (ask.state == "answered" and ask.answer is None):
                raise NodeFailure.of(key.node, _DAMAGED)
            answer = PersonAnswer(_ACTIONS[ask.state], ask.answer or {}, ask.by or "")
            result, now = text_of(answer.to_json()), time.time()
            record = CallRecord(
                key, "person", digest, content, result, NOTHING, True, "person", now, 0.0, PERSON.endpoint, PERSON.model
            )
            record = await effects.commit(record, account)
            effects.telling.answered(account.visit, answer.by, answer.action)
        try:
            answer = PersonAnswer.from_json(record.result)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise NodeFailure.of(key.node, _DAMAGED) from None
        if answer.action == "accept":  # else nobody has answered
            account.answered[PERSON if record.origin == "person" else Provenance(REPLAY_ORIGIN, "")] = None
        return answer

    @property
    def told(self) -> str | None:
        """See `merrow_runtime.operators.base.Tools.told`."""
        return told_of(self._effects.options, self._account.visit)

    async def use(self, step: str, call: ToolCall) -> ToolResult:
        """See `merrow_runtime.operators.base.Tools.use`."""
        return await self._tool_use(step, call).result(self)

    async def use_asked(self, step: str, call: ToolCall) -> ToolResult:
        """See `merrow_runtime.operators.base.Tools.use_asked`."""
        permission = await self._permission(step, call)
        if permission.said == STOP:
            raise UnansweredFailure.of(self._account.visit.node, f"a person stopped it at its call of {call.tool}.")
        if permission.said == REFUSE:
            why = f" The person says: {permission.why}" if permission.why.strip() else ""
            return ToolResult(f"A person refused this call.{why}", failed=True)
        return await self._tool_use(step, call, outputs=_GIVES_TEXT, told=True).result(self)

    async def each(self, calls: Sequence[ToolCall] | None, work: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """See `merrow_runtime.operators.base.Tools.each`."""
        effects = self._effects
        if calls is None or not self._at_once(calls):
            return [await one() for one in work]
        left = len(work)

        async def branch(one: Callable[[], Awaitable[T]]) -> T:
            nonlocal left
            try:
                return await one()
            finally:
                left -= 1
                if left:  # The last one is what the node itself is at.
                    effects.branches -= 1
                    effects.people.look_later()

        effects.branches += len(work) - 1
        return await together(map(branch, work))

    def _at_once(self, calls: Sequence[ToolCall]) -> bool:
        """Whether calls that a model asked for may be made at the same time."""
        effects = self._effects
        if len(calls) < 2 or (effects.replay is not None and not effects.replay.may_ask):
            return False
        assert effects.open_tools is not None  # noqa: S101 (every run has them)
        servers = effects.open_tools()
        return all(
            servers.may_repeat(call) and (servers.may_use(call) or call.tool in effects.allowed) for call in calls
        )

    async def _permission(self, step: str, call: ToolCall) -> Permission:
        """What a person says of a call that a model asks for; that it may be made where nobody need be asked."""
        effects, account = self._effects, self._account
        asking, question = permission_step(step), permission_question(call, account.visit.node)
        if effects.knows:
            digest = _digested(canonical(question.to_json()))[0]
            key = self._key(asking)
            # What a person said of this call goes before what anybody has allowed since.
            record = await effects.recall(key, digest, account, model=False, since=self._since, optional=True)
            if record is not None or effects.people.has_put(key, digest):
                return self._permitted(call, await self.person(asking, question))
            if effects.replay is not None and not effects.replay.may_ask:
                return Permission(ONCE)
        assert effects.open_tools is not None  # noqa: S101 (every run has them)
        if effects.open_tools().may_use(call) or call.tool in effects.allowed:
            return Permission(ONCE)
        return self._permitted(call, await self.person(asking, question))

    def _permitted(self, call: ToolCall, answer: PersonAnswer) -> Permission:
        permission = permission_of(answer)
        if permission.said == IN_RUN:
            self._effects.allowed.add(call.tool)
        return permission

    def _tool_use(
        self, step: str, call: ToolCall, *, outputs: Mapping[str, str] | None = None, told: bool = False
    ) -> ToolUse:
        return ToolUse(
            self._effects,
            self._step.definition,
            self._account,
            self._key(step),
            call,
            _digested(canonical(call.to_json())),
            since=self._since,
            seconds=self._step.timeout,
            outputs=outputs,
            told=told,
        )

    def step(self, step: str, kind: StepKind, title: str, error: str | None = None) -> None:
        """See `merrow_runtime.operators.base.Tools.step`."""
        self._effects.telling.stepped(self._account.visit, self._told_sample, step, kind, title, error)

    async def act(self, action: EnvironmentAction) -> EnvironmentStep:
        """See `merrow_runtime.operators.base.Tools.act`."""
        assert self._place is not None  # noqa: S101 (only an Environment asks for this)
        use = EnvironmentUse(self._effects, self._account, self._place, action, self._since)
        return await use.step(self._key(use.name))

    async def retrieve(
        self, step: str, store: str, query: str, wanted: int, *, by_embedding: bool = False
    ) -> list[Value]:
        """See `merrow_runtime.operators.base.Tools.retrieve`."""
        request: dict[str, Value] = {"store": store, "query": query, "k": wanted}
        if not by_embedding:
            return await self._use_of(step, request).found(query, wanted)
        from merrow_runtime.calls.embedding_use import EmbeddingUse

        self.asked = True
        model = self._step.definition.model
        if "model" in self._step.node.resolution.parameters:
            # A model that only the settings name may be another one where a recording is replayed.
            request["model"] = model
        use = self._use_of(step, {**request, "by": "embedding"})
        retries, timeout = self._step.retries, self._step.timeout
        embedding = EmbeddingUse(self._effects, self._account, use.key, model, retries, timeout, self._told_sample)
        return await replace(use, embedding=embedding).found(query, wanted)

    async def remember(self, step: str, store: str, text: str) -> None:
        """See `merrow_runtime.operators.base.Tools.remember`."""
        await self._use_of(step, {"store": store, "text": text}).remember(text)

    def _use_of(self, step: str, request: dict[str, Value]) -> StoreUse:
        from merrow_runtime.calls.store_use import StoreUse  # few runs need it

        assert self._workflow is not None  # noqa: S101 (nodes of a workflow ask for this)
        place = self._effects.stores.place_of(self._workflow, str(request["store"]))
        digested = _digested(canonical(request))
        source = Path(self._workflow.name).name
        return StoreUse(self._effects, self._account, self._key(step), place, digested, source, self._since)

    async def run_file(self, inputs: Mapping[str, Value]) -> Outputs:
        """See `merrow_runtime.operators.base.Tools.run_file`."""
        assert self._run_file is not None  # noqa: S101 (only a Call asks for this)
        return await self._run_file(inputs)

    async def evaluate(self, step: str, code: str, call: str = "solve") -> SandboxResult:
        """See `merrow_runtime.operators.base.Tools.evaluate`."""
        from merrow_runtime.sandbox import SandboxJob, SandboxResult

        box = self._effects.sandbox
        job = SandboxJob(code, entry=call)
        return SandboxResult.from_json(await self._run(step, box.request_of(job), lambda: box.run(job)))

    async def check(self, step: str, code: str, call: str, arguments: Sequence[Value], seconds: float) -> SandboxResult:
        """See `merrow_runtime.validation.judge.JudgeTools.check`."""
        from merrow_runtime.sandbox import SandboxJob, SandboxResult

        box = self._effects.sandbox
        job = SandboxJob(code, entry=call, arguments=tuple(arguments), timeout_s=seconds)
        return SandboxResult.from_json(await self._run(step, box.request_of(job), lambda: box.run(job)))

    async def test(self, step: str, solution: str, tests: Sequence[str], entry_point: str) -> TestResult:
        """See `merrow_runtime.operators.base.Tools.test`."""
        from merrow_runtime.sandbox import TestResult

        box = self._effects.sandbox
        request = box.request_of(solution=solution, tests=tests, entry_point=entry_point)
        return TestResult.from_json(await self._run(step, request, lambda: box.test(solution, tests, entry_point)))

    def no_call(self, why: str) -> None:
        """See `merrow_runtime.operators.base.Tools.no_call`."""
        self._account.why_no_call = why

    def output(self, text: str) -> None:
        """See `merrow_runtime.operators.base.Tools.output`."""
        self._effects.telling.output(self._account.visit, self._told_sample, text)

    def _key(self, step: str, attempt: int = 0) -> CallKey:
        visit = self._account.visit
        named = step if self._attempt == 1 else f"{self._attempt}/{step}"
        return CallKey(visit.node, self._sample, named, attempt, visit.path, visit.redo)

    @property
    def _told_sample(self) -> int | None:
        return None if self._step.samples is None else self._sample

    async def _answer(
        self, key: CallKey, request: ModelRequest, digested: tuple[str, str], read: Callable[[ModelReply], T]
    ) -> tuple[ModelReply, tuple[T, ...], AnswerFailure | None]:
        """A reply, and the reader's result: the value, or why it can't be used. ``digested`` is the hash of the request, and the
        request as the journal keeps it.
        """
        effects, account = self._effects, self._account
        digest, content = digested
        record = await effects.recall(key, digest, account, model=True, since=self._since) if effects.knows else None
        known = None if record is None else reply_of(record.result)
        if record is not None and known is not None:
            account.answered[record.source] = None
            return (known, *_judged(known, read, _ended(request, known, self._limit(request))))
        if effects.replay is not None and not effects.replay.may_ask:
            raise ReplayMiss(
                f"The recording {effects.replay.path} has an answer of node {key.node} that can't be read."
            )
        started = time.time()
        told = request
        if self._step.aims is not None and key.step != MEMORY_STEP and not self._judges:
            # Instructions from readers are advice: they are sent, but are not part of the call's identity.
            told = replace(request, messages=with_advice(request.messages, self._step.aims))
        question = PendingQuestion(
            effects, account, key, told, digest, self._step.retries, self._told_sample, self._past_cache, self._turn
        )
        cache_key = question.cache_key
        try:
            reply, origin = await effects.call(question, cache_key)
        except EndpointFailure as lost:
            if account.run.unanswered is None:
                account.run.unanswered = lost.at(key.node, key.path).sentence
            raise
        called = origin == "endpoint"
        ended = _ended(request, reply, self._limit(request))
        # The call may have shown that answers vary, so that others must not get this one.
        answer = question.cache_key if called and ended is None and effects.cache is not None else None
        try:
            record = CallRecord(
                key,
                "model",
                digest,
                content,
                reply.json_text(),
                reply.usage if called else NOTHING,
                ended is None,
                origin,
                started,
                reply.seconds if called else time.time() - started,
                effects.endpoint,
                reply.model or request.model,
            )
            account.answered[record.source] = None
            made, record = record, await effects.keep(record, account, answer)
            kept = None if record is made else reply_of(record.result)
            if kept is not None:  # of another process, which works on the same run
                reply, ended = kept, _ended(request, kept, self._limit(request))
        finally:
            if called:
                effects.release(cache_key)
        try:
            # The answer is kept by now: whatever happens to who reads it, it is not paid for again.
            value, failure = _judged(reply, read, ended)
            if failure is not None and ended is None:
                record = await effects.refuse(record, answer)
        finally:
            await effects.record(record)
        return reply, value, failure

    def _limit(self, request: ModelRequest) -> int | None:
        return answer_limit_at(self._effects.calling.endpoint, request.model)

    async def _run(
        self,
        step: str,
        request: dict[str, Any],
        work: Callable[[], Awaitable[SandboxResult | TestResult]],
    ) -> dict[str, Any]:
        """A sandbox's result as plain data, from the journal or the recording if known."""
        from merrow_runtime.sandbox import SandboxRefusedError

        effects, account = self._effects, self._account
        key = self._key(step)
        digest, content = _digested(canonical(request))
        record = await effects.recall(key, digest, account, model=False, since=self._since) if effects.knows else None
        if record is not None:
            return record.result
        started = time.time()
        effects.moved(account, "begins")
        try:
            result = (await work()).to_json()
        except SandboxRefusedError as refusal:
            raise NodeFailure.of(key.node, str(refusal)) from None
        finally:
            effects.moved(account, "ends")
        record = CallRecord(
            key, "sandbox", digest, content, text_of(result), NOTHING, True, "sandbox", started, time.time() - started
        )
        kept = await effects.commit(record, account)
        return result if kept is record else kept.result


def _digested(content: str) -> tuple[str, str]:
    """The SHA-256 of a JSON text in hexadecimal, and the text as the journal takes it."""
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return digest, content if content.isascii() else storable_json(content)


def _since(before: tuple[str, int] | None, request: ModelRequest, content: str) -> str:
    """A request in a conversation as the journal keeps it: what was added since the one before, which has a hash and so many
    messages. Whole requests would take the square of the room.
    """
    if before is None:
        return content
    hashed, count = before
    return text_of({"after": hashed, "new": [message.to_json() for message in request.messages[count:]]})


def _judged(
    reply: ModelReply, read: Callable[[ModelReply], T], ended: AnswerFailure | None
) -> tuple[tuple[T, ...], AnswerFailure | None]:
    """The reader's result for a reply: a value in a tuple, or an empty tuple and the failure: ``ended``, if it is there."""
    if ended is not None:
        return (), ended
    try:
        return (read(reply),), None
    except AnswerFailure as failure:
        return (), failure
