"""What the engine asks of the journal, the cache and a recording."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, NamedTuple, Protocol

from merrow_runtime.provenance import Provenance
from merrow_runtime.records import record
from merrow_runtime.requests import CallKey
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.visit import Visit

RevisionState = Literal["asked", "open", "waiting", "agreed", "declined", "unchanged", "refused", "applied"]
RunStatus = Literal["running", "waiting", "finished", "failed", "cancelled"]
"""``waiting``: nothing is left to do until a person answers, and no process works on it."""
NodeStatus = Literal["finished", "failed", "skipped", "reused"]
CallKind = Literal["model", "sandbox", "budget", "person", "tool", "intent", "leg", "act", "fact"]
"""``intent``: that a tool is about to be called whose call may not be repeated; ``leg``: that its server asks in the place of a
result; ``act``: what was done in an environment; ``fact``: what a store gave or was given.
"""
AskState = Literal["asked", "answered", "declined", "expired", "withdrawn"]


class RunFailed(NamedTuple):
    """Why a run failed, for programs: the kind of failure, the node that met it and its frame, and what the user has to supply
    (`merrow_runtime.errors.Remedy`), as far as there are any.
    """

    code: str
    node: str | None = None
    path: str = ""
    remedy: str | None = None

    def to_json(self) -> dict[str, str]:
        """As events, answers and reports have it, beside the sentence in ``error``."""
        shown = {"code": self.code}
        if self.node is not None:
            shown |= {"failed_node": self.node, "failed_path": self.path}
        if self.remedy is not None:
            shown["remedy"] = self.remedy
        return shown


@record(frozen=True, slots=True)
class RunRecord:
    """A run as the journal knows it. ``snapshot`` is all that a resume needs: the workflow's text, the files it read,
    settings, inputs, options; never a secret.
    """

    id: str
    workflow: str
    status: RunStatus
    started: float
    ended: float | None = None
    snapshot: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] | None = None
    usage: Usage = NOTHING
    error: str | None = None
    parent: str | None = None
    """The run that this one took results from (``--from``)."""
    seconds: float = 0.0
    """How long processes worked on it, not counting the time between two of them."""
    sources: Sequence[Provenance] = ()
    """Who answered its questions, now or in the runs that it reused results of."""
    failure: RunFailed | None = None
    """Of a run that failed."""
    author: str = ""
    """Who began it, in a journal that several share."""


@record(frozen=True, slots=True)
class CallRecord:
    """One call that was made (or answered from elsewhere); its request and result are JSON texts, as they are kept.

    ``usable`` is False for an answer that could not be used: it is kept and counted, and on a resume it is replayed to
    the operator like any other. ``origin`` says where the answer came from: ``endpoint``, ``cache``, ``shared`` (the same
    question of another node), ``replay``, ``sandbox``, ``person``, ``tool``, ``act``, ``store``, or ``budget``:
    that a Loop had used up its own after a turn. ``endpoint`` and ``model`` say who gave it first.
    """

    key: CallKey
    kind: CallKind
    request_hash: str
    request_text: str
    result_text: str
    usage: Usage = NOTHING
    usable: bool = True
    origin: str = "endpoint"
    started: float = 0.0
    seconds: float = 0.0
    endpoint: str = ""
    model: str = ""

    @property
    def source(self) -> Provenance:
        """Who gave the answer of a model's call."""
        return Provenance(self.endpoint, self.model)

    @property
    def request(self) -> dict[str, Any]:
        """The request as plain data."""
        request: dict[str, Any] = json.loads(self.request_text)
        return request

    @property
    def result(self) -> dict[str, Any]:
        """The result as plain data."""
        result: dict[str, Any] = json.loads(self.result_text)
        return result


class FailureRecord(NamedTuple):
    """Why a node failed, for programs. ``reason`` is its error without the node's name at the beginning; ``on_error`` what was
    done about it (``fail``, ``skip``, ``default``).
    """

    code: str
    reason: str
    on_error: str
    remedy: str | None = None


@record(frozen=True, slots=True)
class NodeRecord:
    """How one visit of a node ended. ``key`` is the hash of its resolved definition and inputs with memory (what ``--from``
    compares); ``inputs`` tell where each came from, ``memory`` is what it remembered, the node, title and text of each entry;
    the text is None where the record of the visit that gave it is missing in the journal. What went into its prompts is in
    its calls.
    """

    node: str
    status: NodeStatus
    key: str | None
    outputs: Mapping[str, Any] | None
    usage: Usage = NOTHING
    started: float = 0.0
    ended: float = 0.0
    error: str | None = None
    case: int | None = None
    """Of a Decision, the number of the case it chose."""
    definition: Mapping[str, Any] | None = None
    inputs: Mapping[str, Any] | None = None
    memory: Sequence[Mapping[str, Any]] = ()
    sources: Sequence[Provenance] = ()
    """Who answered its questions; empty where it asked none."""
    why_no_call: str | None = None
    """Why it asked nothing although nodes of its kind do."""
    path: str = ""
    redo: int = 0
    """With ``path``: which visit of the node it was, see `merrow_runtime.visit`."""
    number: int = 0
    """Of the event that reports it; 0 in journals that were written before events had numbers."""
    label: str | None = None
    """Of a Decision, the label of the case it chose."""
    failed: FailureRecord | None = None
    """Of a node that failed."""
    validation: Mapping[str, Any] | None = None
    """Of a node whose result was validated: see `merrow_runtime.validation.verdicts.validation_record`."""
    revision: int = 0
    """The number of the revision whose graph it was done under; 0 for the workflow that the run began with."""
    taken: str | None = None
    """The visit of the same run whose result it took over."""
    masked: bool = False
    """Whether the outputs are not what was answered, since the run masks results."""
    remembers: Sequence[Visit | None] = field(default=(), compare=False)
    """For entries of ``memory`` the visits whose default outputs they are, by whose names the journal keeps them: their records
    come before this one. None, or nothing, for an entry whose text it keeps.
    """

    @property
    def visit(self) -> Visit:
        """Which execution of the node this is."""
        return Visit(self.node, self.path, self.redo)


FrameEvent = Literal["turn_started", "turn_finished", "turn_failed", "item_started", "item_finished", "item_failed"]


@record(frozen=True, slots=True)
class FrameRecord:
    """That a turn or an item of a composite began, ended or failed: the ``which``-th of at most ``most``. ``path`` is that of the
    frame around the composite; ``error`` and ``code`` say why it failed.
    """

    event: FrameEvent
    composite: str
    path: str
    which: int
    most: int
    at: float
    number: int
    """Of the event that reports it."""
    error: str | None = None
    code: str | None = None


@record(frozen=True, slots=True)
class LoopRecord:
    """How a Loop ended: after so many ``turns`` of at most ``most``, and ``why`` (`merrow_runtime.frontier.outcomes.Why`).

    ``path`` is that of the frame around it. ``exhausted`` says that it wanted another turn, and ``best`` is the turn whose values
    go out where `best` chose it. ``replaced`` are answers of the last turn for which another was taken: the node that
    asked, its answer, the one that was taken.
    """

    composite: str
    path: str
    turns: int
    most: int
    why: str
    exhausted: bool
    at: float
    number: int
    """Of the event that reports it."""
    best: int | None = None
    replaced: tuple[tuple[str, str, str], ...] = ()

    @property
    def place(self) -> str:
        """The Loop with the turns, items and Calls around it, as in ``TRIALS[2]/REFINE``."""
        return Visit(self.composite, self.path).name

    def to_json(self) -> dict[str, Any]:
        """As events and reports have it."""
        shown: dict[str, Any] = {"path": self.place, "turns": self.turns, "why": self.why}
        if self.best is not None:
            shown["best"] = self.best
        if self.replaced:
            shown["replaced"] = [
                dict(zip(("at", "answer", "taken"), replaced, strict=True)) for replaced in self.replaced
            ]
        return shown


def exhausted_of(loops: Iterable[LoopRecord]) -> list[str]:
    """The places of the Loops that wanted another turn when they ended, in the order of their ends."""
    return [loop.place for loop in sorted(loops, key=lambda loop: loop.number) if loop.exhausted]


Told = NodeRecord | FrameRecord | LoopRecord
"""What is told of a run and kept: how nodes and Loops ended, and the turns and items that nodes ran in."""


@record(frozen=True, slots=True)
class RevisionRecord:
    """A revision of a run's workflow. ``number`` counts those of the run from 1. ``trigger`` is what asked for it: ``every``,
    ``failure``, ``invalid`` or ``person``; ``view`` what the reviser was shown, empty of a person's.

    ``state``: ``asked`` by a person and not looked at yet, ``open`` while a reviser thinks about it, ``waiting`` for a person to
    agree, ``agreed`` or ``declined`` by one, then ``unchanged``, ``refused`` or ``applied``. ``text`` is the new workflow as
    `merrow_runtime.workflow.restore` takes it, a JSON text; empty where there is none. ``adopted`` tells what became of
    the nodes (with ``carried``: `merrow_runtime.calls.carried.Carried.before`), and ``reason`` why it was made, or refused.
    """

    number: int
    state: RevisionState
    trigger: str
    view: str = ""
    text: str = ""
    adopted: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    at: float = 0.0


@record(frozen=True, slots=True)
class AskRecord:
    """A question of a run to people. ``key`` (its attempt is always 0) and ``hash`` say which one it is, as of a call;
    ``question`` is what people are shown, see `merrow_runtime.requests.PersonQuestion`.

    ``state``: ``asked``, then ``answered`` or ``declined`` by somebody, ``expired`` when its deadline passed before, or
    ``withdrawn`` when nothing needs it any more. ``asked``, ``due`` and ``answered`` are seconds since 1970; ``answer`` is what
    the form came to. ``number`` is 0 of one that is not in the journal yet.
    """

    key: CallKey
    hash: str
    question: Mapping[str, Any]
    state: AskState = "asked"
    asked: float = 0.0
    due: float | None = None
    answered: float | None = None
    by: str | None = None
    answer: Mapping[str, Any] | None = None
    number: int = 0

    @property
    def visit(self) -> Visit:
        """The visit that asks."""
        return self.key.visit


@record(frozen=True, slots=True)
class WaitingRun:
    """A run that waits for people. ``asks`` are its open questions; none where all have their answers, so that a resume goes
    on.
    """

    id: str
    workflow: str
    started: float
    author: str
    asks: Sequence[AskRecord]


class Pages(Protocol):
    """Reads what was told of a run and is committed, page by page, in the order in which that was reported."""

    def more(self) -> Sequence[Told]:
        """The next ones that are committed; empty where there are none (yet). Raises `StoreFailure`."""
        ...


class RunJournal(Protocol):
    """The journal as one run uses it. Raises `StoreFailure`."""

    run: str
    resumed: bool
    """Whether it knows calls of an earlier part of the run."""
    interrupted: int
    """How many calls were begun by processes that were killed, and have no answer."""

    def learn(self) -> None:
        """Know the calls that this process made, too: after a revision, what is made again may ask what it asked before."""
        ...

    async def recall(
        self, key: CallKey, request_hash: str, endpoint: str | None = None, since: float = 0.0
    ) -> CallRecord | None:
        """The call, if it finished before `learn` was called last, or in the process that died; with ``endpoint`` only where
        that gave the answer, and only where it began after ``since``.
        """
        ...

    async def record_definitions(self, definitions: str, frame: str = "") -> None:
        """Keep the definitions of all nodes that have one, a JSON object by node id: of those in the workflow and the files that
        it calls, or of those that were planned for the frame with a path.
        """
        ...

    def outlast_power(self) -> None:
        """See `merrow_runtime.store.sql.Database.outlast_power`: for a run that does what can't be done again."""
        ...

    async def record_call(self, call: CallRecord, answer: bytes | None = None, *, alone: bool = False) -> CallRecord:
        """Keep a call that finished; with ``answer`` its result in the cache too, under this key. It returns once both are
        committed, the call as it is kept: the one that another process had kept in its place by then is the one to use.
        ``alone`` says that no other call of the run is in flight, whose end the commit could wait for.
        """
        ...

    async def record_unusable(self, call: CallRecord, answer: bytes | None) -> None:
        """Note that the answer of a call that was kept can't be used; what is in the cache under ``answer`` is dropped."""
        ...

    async def record_sent(self, key: CallKey, request_hash: str, usage: Usage, *, alone: bool = False) -> None:
        """Keep that a call leaves now, before it does; ``usage`` is what it uses in any case. `record_call` and `record_lost`
        take the mark away with what they keep: one that is left was begun by a process that was killed, and may have been paid
        for. ``alone`` as in `record_call`.
        """
        ...

    def drop_sent(self, key: CallKey, request_hash: str) -> None:
        """The call that left was not paid for."""
        ...

    async def record_lost(self, key: CallKey, request_hash: str, usage: Usage, why: str) -> None:
        """A try that may have been paid for and has no result, and ``why``: cancelled, stopped, timeout, failed. Counted, never
        replayed.
        """
        ...

    def record_told(self, several: Sequence[Told]) -> Awaitable[object]:
        """Keep what was told; done once it is committed. Nothing needs to wait for it: a node follows from its calls."""
        ...

    def add_revision(self, made: Callable[[int], RevisionRecord]) -> RevisionRecord:
        """Keep a new revision at once: ``made`` gives it for its number."""
        ...

    async def record_revision(self, revision: RevisionRecord, definitions: str = "") -> None:
        """Keep how a revision stands, with all that waits to be written, in one commit; ``definitions`` are those of the nodes of
        its workflow.
        """
        ...

    def update_revision(self, revision: RevisionRecord) -> None:
        """Keep what has become known of a revision, at once where nothing is in the way. Never raises: the next write does."""
        ...

    async def until_there(self) -> None:
        """Wait until the journal answers, before what people have done is read at once (`asked_revisions`, `asks`)."""
        ...

    def asked_revisions(self) -> Sequence[RevisionRecord]:
        """The revisions that a person has asked for, agreed to or declined, from whatever process, and that nobody has
        looked at.
        """
        ...

    def ask(self, ask: AskRecord) -> Awaitable[object]:
        """Keep a question to people with the next commit, which need not come at once; done when it is kept. One with a number
        was withdrawn, and is put again.
        """
        ...

    def asks(self) -> Sequence[AskRecord]:
        """The questions to people that are kept, whose deadlines are looked at first: those that passed close their questions."""
        ...

    def withdraw(self, ask: AskRecord) -> None:
        """Close a question that nobody needs any more, with the next commit."""
        ...

    def pages(self) -> Pages:
        """What was told since this journal was opened, starting with the first."""
        ...

    async def finish(
        self,
        status: RunStatus,
        outputs: Mapping[str, Any] | None,
        usage: Usage,
        error: str | None,
        seconds: float = 0.0,
        sources: Sequence[Provenance] = (),
        failure: RunFailed | None = None,
    ) -> None:
        """Keep how the run ended; ``seconds`` are those of this process, ``failure`` says why it failed."""
        ...

    def spent(self) -> Usage:
        """The usage that was journalled for this run before: what a resume counts as spent."""
        ...

    def cancel_requested(self) -> bool:
        """Whether another process asked for this run to be cancelled (``merrow cancel``)."""
        ...

    async def close(self) -> None:
        """Give up the lease."""
        ...


class AnswerCache(Protocol):
    """Usable answers by content."""

    async def get(self, key: bytes, *, more: bool = False) -> Mapping[str, Any] | None:
        """The answer under a key, None where there is none. ``more`` says that others are asked for soon."""
        ...
