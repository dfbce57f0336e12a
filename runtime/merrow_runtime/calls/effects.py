"""What a run asks of the world outside and waits for. An answer is used only once the journal has acknowledged it.

A question is answered from where the answer is known already, in this order: the journal (a run that is resumed), the
recording (and nothing but it, where one is replayed), the cache, the same request on its way, the endpoint. What comes
back is counted, then committed, then read: a full disk fails at the commit, and nothing that follows from a lost answer
was ever begun or told. A reader that fails finds the answer paid and kept.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from merrow_runtime.calls.account import NodeAccount, RunAccount
from merrow_runtime.calls.calling import Calling
from merrow_runtime.calls.carried import Carried
from merrow_runtime.calls.gate import EndpointGate, InFlightCall
from merrow_runtime.calls.permission import allowed_in_run
from merrow_runtime.calls.queueing import Moment
from merrow_runtime.calls.tool_servers import ToolServers
from merrow_runtime.environments.episodes import Episodes
from merrow_runtime.environments.interface import EnvironmentSession
from merrow_runtime.errors import EndpointFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.people.pending import PendingQuestions
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN
from merrow_runtime.requests import CallKey, EnvironmentAction, ModelReply, ModelRequest, PersonQuestion
from merrow_runtime.store.contract import AnswerCache, AskRecord, CallRecord, RunJournal
from merrow_runtime.store.recordings.recording import KeepsCalls, Replay
from merrow_runtime.telling import Telling
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.visit import Visit

if TYPE_CHECKING:
    from merrow_runtime.documents.run_stores import RunStores
    from merrow_runtime.sandbox import Sandbox

_FREE = frozenset({OFFLINE_ORIGIN, REPLAY_ORIGIN})
_KEY_BYTES = 16
"""Of a hash, as the key of an answer: enough that no two are alike."""


class Busy(Protocol):
    """Who knows what a run is at: its scheduler."""

    def running(self) -> int:
        """How many nodes run."""
        ...


@dataclass(slots=True, eq=False)
class PendingQuestion:
    """A question of a node to its model, until it has its reply. It listens to the call that is made for it.

    ``digest`` identifies the request; ``sample`` is told with events, None for a node without samples. ``retries`` and
    ``retry_terms`` say how often and how long the node lets a call be tried. ``turn`` tells it from the same question in another
    turn, where each turn asks.
    """

    effects: Effects
    account: NodeAccount
    key: CallKey
    request: ModelRequest
    digest: str
    retries: int | None
    sample: int | None
    past_cache: bool
    turn: str = ""

    @property
    def retry_terms(self) -> tuple[Any, ...]:
        """How long and how often it is tried; see `InFlightCall`."""
        return self.request.timeout, self.retries, self.effects.options.retry

    @property
    def varies(self) -> bool:
        """Whether another answer may differ, as far as is known by now."""
        return self.effects.calling.varies(self.request)

    @property
    def cache_key(self) -> bytes:
        """What the answer is cached by. Where answers vary, voters that ask the same must not share one."""
        key, effects = self.key, self.effects
        asked = f"{effects.calling.origin}\n{self.digest}\n{key.sample}\n{key.attempt}\n{key.step}"
        if self.turn:
            asked += f"\nturn {self.turn}"
        if self.varies:
            asked += f"\n{key.node}\n{effects.options.repeat}"
            if key.path or key.redo:
                asked += f"\n{key.path}\n{key.redo}"
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        self.effects.telling.retrying(self.account.visit, self.sample, self.key.step, str(failure), wait)

    def moved(self, moment: Moment) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        self.effects.moved(self.account, moment)

    def streamed(self, text: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        self.effects.telling.output(self.account.visit, self.sample, text, self.key.step)

    async def sending(self, usage: Usage) -> None:
        """See `merrow_runtime.calls.calling.CallMarks`."""
        await self.effects.journal.record_sent(self.key, self.digest, usage, alone=self.effects.is_alone)

    def unsent(self) -> None:
        """See `merrow_runtime.calls.calling.CallMarks`."""
        self.effects.journal.drop_sent(self.key, self.digest)

    async def lost(self, usage: Usage, why: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        self.account.count(usage)
        await self.effects.journal.record_lost(self.key, self.digest, usage, why)


@dataclass(slots=True, eq=False)
class Effects:
    """The outside of one run. ``journal`` is always there, ``cache``, ``replay`` and ``recorder`` where asked for."""

    options: RunOptions
    journal: RunJournal
    calling: Calling
    gate: EndpointGate
    telling: Telling
    account: RunAccount
    cache: AnswerCache | None = None
    replay: Replay | None = None
    recorder: KeepsCalls | None = None
    busy: list[Busy] = field(default_factory=list)
    """Who knows how many nodes run: of the workflow, and of each file that one of its nodes calls."""
    renamed: dict[str, str] = field(default_factory=dict)
    """What nodes were called, by their ids now, when the journal got calls of theirs: revisions rename nodes."""
    carried: Carried = field(default_factory=Carried)
    """Where visits were when the journal got calls of theirs, which revisions have given another place."""
    branches: int = 0
    """How many samples of nodes are at work beside the first of each."""
    stalled: int = 0
    """How many nodes wait for their agents to be free."""
    open_tools: Callable[[], ToolServers] | None = None
    """Gives who calls tools."""
    open_environment: Callable[[EnvironmentAction], Awaitable[EnvironmentSession]] | None = None
    """Opens a session with the environment that an action is for."""
    episodes: Episodes = field(default_factory=Episodes)
    """What was done in environments."""
    open_stores: Callable[[], RunStores] | None = None
    """Gives the stores that nodes search and add to."""
    _allowed: set[str] | None = None
    _people: PendingQuestions | None = None
    _sandbox: Sandbox | None = None

    @property
    def stores(self) -> RunStores:
        """The stores that nodes search and add to."""
        assert self.open_stores is not None  # noqa: S101 (every run has them)
        return self.open_stores()

    @property
    def people(self) -> PendingQuestions:
        """What the run has asked people."""
        if self._people is None:
            self._people = PendingQuestions(self.journal, self.telling, self._at_work, extend=self.calling.wait)
        return self._people

    def _at_work(self) -> int:
        """How many things the run does at the same time, or waits for people to do."""
        whole, *called = self.busy
        # Who calls a file waits for what is in there, and for its end.
        inside = sum(max(1, call.running()) - 1 for call in called)
        return whole.running() + inside + self.branches - self.stalled

    @property
    def knows(self) -> bool:
        """Whether there may be calls that need not be made."""
        return self.journal.resumed or self.replay is not None

    @property
    def reuses_any(self) -> bool:
        """Whether answers of other endpoints are used too."""
        return self.options.reuse == "any"

    @property
    def endpoint(self) -> str:
        """The origin of what answers this run."""
        return self.calling.origin if self.replay is None or self.replay.may_ask else REPLAY_ORIGIN

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox, made when code is to be run for the first time."""
        if self._sandbox is None:
            from merrow_runtime.sandbox import Sandbox

            self._sandbox = Sandbox(self.options.sandbox, allow_unsafe=self.options.allow_unsafe)
        return self._sandbox

    def moved(self, account: NodeAccount, moment: Moment) -> None:
        """Note what happens to a call of a node, and tell where all its calls wait for a place from then on, or no longer."""
        self.account.queueing.note(moment)
        if account.queueing.note(moment) and moment != "gives up":
            self.telling.queued(account.visit, waits=account.queueing.is_queued)

    async def recall(
        self,
        key: CallKey,
        digest: str,
        account: NodeAccount,
        *,
        model: bool,
        since: float = 0.0,
        optional: bool = False,
    ) -> CallRecord | None:
        """The call (of a ``model``, or of the sandbox) where it need not be made: from the journal, where it began after
        ``since``, or the recording.

        Raises `ReplayMiss`, unless it is ``optional``.
        """
        endpoint = self.endpoint if model and not self.reuses_any else None
        record = await self.journal.recall(key, digest, endpoint, max(since, self.carried.since(key.visit)))
        was = self.renamed.get(key.node)
        if record is None and was is not None:
            record = await self.journal.recall(replace(key, node=was), digest, endpoint, since)
        # A visit whose result was given away gave these calls away with it.
        for before in self.carried.of(key.visit) if record is None and not since else ():
            record = await self.journal.recall(replace(key, path=before.path), digest, endpoint)
            if record is not None:
                break
        if record is not None:
            account.count_known(record.usage)
            await self.record(record)
            return record
        if self.replay is None:
            return None
        may_miss = optional or self.replay.may_ask
        recorded = self.replay.find(key, digest) if may_miss else self.replay.recall(key, digest)
        if recorded is None:
            return None
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
        return await self.commit(record, account)

    async def person(
        self,
        key: CallKey,
        digest: str,
        question: PersonQuestion,
        visit: Visit,
        seconds: float | None,
        *,
        holds: bool = False,
    ) -> AskRecord:
        """Put a question to people and wait until it is closed; see `merrow_runtime.people.pending.PendingQuestions.put`."""
        keys = [key]
        if (was := self.renamed.get(key.node)) is not None:
            keys.append(replace(key, node=was))
        keys += [replace(key, path=before.path) for before in self.carried.of(key.visit)]
        return await self.people.put(keys, digest, question, visit, seconds, holds=holds)

    @property
    def allowed(self) -> set[str]:
        """The tools that people have allowed agents in this run, before it was resumed and since."""
        if self._allowed is None:
            self._allowed = allowed_in_run(self.journal.asks() if self.journal.resumed else ())
        return self._allowed

    async def recall_fact(self, key: CallKey, digest: str) -> bool:
        """Whether something that is not a function of calls was written down before: in the journal, or in the recording."""
        record = await self.journal.recall(key, digest)
        if record is not None:
            await self.record(record)
            return True
        recorded = None if self.replay is None else self.replay.find(key, digest)
        if recorded is None:
            return False
        await self.commit(replace(recorded, key=key, usage=NOTHING, started=time.time()), self.account.of(key.visit))
        return True

    async def commit(self, call: CallRecord, account: NodeAccount) -> CallRecord:
        """Count a call (whatever happens next, it is paid), journal it, then record it. As it is returned, it may be used."""
        call = await self.keep(call, account)
        await self.record(call)
        return call

    async def keep(self, call: CallRecord, account: NodeAccount, answer: bytes | None = None) -> CallRecord:
        """Count a call and journal it, also in the cache by ``answer``; the call as it is kept, which from now on may be read.
        `record` follows.
        """
        account.count(call.usage)
        return await self.journal.record_call(call, answer, alone=self.is_alone)

    async def record(self, call: CallRecord) -> None:
        """Add a call to the recording that is made, if any."""
        if self.recorder is not None:
            await self.recorder.record(call)

    async def refuse(self, call: CallRecord, answer: bytes | None) -> CallRecord:
        """Note that the answer of a call that is kept can't be used, and drop it from the cache; the call as it is now."""
        await self.journal.record_unusable(call, answer)
        return replace(call, usable=False)

    async def call(self, question: PendingQuestion, cache_key: bytes) -> tuple[ModelReply, str]:
        """A reply from the cache, from the same request on its way, or from the endpoint; and which of these.

        What the endpoint gave is given to others that ask the same until `release` is called.
        """
        if self.cache is not None and not question.past_cache and not self.options.fresh:
            cached = await self.cache.get(cache_key, more=self._running() > 1)
            reply = None if cached is None else reply_of(cached)
            if reply is not None:
                return reply, "cache"
        if question.varies:
            return await self._call(question), "endpoint"
        in_flight = self.gate.in_flight
        retry_terms = question.retry_terms
        while (other := in_flight.get(cache_key)) is not None:
            answer = await other.wait()
            if question.varies:  # as that call has shown
                return await self._call(question), "endpoint"
            if isinstance(answer, EndpointFailure):
                if answer.transient and other.retry_terms != retry_terms:
                    continue  # Who waits longer or tries more often may still succeed.
                raise answer
            if answer is not None:
                return answer, "shared"
        pending = in_flight[cache_key] = InFlightCall(retry_terms)
        outcome: ModelReply | EndpointFailure | None = None
        try:
            outcome = await self._call(question)
        except EndpointFailure as failure:
            outcome = failure
            raise
        else:
            return outcome, "endpoint"
        finally:
            if not isinstance(outcome, ModelReply):
                in_flight.pop(cache_key, None)
            pending.settle(outcome)

    def release(self, cache_key: bytes) -> None:
        """A reply of the endpoint is committed, or lost: whoever asks the same takes it from the cache, or asks."""
        self.gate.in_flight.pop(cache_key, None)

    def embed(self, question: PendingQuestion) -> Awaitable[ModelReply]:
        """The vectors that the endpoint gives; they are neither streamed nor in the cache of answers."""
        marks = None if self.calling.origin in _FREE else question
        return self.calling.call(question.request, question.retries, question, marks=marks)

    def _call(self, question: PendingQuestion) -> Awaitable[ModelReply]:
        marks = None if self.calling.origin in _FREE else question
        return self.calling.call(question.request, question.retries, question, stream=self.options.stream, marks=marks)

    @property
    def is_alone(self) -> bool:
        """Whether no other call of the run is in flight, whose end a commit could wait for."""
        return self.gate.under_way < 2 and self._running() < 2

    def _running(self) -> int:
        # A node that calls a file waits for the nodes in there.
        return sum(call.running() for call in self.busy) - len(self.busy) + 1


def reply_of(plain: Mapping[str, Any]) -> ModelReply | None:
    """A reply that was kept; None where it is damaged."""
    try:
        return ModelReply.from_json(plain)
    except (KeyError, TypeError, AttributeError):
        return None
