"""Every call of a run: answered from where it is known already, else made once, counted and kept before it is used.

In this order: the journal (a run that is resumed), the recording (and nothing but it, where one is replayed), the
cache, the same request on its way, the endpoint. What comes back is judged by its reader, then journalled, then used.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from merrow_runtime.calling import Calling
from merrow_runtime.definitions import Step
from merrow_runtime.errors import AnswerFailure, EndpointFailure, NodeFailure, ReplayMiss
from merrow_runtime.events import EventName
from merrow_runtime.gate import Flight, Gate
from merrow_runtime.options import RunOptions
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN, Source, named
from merrow_runtime.requests import AnswerSchema, CallKey, Message, ModelReply, ModelRequest
from merrow_runtime.store.contract import AnswerCache, CallRecord, RunJournal
from merrow_runtime.store.recording import Recorder, Replay
from merrow_runtime.store.rows import storable_json, text_of
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import canonical
from merrow_runtime.visit import Visit

if TYPE_CHECKING:
    from merrow_runtime.sandbox import Sandbox, SandboxResult, TestResult

T = TypeVar("T")
Tell = Callable[[EventName, str | None, dict[str, Any]], None]
"""Tells an event: its name, the node it is about, and its further fields."""

_KEY_BYTES = 16
"""Of a hash, as the key of an answer: enough that no two are alike."""

ATTEMPTS = 3
"""How often a question is asked in all, where answers can't be used."""

_CUT = AnswerFailure(
    "The answer was cut off at its greatest length; a higher `max_tokens` leaves it room.",
    remedy="Your answer was cut off since it was too long. Answer again, and be brief.",
)
_REFUSED = AnswerFailure(
    "The model refused to answer.",
    remedy="Please answer the question; if you can't, say in the answer what is missing.",
)


@dataclass(slots=True, eq=False)
class Caller:
    """What all nodes of one run call through. ``journal`` is always there, ``replay`` and ``recorder`` where asked for.

    ``sandbox`` makes the sandbox when code is to be run for the first time.
    """

    run: str
    options: RunOptions
    journal: RunJournal
    calling: Calling
    gate: Gate
    cache: AnswerCache | None
    tell: Tell
    sandbox: Callable[[], Sandbox]
    replay: Replay | None = None
    recorder: Recorder | None = None
    spent: Usage = NOTHING
    """What the run has used, with what it had used before it was resumed."""
    nodes: Callable[[], int] = lambda: 1
    """How many nodes run."""
    used: dict[Visit, Usage] = field(default_factory=dict)
    """What each visit has used; with what the journal knew already."""
    reuses_any: bool = False
    """Whether answers that the journal has of other endpoints are used too."""
    sources: dict[Visit, dict[Source, None]] = field(default_factory=dict)
    """Who answered each visit."""
    before: tuple[Source, ...] = ()
    """Who answered the run before it was resumed, as far as this part of it uses their answers."""
    why_no_call: dict[Visit, str] = field(default_factory=dict)
    """Why a visit asked nothing."""

    @property
    def knows(self) -> bool:
        """Whether there may be calls that need not be made."""
        return self.journal.resumed or self.replay is not None

    async def keep(self, call: CallRecord, tools: NodeTools, answer: bytes | None = None) -> None:
        """Count a call (whatever happens next, it is paid), journal it, then record it: from now on it may be used, also
        from the cache by ``answer``.
        """
        self.count(call.usage, tools)
        await self.journal.record_call(call, answer, alone=self.gate.under_way < 2 and self.nodes() < 2)
        if self.recorder is not None:
            await self.recorder.record(call)

    def count(self, usage: Usage, tools: NodeTools) -> None:
        """Count usage for the run and its node."""
        if usage is not NOTHING:
            self.spent += usage
            self.count_known(usage, tools)

    def count_known(self, usage: Usage, tools: NodeTools) -> None:
        """Count usage for a node alone: the run has it counted already."""
        before = self.used.get(tools.visit)
        self.used[tools.visit] = usage if before is None else before + usage

    @property
    def endpoint(self) -> str:
        """The origin of what answers this run."""
        return self.calling.origin if self.replay is None else REPLAY_ORIGIN

    @property
    def all_sources(self) -> tuple[Source, ...]:
        """Who answered the run, with those who did before it was resumed."""
        return tuple(dict.fromkeys([*self.before, *(one for sources in self.sources.values() for one in sources)]))

    def answered(self, visit: Visit, *sources: Source) -> None:
        """Note who answered a visit."""
        self.sources.setdefault(visit, {}).update(dict.fromkeys(sources))

    async def known(self, key: CallKey, digest: str, tools: NodeTools, *, model: bool) -> CallRecord | None:
        """The call (of a ``model``, or of the sandbox) where it need not be made: from the journal, or the recording.

        Raises `ReplayMiss`.
        """
        record = await self.journal.recall(key, digest, self.endpoint if model and not self.reuses_any else None)
        if record is not None:
            self.count_known(record.usage, tools)
            if self.recorder is not None:
                await self.recorder.record(record)
            return record
        if self.replay is None:
            return None
        recorded = self.replay.recall(key, digest)
        # Nothing is paid for a replay.
        record = replace(
            recorded,
            key=key,
            usage=NOTHING,
            origin="replay",
            started=time.time(),
            seconds=0.0,
            endpoint=REPLAY_ORIGIN if model else "",
        )
        await self.keep(record, tools)
        return record


class NodeTools:
    """`merrow_runtime.operators.base.Tools` of one execution of a node."""

    __slots__ = ("_caller", "_past_cache", "_random", "_sample", "_seed", "_step", "visit")

    def __init__(
        self, caller: Caller, step: Step, visit: Visit, sample: int, seed: str, *, past_cache: bool = False
    ) -> None:
        """``seed`` is what shuffles of the visit are seeded with, together with the run's seed and the sample."""
        self._caller = caller
        self._step = step
        self._sample = sample
        self._past_cache = past_cache
        self._random: Random | None = None
        self._seed = seed
        self.visit = visit

    @property
    def random(self) -> Random:
        """See `merrow_runtime.operators.base.Tools.random`; made when it is first asked for, since few nodes do."""
        if self._random is None:
            self._random = Random(f"{self._caller.options.seed}:{self._seed}:{self._sample}")  # noqa: S311 (no secret)
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
    ) -> T:
        """See `merrow_runtime.operators.base.Tools.ask`."""
        gate = self._caller.gate
        gate.under_way += 1
        try:
            node = self._step.definition
            sent = tuple(messages)
            for attempt in range(ATTEMPTS):
                request = ModelRequest(
                    node.model,
                    sent,
                    node.temperature if temperature is None else temperature,
                    node.max_tokens,
                    node.seed,
                    schema,
                    self._step.timeout,
                )
                reply, value, failure = await self._answer(self._key(step, attempt), request, read)
                if failure is None:
                    return value[0]
                if attempt + 1 == ATTEMPTS:
                    break
                self._tell("node_retrying", {"step": step, "reason": str(failure), "wait": 0.0})
                said = (Message("assistant", reply.text),) if reply.text.strip() else ()
                sent = (*sent, *said, Message("user", failure.remedy or f"That can't be used: {failure} Answer again."))
            endpoint = self._caller.endpoint
            where = named(endpoint) if endpoint in (OFFLINE_ORIGIN, REPLAY_ORIGIN) else f"{node.model} at {endpoint}"
            raise NodeFailure(f"Node {node.id}: {where} gave no usable answer in {ATTEMPTS} attempts. {failure}")
        finally:
            gate.under_way -= 1

    async def evaluate(self, step: str, code: str, call: str = "solve") -> SandboxResult:
        """See `merrow_runtime.operators.base.Tools.evaluate`."""
        from merrow_runtime.sandbox import SandboxJob, SandboxResult

        box = self._caller.sandbox()
        job = SandboxJob(code, entry=call)
        return SandboxResult.from_json(await self._run(step, box.request_of(job), lambda: box.run(job)))

    async def test(self, step: str, solution: str, tests: Sequence[str], entry_point: str) -> TestResult:
        """See `merrow_runtime.operators.base.Tools.test`."""
        from merrow_runtime.sandbox import TestResult

        box = self._caller.sandbox()
        request = box.request_of(solution=solution, tests=tests, entry_point=entry_point)
        return TestResult.from_json(await self._run(step, request, lambda: box.test(solution, tests, entry_point)))

    def no_call(self, why: str) -> None:
        """See `merrow_runtime.operators.base.Tools.no_call`."""
        self._caller.why_no_call[self.visit] = why

    def output(self, text: str) -> None:
        """See `merrow_runtime.operators.base.Tools.output`."""
        self._tell("node_output", {"text": text})

    def _key(self, step: str, attempt: int = 0) -> CallKey:
        visit = self.visit
        return CallKey(visit.node, self._sample, step, attempt, visit.path, visit.redo)

    def _tell(self, event: EventName, data: dict[str, Any]) -> None:
        if self._step.samples is not None:
            data["sample"] = self._sample
        self._caller.tell(event, self._step.definition.id, data)

    async def _answer(
        self, key: CallKey, request: ModelRequest, read: Callable[[str], T]
    ) -> tuple[ModelReply, tuple[T, ...], AnswerFailure | None]:
        """A reply, and what its reader makes of it: the value, or why it can't be used."""
        caller = self._caller
        digest, content = _digested(request.canonical_text())
        record = await caller.known(key, digest, self, model=True) if caller.knows else None
        known = None if record is None else _reply_of(record.result)
        if record is not None and known is not None:
            caller.answered(self.visit, record.source)
            return (known, *_judged(known, read))
        if caller.replay is not None:
            raise ReplayMiss(f"The recording {caller.replay.path} has an answer of node {key.node} that can't be read.")
        started = time.time()
        cache_key = self._cache_key(key, request, digest)
        reply, origin = await self._reply(key, request, digest, cache_key)
        called = origin == "endpoint"
        try:
            value, failure = _judged(reply, read)
            record = CallRecord(
                key,
                "model",
                digest,
                content,
                reply.json_text(),
                reply.usage if called else NOTHING,
                failure is None,
                origin,
                started,
                reply.seconds if called else time.time() - started,
                caller.endpoint,
                reply.model or request.model,
            )
            caller.answered(self.visit, record.source)
            answer = cache_key if called and failure is None and caller.cache is not None else None
            await caller.keep(record, self, answer)
        finally:
            if called:
                # Only now that the cache has it: whoever asks the same in between takes it from here.
                caller.gate.flying.pop(cache_key, None)
        if called and failure is not None and request.schema is not None and reply.finish == "stop":
            caller.calling.schema_missed(request.model, reply.text)
        return reply, value, failure

    async def _reply(
        self, key: CallKey, request: ModelRequest, digest: str, cache_key: bytes
    ) -> tuple[ModelReply, str]:
        """A reply from the cache, from the same request on its way, or from the endpoint; and which of these."""
        caller = self._caller
        if caller.cache is not None and not self._past_cache and not caller.options.fresh:
            cached = await caller.cache.get(cache_key, more=caller.nodes() > 1)
            reply = None if cached is None else _reply_of(cached)
            if reply is not None:
                return reply, "cache"
        if request.temperature > 0:
            return await self._call(key, request, digest), "endpoint"
        flying = caller.gate.flying
        patience = (self._step.timeout, self._step.retries, caller.options.retry)
        while (other := flying.get(cache_key)) is not None:
            found = await other.wait()
            if isinstance(found, EndpointFailure):
                if found.transient and other.patience != patience:
                    continue  # Who waits longer or tries more often may still succeed.
                raise found
            if found is not None:
                return found, "shared"
        flight = flying[cache_key] = Flight(patience)
        outcome: ModelReply | EndpointFailure | None = None
        try:
            outcome = await self._call(key, request, digest)
        except EndpointFailure as failure:
            outcome = failure
            raise
        else:
            return outcome, "endpoint"
        finally:
            if not isinstance(outcome, ModelReply):
                del flying[cache_key]
            flight.land(outcome)

    async def _call(self, key: CallKey, request: ModelRequest, digest: str) -> ModelReply:
        caller = self._caller

        def retrying(failure: EndpointFailure, wait: float) -> None:
            self._tell("node_retrying", {"step": key.step, "reason": str(failure), "wait": wait})

        async def lost(usage: Usage, why: str) -> None:
            caller.count(usage, self)
            await caller.journal.record_lost(key, digest, usage, why)

        def streamed(text: str) -> None:
            self._tell("node_output", {"text": text, "step": key.step})

        return await caller.calling.call(
            request, self._step.retries, retrying, lost, streamed if caller.options.stream else None
        )

    def _cache_key(self, key: CallKey, request: ModelRequest, digest: str) -> bytes:
        """What an answer is cached by. At a temperature above 0 voters that ask the same must not share one answer."""
        asked = f"{self._caller.calling.origin}\n{digest}\n{key.sample}\n{key.attempt}\n{key.step}"
        if request.temperature > 0:
            asked += f"\n{key.node}\n{self._caller.options.repeat}"
            if key.path or key.redo:
                asked += f"\n{key.path}\n{key.redo}"
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]

    async def _run(
        self,
        step: str,
        request: dict[str, Any],
        work: Callable[[], Awaitable[SandboxResult | TestResult]],
    ) -> dict[str, Any]:
        """A sandbox's result as plain data, from the journal or the recording where it is known."""
        from merrow_runtime.sandbox import SandboxRefusedError

        caller = self._caller
        key = self._key(step)
        digest, content = _digested(canonical(request))
        record = await caller.known(key, digest, self, model=False) if caller.knows else None
        if record is not None:
            return record.result
        started = time.time()
        try:
            result = (await work()).to_json()
        except SandboxRefusedError as refusal:
            raise NodeFailure(f"Node {key.node}: {refusal}") from None
        record = CallRecord(
            key, "sandbox", digest, content, text_of(result), NOTHING, True, "sandbox", started, time.time() - started
        )
        await caller.keep(record, self)
        return result


def _digested(content: str) -> tuple[str, str]:
    """The SHA-256 of a JSON text in hexadecimal, and the text as the journal takes it."""
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return digest, content if content.isascii() else storable_json(content)


def _reply_of(plain: Mapping[str, Any]) -> ModelReply | None:
    """A reply that was kept; None where it is damaged."""
    try:
        return ModelReply.from_json(plain)
    except (KeyError, TypeError, AttributeError):
        return None


def _judged(reply: ModelReply, read: Callable[[str], T]) -> tuple[tuple[T, ...], AnswerFailure | None]:
    """What the reader makes of a reply: a value in a tuple, or an empty one and the failure."""
    if reply.finish == "refusal":
        return (), _REFUSED
    if reply.finish == "length":
        return (), _CUT
    try:
        return (read(reply.text),), None
    except AnswerFailure as failure:
        return (), failure
