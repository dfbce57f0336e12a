"""The store: runs, their calls and nodes, answers and dialects, in one SQLite file in WAL mode."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeVar

from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.provenance import Provenance
from merrow_runtime.store import asks, lease, revisions, rows
from merrow_runtime.store.address import configured, shared
from merrow_runtime.store.cache import Cache
from merrow_runtime.store.contract import (
    AskRecord,
    CallRecord,
    LoopRecord,
    NodeRecord,
    RevisionRecord,
    RevisionState,
    RunFailed,
    RunRecord,
    RunStatus,
    Told,
    WaitingRun,
)
from merrow_runtime.store.dialects import DialectTable
from merrow_runtime.store.evaluations import Batches, Evaluations
from merrow_runtime.store.extractions import Extractions
from merrow_runtime.store.jobs import JOBS, Jobs
from merrow_runtime.store.journal import DatabaseJournal, sharing
from merrow_runtime.store.labels import Labels
from merrow_runtime.store.listing import JobListing
from merrow_runtime.store.location import FILE, JOBS_FOLDER, private_file, state_folder
from merrow_runtime.store.opening import connect, connect_for_reading
from merrow_runtime.store.optimizations import Optimizations
from merrow_runtime.store.packing import CALLS, NODES, OUTPUTS
from merrow_runtime.store.pruning import Pruned, prune, tidy
from merrow_runtime.store.rankings import Rankings
from merrow_runtime.store.rows import SENT, Report, ignored
from merrow_runtime.store.schema import DEFINITIONS, WORKFLOW
from merrow_runtime.store.sql import PLACES, Database, in_parts
from merrow_runtime.store.writer import BALLAST, Writer
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.visit import Visit

T = TypeVar("T")

RUN_PLACES = ", ".join("?" * (rows.RUN_COLUMNS.count(",") + 1))
_BEGIN = f"INSERT INTO runs ({rows.RUN_COLUMNS}) VALUES ({RUN_PLACES}) RETURNING number"  # noqa: S608 (texts of this package)
_BEGIN_AS = f"INSERT INTO runs (number, {rows.RUN_COLUMNS}) VALUES (?, {RUN_PLACES})"  # noqa: S608
_LAST_RUN = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0)"
_SOURCES = rows.RUN_COLUMNS.split(", ").index("sources")
_ALL_OF_RUN = rows.RUN_COLUMNS.replace("outputs", OUTPUTS)
_RUNS = (
    f"SELECT {_ALL_OF_RUN}, (SELECT bodies.body FROM uses JOIN bodies ON bodies.number = uses.body"  # noqa: S608
    f" WHERE run = runs.number AND part = '{WORKFLOW}'), '' AS author FROM runs"
)
_DEFINITIONS_OF = """
SELECT 1 AS age, '' AS part, body FROM runs JOIN definitions ON run = number WHERE id = :run
UNION ALL SELECT 2, part, bodies.body FROM runs JOIN uses ON run = runs.number JOIN bodies ON bodies.number = uses.body
WHERE id = :run AND part LIKE :part ORDER BY age
"""
_TIMES = f"""
SELECT number, started, seconds,
    json_valid(usage) AND json_valid(request) AND json_valid(result) AND request LIKE '{{%' AND result LIKE '{{%'
FROM {CALLS} WHERE run = ? ORDER BY number
"""  # noqa: S608 (texts of this package)
_OTHERS = f"SELECT 1 FROM {CALLS} WHERE run = ? AND kind = 'model' AND endpoint <> ? LIMIT 1"  # noqa: S608
_REMEDY = "To remove the run, use: merrow runs --delete {}"


def _what(told: Told) -> tuple[object, ...]:
    """Identifies a report so that it counts once: a resumed run reports everything again."""
    if isinstance(told, NodeRecord):
        return (told.visit,)
    if isinstance(told, LoopRecord):
        return told.path, told.composite
    return told.event.endswith("_started"), told.path, told.composite, told.which


class RunExists(UsageFailure):
    """There is a run with this id already."""


class Store:
    """One connection to a journal. It belongs to the thread (and event loop) that opened it."""

    def __init__(
        self,
        writer: Writer,
        path: Path | None = None,
        ballast: Path | None = None,
        answers: Store | None = None,
    ) -> None:
        """Use `Store.open` or `MemoryStore`."""
        self.path = path
        self._database = writer.database
        self._ballast = ballast
        self._writer = writer
        self._opening: lease.Holder | None = None
        self._is_alone = False
        self._last_run: int | None = None
        self.cache: Cache = Cache(self._writer) if answers is None else answers.cache
        self.evaluations = Evaluations(self._writer)
        self.batches = Batches(self._writer)
        self.optimizations = Optimizations(self._writer)
        self.extractions = Extractions(self._writer)
        self.jobs: Mapping[str, Jobs] = {kind: Jobs(self._writer, kind) for kind in JOBS}
        self.labels = Labels(self._writer)
        self.rankings = Rankings(self._writer)
        self.listing = JobListing(self._writer)
        self.dialects: DialectTable = DialectTable(self._writer) if answers is None else answers.dialects

    def gathering(self) -> contextlib.AbstractContextManager[None]:
        """See `merrow_runtime.store.writer.Writer.gathering`."""
        return self._writer.gathering()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        answers: Store | None = None,
        alone: bool = False,
        spread: bool = False,
        spare: bool = True,
        reading: bool = False,
    ) -> Store:
        """Open the journal at ``path``, made when it isn't there, for the user alone. None is the user's own: the database that
        `merrow_runtime.store.address.configured` names, else `FILE` in the state folder.

        ``answers`` is the store that has its answers and what is learned of endpoints, the user's own for a journal of an
        evaluation or a search; the caller closes it, after this one. No run is pruned while a journal is open like this.
        None: they are in the same file. ``alone`` with ``answers`` refuses a journal that another process has open like this,
        but for workers where it is ``spread``; without it, this is a worker. ``spare`` reserves space for a full disk, which
        readers don't need; in a journal with ``answers`` it is released at the end.
        ``reading``, of a caller that only reads, also opens a journal that can't be written, on a read-only file system or a full
        disk. Raises `StoreFailure`.
        """
        if path is None and (address := configured()) is not None:
            reached: Store = shared("store.postgres.shared_store", "SharedStore").reached(address, reading=reading)
            return reached
        path = state_folder() / FILE if path is None else Path(path)
        if reading:
            database = connect_for_reading(path)
        else:
            private_file(path)
            database = connect(str(path))
        ballast = path.with_name(path.name + ".ballast") if spare and not reading else None
        if ballast is not None:
            _set_aside(ballast)
        store = cls(Writer(database, ballast, None if answers is None else answers._writer), path, ballast, answers)
        if answers is not None:
            store._note_opening(alone=alone, spread=spread)
            store._is_alone = alone and not spread
        return store

    def _note_opening(self, *, alone: bool, spread: bool) -> None:
        """Record that this process has the journal, which is one of its own, open. Raises `StoreFailure`, and closes it."""
        opening = lease.Holder.here() if alone else lease.Holder.worker()
        try:
            self._writer.now(partial(lease.note_opening, holder=opening, alone=alone, spread=spread))
        except StoreFailure:
            self.close()
            raise
        self._opening = opening

    @property
    def place(self) -> str:
        """Where the journal is, for a person."""
        return "in memory" if self.path is None else str(self.path)

    def journal_id(self) -> str:
        """A text that is the same for all who have this very journal open."""
        if self.path is None:
            return ""
        file = self.path.stat()
        return f"{self.path.resolve()} {file.st_dev}:{file.st_ino}"

    def journal_path(self, identity: str) -> Path:
        """The file with the runs of a job."""
        assert self.path is not None  # noqa: S101 (the user's store is a file)
        return self.path.parent / JOBS_FOLDER / f"{identity}.sqlite"

    def of_job(self, identity: str, *, alone: bool = False, spread: bool = False, reading: bool = False) -> Store:
        """The journal with the runs of a job of this store; ``alone`` refuses one that another process works on, but for
        workers where the work is ``spread``; without it, this process is a worker. ``reading`` is for a caller that only
        reads. The caller closes it, before this one. Raises `StoreFailure`.
        """
        path = self.journal_path(identity)
        return (
            Store.open(path, reading=True)
            if reading
            else Store.open(path, answers=self, alone=alone, spread=spread, spare=alone)
        )

    @contextlib.contextmanager
    def looking_into(self, identity: str) -> Iterator[Store | None]:
        """The journal with the runs of a job, to be read; None where there is none. Raises `StoreFailure`."""
        if not self.journal_path(identity).exists():
            yield None
            return
        with contextlib.closing(self.of_job(identity, reading=True)) as own:
            yield own

    def remove_journal(self, identity: str) -> None:
        """Remove the journal with the runs of a job, which no process works on."""
        path = self.journal_path(identity)
        for suffix in ("", "-wal", "-shm", ".ballast"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)

    @property
    def refused(self) -> StoreFailure | None:
        """Why the journal is open for reading alone; None where it can be written."""
        return self._database.refused

    @property
    def is_open_elsewhere(self) -> bool:
        """Whether a living process has the journal open as one of its own. Raises `StoreFailure`."""
        return lease.opened_by(self._database) is not None

    async def off_loop(self, work: Callable[[Self], T]) -> T:
        """What ``work`` gives, which reads or changes runs of the same journal; see `Writer.off_loop`."""
        return await self._writer.off_loop(lambda writer: work(self._by(writer)))

    def _by(self, writer: Writer) -> Self:
        if writer is self._writer:
            return self
        other = copy(self)
        other._writer, other._database = writer, writer.database
        return other

    async def until_there(self) -> None:
        """See `merrow_runtime.store.writer.Writer.until_there`."""
        await self._writer.until_there()

    async def beat(self) -> bool:
        """Show that this process works on the journal, which is one of its own; False where another one took it since it gave no
        sign of life. Raises `StoreFailure`.
        """
        assert self._opening is not None  # noqa: S101 (it was opened with answers)
        sign = partial(lease.show_life, token=self._opening.token)
        return bool(await self._writer.off_loop(lambda writer: writer.attempt(sign)))

    def begin(self, run: RunRecord) -> DatabaseJournal:
        """Put a new run into the journal and take it. Raises `StoreFailure`, `UsageFailure` if its id is taken."""
        workflow = rows.workflow_text(run)
        if self._is_alone:
            return self._begin_alone(run, workflow)
        holder = lease.Holder.here()

        def work(database: Database) -> int:
            _refuse_taken(database, run.id)
            number: int = database.execute(_BEGIN, rows.run_values(run)).fetchone()[0]
            for sql, values in () if workflow is None else sharing(number, WORKFLOW, workflow):
                database.execute(sql, values)
            lease.take(database, run.id, holder)
            return number

        number: int = self._writer.now(work)
        return self._journal(run.id, number, holder, is_new=True)

    async def begin_off_loop(self, run: RunRecord) -> DatabaseJournal:
        """The same, while the event loop goes on; see `Writer.off_loop`."""
        return self.begin(run)

    def _journal(self, run: str, number: int, holder: lease.Holder | None, *, is_new: bool = False) -> DatabaseJournal:
        given = self._writer, run, number, holder, self.cache.writer
        return DatabaseJournal(*given, is_new=is_new, is_of_job=self._opening is not None)

    def _begin_alone(self, run: RunRecord, workflow: str | None) -> DatabaseJournal:
        """The same in a journal that only this process uses: no run in it needs a lease, and the numbers of runs are known here,
        so a run is put in with the next commit, together with anything else.
        """
        _refuse_taken(self._database, run.id)
        if self._last_run is None:
            self._last_run = self._database.execute(_LAST_RUN).fetchone()[0]
        self._last_run += 1
        number = self._last_run
        self._writer.write_first((_BEGIN_AS, (number, *rows.run_values(run))))
        for statement in () if workflow is None else sharing(number, WORKFLOW, workflow):
            self._writer.write_later(statement)
        return self._journal(run.id, number, None, is_new=True)

    def take(self, run: str) -> tuple[RunRecord, DatabaseJournal]:
        """Take a run that started earlier, to continue it. Raises `StoreFailure` if a living process has it, `UsageFailure` if
        there is none with this id.
        """
        record = self.run(run)
        holder = None if self._is_alone else lease.Holder.here()

        def work(database: Database) -> int:
            if holder is not None:
                lease.take(database, record.id, holder)
            else:
                database.execute("DELETE FROM holders WHERE run = ?", (record.id,))
            database.execute(
                "UPDATE runs SET status = 'running', ended = NULL, error = NULL, failure = NULL WHERE id = ?",
                (record.id,),
            )
            number: int = database.execute("SELECT number FROM runs WHERE id = ?", (record.id,)).fetchone()[0]
            return number

        number: int = self._writer.now(work)
        return record, self._journal(record.id, number, holder)

    def has_run_like(self, run: str) -> bool:
        """Whether there is a run whose id is this or begins with it. Raises `StoreFailure`."""
        return bool(run and self._rows("SELECT 1 FROM runs WHERE substr(id, 1, ?) = ? LIMIT 1", (len(run), run)))

    def identity(self, run: str) -> str:
        """The id of the run with this id, else of the only one whose id begins with it. Raises `UsageFailure`, `StoreFailure`."""
        if self._rows("SELECT 1 FROM runs WHERE id = ?", (run,)):
            return run
        pattern = run.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        identities: list[str] = [
            row[0]
            for row in self._rows(
                "SELECT id FROM runs WHERE id LIKE ? ESCAPE '\\' ORDER BY started DESC LIMIT 3", (pattern,)
            )
        ]
        if not identities or not run:
            raise UsageFailure(f"There is no run {run!r} in the journal; list them with: merrow runs")
        if len(identities) == 1:
            return identities[0]
        raise UsageFailure(
            f"Several runs begin with {run!r}; give more of the id: {identities[0]}, {identities[1]}, ..."
        )

    def run(self, run: str) -> RunRecord:
        """The run with this id, or with the only id that begins with it. Raises `UsageFailure`; `StoreFailure`, also where its
        record is damaged.
        """
        identity = self.identity(run)
        runs = self._rows(f"{_RUNS} WHERE id = ?", (identity,))
        try:
            return self._shown(rows.run_of(runs[0]), runs[0])
        except (rows.Damaged, IndexError):  # an index may name what its table does not have
            raise StoreFailure(damaged_run(identity)) from None

    def list_only_mine(self) -> None:
        """List from here on only what this user has begun; that is all there is where nobody shares the journal."""

    @property
    def run_count(self) -> int:
        """How many runs there are. Raises `StoreFailure`."""
        return int(self._rows("SELECT count(*) FROM runs", ())[0][0])

    @property
    def size(self) -> int:
        """Bytes that the journal takes. Raises `StoreFailure`."""
        return self._database.size()

    @property
    def has_runs(self) -> bool:
        """Whether there are any runs."""
        return bool(self._rows("SELECT 1 FROM runs LIMIT 1", ()))

    def inputs(self, runs: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The inputs of runs, by their ids; a damaged record is left out. Raises `StoreFailure`."""
        sql = f"SELECT id, json_extract(snapshot, '$.inputs') FROM runs WHERE json_valid(snapshot) AND id IN ({PLACES})"  # noqa: S608
        given: dict[str, dict[str, Any]] = {}
        for several in in_parts(runs):
            for run, written in self._rows(sql, tuple(several)):
                inputs = None if written is None else json.loads(written)
                if isinstance(inputs, dict):
                    given[run] = inputs
        return given

    def tasks_changed(self) -> dict[str, int | None]:
        """For each run how many of the tasks that it began with its revisions have changed, None where none was applied. Raises
        `StoreFailure`.
        """
        found: dict[str, int | None] = dict.fromkeys((run for (run,) in self._rows("SELECT id FROM runs", ())), None)
        sql = (
            "SELECT id, json_array_length(adopted, '$.tasks.changed') FROM revisions JOIN runs ON runs.number = run"
            " WHERE state = 'applied' AND json_valid(adopted) ORDER BY revisions.number"
        )
        found.update({run: changed for run, changed in self._rows(sql, ()) if changed is not None})
        return found

    def tools_used(self, of_runs: int = 200) -> dict[str, float]:
        """When tools were last called, by their names in workflows, in seconds since 1970: those that the newest runs called.
        Raises `StoreFailure`.
        """
        where, values = self._writer.shown("workflow", None)
        sql = (
            "SELECT json_extract(request, '$.tool') AS tool, max(calls.started) FROM calls WHERE kind = 'tool'"  # noqa: S608
            f" AND json_valid(request) AND run IN (SELECT number FROM runs {where} ORDER BY started DESC, id LIMIT ?)"
            " GROUP BY tool"
        )
        # PostgreSQL gives a text in JSON in its quotes.
        return {tool.strip('"'): started for tool, started in self._rows(sql, (*values, of_runs)) if tool}

    def status(self, run: str) -> RunStatus | None:
        """How the run with exactly this id ended, as far as recorded; None if there is none. Raises `StoreFailure`."""
        statuses = self._rows("SELECT status FROM runs WHERE id = ?", (run,))
        return statuses[0][0] if statuses else None

    def statuses(self, runs: Sequence[str]) -> dict[str, RunStatus]:
        """How the runs with exactly these ids ended, of those that are there. Raises `StoreFailure`."""
        sql = f"SELECT id, status FROM runs WHERE id IN ({PLACES})"  # noqa: S608 (places for values)
        return {run: status for several in in_parts(runs) for run, status in self._rows(sql, tuple(several))}

    def runs(self, limit: int = 50, workflow: str | None = None, report: Report = ignored) -> list[RunRecord]:
        """The newest runs, newest first, of one workflow where given. A damaged record is left out, and ``report`` called
        with a sentence about it. Raises `StoreFailure`.
        """
        where, values = self._writer.shown("workflow", workflow)
        runs = self._rows(f"{_RUNS} {where} ORDER BY started DESC, id LIMIT ?", (*values, limit))
        shown: list[RunRecord] = []
        for row in runs:
            try:
                shown.append(self._shown(rows.run_of(row), row))
            except rows.Damaged:
                report(damaged_run(row[0]))
        return shown

    def last_seen(self, run: str | None = None) -> float | None:
        """When a run (None: any run of this journal) was last known to be worked on, in seconds since 1970: its end, or the last
        heartbeat of the process that worked on it, or its beginning. None where there is none. Raises `StoreFailure`.
        """
        sql = (
            "SELECT max(coalesce(runs.ended, holders.beat, runs.started))"
            " FROM runs LEFT JOIN holders ON holders.run = runs.id"
        )
        times = self._rows(sql, ()) if run is None else self._rows(f"{sql} WHERE runs.id = ?", (run,))
        seen: float | None = times[0][0]
        return seen

    def nodes(self, run: str, report: Report = ignored) -> list[NodeRecord]:
        """How the nodes of a run ended, in that order; damaged records as in `runs`. Raises `StoreFailure`."""
        return self.ended(run, report)[0]

    def ended(self, run: str, report: Report = ignored) -> tuple[list[NodeRecord], list[LoopRecord]]:
        """How the nodes and the Loops of a run ended, each in that order, as `nodes` has them."""
        # A node that was resumed, or failed and continued, occurs more than once: the last record counts.
        told = self._told(run, report)
        ended = {node.visit: node for node in told if isinstance(node, NodeRecord)}
        loops = {loop.place: loop for loop in told if isinstance(loop, LoopRecord)}
        return sorted(ended.values(), key=lambda node: node.ended), sorted(loops.values(), key=lambda loop: loop.number)

    def told(self, run: str, report: Report = ignored) -> list[Told]:
        """The same as it was reported, in that order, with turns and items: a node that failed and continued with its default is
        there twice.
        """
        all_told = self._told(run, report)
        last = {_what(record): place for place, record in enumerate(all_told)}
        told = set(last.values())
        for place, (before, node) in enumerate(pairwise(all_told)):
            if place + 1 not in told or not isinstance(before, NodeRecord) or not isinstance(node, NodeRecord):
                continue
            went_on = before.failed is not None and before.failed.on_error != "fail"
            if went_on and before.visit == node.visit and before.number == node.number - 1:
                told.add(place)
        return [all_told[place] for place in sorted(told)]

    def _told(self, run: str, report: Report) -> list[Told]:
        """Everything that was reported about a run, in the order it was written."""
        definitions: dict[str, Any] = {}
        revised: dict[int, dict[str, Any]] = {}
        for _, part, body in self._rows(_DEFINITIONS_OF, {"run": run, "part": f"{DEFINITIONS}%"}):
            frame = part.removeprefix(DEFINITIONS).strip()
            try:
                if frame.startswith("!"):
                    revised[int(frame[1:])] = rows.definitions_of(body)
                    continue
                definitions |= {
                    rows.definition_name(frame, node): definition
                    for node, definition in rows.definitions_of(body).items()
                }
            except rows.Damaged:
                report(f"The definitions of the nodes of run {run} are damaged in the journal. {_REMEDY.format(run)}")
        by_revision = {0: definitions} | {number: {**definitions, **own} for number, own in revised.items()}
        told: list[Told] = []
        results = rows.PastResults()
        for (several,) in self._of_run(f"SELECT several FROM {NODES} WHERE run = ? ORDER BY number", run):  # noqa: S608
            try:
                told += rows.told_of(several, by_revision, results)
            except rows.Damaged:
                report(f"Results of some nodes of run {run} are damaged in the journal. {_REMEDY.format(run)}")
        if results.missing:
            first, *others = results.missing
            named = f"{first} and {len(others):,} more" if others else first
            report(
                f"Nodes of run {run} remember results that are missing in the journal: {named}. {_REMEDY.format(run)}"
            )
        if any(isinstance(node, NodeRecord) and rows.UNKNOWN in node.sources for node in told):
            # An older version did not record what answered: it is known only if no model was asked.
            asked = {call.key.visit for call in self.calls(run) if call.kind == "model"}
            told = [
                replace(node, sources=())
                if isinstance(node, NodeRecord) and node.status == "finished" and node.visit not in asked
                else node
                for node in told
            ]
        return told

    def revisions(self, run: str) -> list[RevisionRecord]:
        """The revisions of a run, in the order of their numbers. Raises `StoreFailure`."""
        (number,) = self._rows("SELECT number FROM runs WHERE id = ?", (run,))[0]
        return revisions.read(self._database, number)

    def executions(self, run: str, report: Report = ignored) -> list[NodeRecord]:
        """All that visits of a run have finished, in that order: of a visit that was something else before a revision both.
        Damaged records as in `runs`. Raises `StoreFailure`.
        """
        told = [record for record in self._told(run, report) if isinstance(record, NodeRecord)]
        return [record for record in told if record.key is not None and record.outputs is not None]

    def add_revision(
        self, run: str, made: Callable[[int], RevisionRecord], unneeded: Sequence[AskRecord] = ()
    ) -> RevisionRecord:
        """Put a revision of a run into the journal: ``made`` gives it for its number. The same commit closes the questions that
        are ``unneeded`` then, unless a process works on the run. Raises `StoreFailure`.
        """
        asked: RevisionRecord = self._writer.now(lambda database: revisions.add(database, run, made, unneeded))
        return asked

    def decide_revision(self, run: str, number: int, *, apply: bool) -> bool:
        """Accept or decline a waiting revision of a run; False if it is not waiting. Raises `StoreFailure`."""
        state: RevisionState = "agreed" if apply else "declined"
        decided: bool = self._writer.now(lambda database: revisions.decide(database, run, number, state))
        return decided

    def asks(self, run: str) -> list[AskRecord]:
        """The questions of the run with exactly this id to people, in the order in which they were put. Raises `StoreFailure`."""
        self._writer.flush()
        return asks.of(self._database, run)

    def check_asks(self, report: Report) -> None:
        """Call ``report`` with a sentence about each question to people that is damaged. Raises `StoreFailure`."""
        self._writer.flush()
        for run, visit, wrong in asks.damaged(self._database):
            report(f"The question of {visit} in run {run} {wrong}. {_REMEDY.format(run)}")
        for visit in self._stray_asks():
            report(f"A question of {visit} is of a run that is not in the journal; merrow journal copy leaves it out.")

    def _stray_asks(self) -> list[str]:
        return asks.strays(self._database)

    def now(self) -> float:
        """Seconds since 1970 by the clock that all who use the journal go by. Raises `StoreFailure`."""
        return self._database.now()

    def waiting(self, limit: int = 1_000_000, workflow: str | None = None) -> list[WaitingRun]:
        """The runs that wait for people, the newest first, of one workflow where given. Raises `StoreFailure`."""
        where, values = self._writer.shown("workflow", workflow)
        self._writer.flush()
        return asks.waiting(self._database, where.replace("WHERE", "AND", 1), values, limit)

    def ready(self) -> list[str]:
        """The ids of the waiting runs that a resume would take further, the oldest first: a question has its answer, or its
        deadline has passed. Raises `StoreFailure`.
        """
        self._writer.flush()
        return asks.ready(self._database)

    def answer(self, ask: AskRecord, content: Mapping[str, Any] | None, by: str) -> tuple[bool, AskRecord]:
        """Answer a question, or decline to (None), if nobody has before and its time is not up; whether that was so, and how it
        stands then. Raises `StoreFailure`, `UsageFailure` where the run was deleted.
        """

        def work(database: Database) -> tuple[bool, AskRecord | None]:
            is_first = asks.answer(database, ask, content, by)
            return is_first, asks.one(database, ask.number)

        is_first, answered = self._writer.now(work)
        if answered is None:
            raise UsageFailure("The run of this question was deleted from the journal.")
        return is_first, answered

    def is_worked_on(self, run: str) -> bool:
        """Whether a living process works on the run with exactly this id. Raises `StoreFailure`."""
        return lease.is_held(self._database, run)

    def calls(self, run: str, node: str | None = None, report: Report = ignored) -> list[CallRecord]:
        """The calls of a run, or of one visit by its name, in the order they finished; damaged records as in `runs`. Raises
        `StoreFailure`.
        """
        where, values = ("", ()) if node is None else ("AND (node = ? OR path <> '' OR redo <> 0)", (node,))
        fetched = self._of_run(
            f"SELECT {rows.CALL_COLUMNS} FROM {CALLS} WHERE run = ? {where} ORDER BY number",  # noqa: S608
            run,
            *values,
        )
        calls: list[CallRecord] = []
        for row in fetched:
            place = Visit(row[0], row[4], row[5]).name
            if node not in (None, place):
                continue
            try:
                calls.append(rows.call_of(row))
            except rows.Damaged:
                report(_damaged_call(place, run))
        return calls

    def times(self, run: str, report: Report = ignored) -> list[tuple[float, float]]:
        """When each call of a run started and how many seconds it took; damaged records as in `runs`. Raises `StoreFailure`."""
        times: list[tuple[float, float]] = []
        for number, started, seconds, sound in self._of_run(_TIMES, run):
            if not sound:
                # What SQLite doesn't take for JSON may be some all the same.
                (row,) = self._of_run(
                    f"SELECT {rows.CALL_COLUMNS} FROM {CALLS} WHERE run = ? AND number = ?",  # noqa: S608
                    run,
                    number,
                )
                try:
                    rows.call_of(row)
                except rows.Damaged:
                    report(_damaged_call(Visit(row[0], row[4], row[5]).name, run))
                    continue
            times.append((float(started), float(seconds)))
        return times

    def answered_by_others(self, run: str, endpoint: str) -> list[tuple[str, str]]:
        """The nodes of a run with answers from another endpoint and none from this one, each with that endpoint.

        Raises `StoreFailure`.
        """
        if not self._of_run(_OTHERS, run, endpoint):
            return []
        given: dict[tuple[Any, ...], dict[str, None]] = {}
        for *key, by in self._of_run(
            f"SELECT node, path, redo, sample, step, attempt, request_hash, endpoint FROM {CALLS} WHERE run = ?"  # noqa: S608
            " AND kind = 'model' ORDER BY number",
            run,
        ):
            given.setdefault(tuple(key), {})[by] = None
        others = [
            (Visit(*key[:3]).name, by) for key, all_by in given.items() if endpoint not in all_by for by in all_by
        ]
        return list(dict.fromkeys(others))

    def interrupted_calls(self) -> int:
        """How many calls of all runs that no process works on were on their way when a process was killed.

        Raises `StoreFailure`.
        """
        counts = self._rows(
            "SELECT id, count(*) FROM lost JOIN runs ON runs.number = run WHERE why = ? GROUP BY id", (SENT,)
        )
        return sum(count for run, count in counts if not self.is_worked_on(run))

    def lost(self, run: str) -> list[tuple[str, str, str]]:
        """Calls without a result: node (or visit), step and why; `SENT` of one that may still be on its way. Raises
        `StoreFailure`.
        """
        lost = self._of_run("SELECT node, path, redo, step, why FROM lost WHERE run = ? ORDER BY number", run)
        return [(Visit(*visit).name, step, why) for *visit, step, why in lost]

    def request_cancel(self, run: str) -> bool:
        """Ask the process that works on a run to end it; False if there is none. Raises `StoreFailure`, `UsageFailure`."""
        identity = self.identity(run)

        def work(database: Database) -> bool:
            if not lease.is_held(database, identity):
                ended = database.execute(
                    "UPDATE runs SET status = 'cancelled' WHERE id = ? AND status IN ('running', 'waiting')",
                    (identity,),
                )
                if ended.rowcount:
                    number = database.execute("SELECT number FROM runs WHERE id = ?", (identity,)).fetchone()[0]
                    database.execute(*asks.withdrawing(number))
                return False
            database.execute("UPDATE holders SET cancel = 1 WHERE run = ?", (identity,))
            return True

        asked: bool = self._writer.now(work)
        return asked

    def delete(self, run: str) -> None:
        """Delete a run with all its calls from the journal. Raises `StoreFailure` while a process works on it."""
        identity = self.identity(run)

        def work(database: Database) -> None:
            if not self._is_alone and lease.is_held(database, identity):
                raise StoreFailure(f"Run {identity} is still going on; stop it first with: merrow cancel {identity}")
            database.execute("DELETE FROM runs WHERE id = ?", (identity,))

        self._writer.now(work)

    def prune(self, older_than_s: float | None, max_bytes: int | None) -> Pruned:
        """Delete old runs and answers, see `merrow_runtime.store.pruning`. Raises `StoreFailure`."""
        self._writer.flush()
        return prune(self._database, older_than_s, max_bytes)

    def tidy(self, older_than_s: float | None, max_bytes: int | None) -> None:
        """The same in small steps, cheap enough for the start of every run. Raises `StoreFailure`."""
        tidy(self._database, older_than_s, max_bytes)

    def close(self) -> None:
        """Write pending data and close the file."""
        self._writer.flush()
        if self._opening is not None:
            token = self._opening.token
            with contextlib.suppress(StoreFailure):  # If this fails, the entry is removed once this process is gone.
                self._database.transaction(
                    lambda database: database.execute("DELETE FROM openings WHERE token = ?", (token,)),
                )
            if self._ballast is not None:
                with contextlib.suppress(OSError):
                    self._ballast.unlink(missing_ok=True)
        self._writer.close()

    def _shown(self, run: RunRecord, row: Sequence[Any]) -> RunRecord:
        """The current state of a run. The usage of an unfinished run is counted from its calls. If no living process works on a
        run, it isn't running, whatever its ``row`` says: its process died.
        """
        if run.ended is None and run.status != "waiting":
            usage, sources = self._counted(run.id)
            run = replace(run, usage=usage, sources=sources)
        elif row[_SOURCES] is None:
            run = replace(run, sources=self._counted(run.id)[1])
        if run.status != "running":
            return run
        held = lease.is_held(self._database, run.id)
        if held:
            return run
        error = "Its process ended before the run did; resume it."
        return replace(run, status="failed", error=error, failure=RunFailed("interrupted"))

    def _counted(self, run: str) -> tuple[Usage, tuple[Provenance, ...]]:
        """What the calls of a run have used, and what answered them."""
        spent = NOTHING
        sources: dict[Provenance, None] = {}
        for kind, origin, usage, endpoint, model in self._of_run(
            f"SELECT kind, origin, usage, endpoint, model FROM {CALLS} WHERE run = ? ORDER BY number",  # noqa: S608
            run,
        ):
            if origin == "endpoint":
                spent += rows.usage_or_unknown(usage)
            if kind in ("model", "person") or (kind == "fact" and endpoint):
                sources[Provenance(endpoint, model)] = None
        for (usage,) in self._of_run("SELECT usage FROM lost WHERE run = ?", run):
            spent += rows.usage_or_unknown(usage)
        return spent, tuple(sources)

    def _of_run(self, sql: str, run: str, *values: Any) -> list[Any]:
        """The rows of a query for the number of a run. That is found first: told to find it in the query itself, SQLite would
        unpack all runs of an evaluation to look for one.
        """
        numbers = self._rows("SELECT number FROM runs WHERE id = ?", (run,))
        return self._rows(sql, (numbers[0][0], *values)) if numbers else []

    def _rows(self, sql: str, values: tuple[Any, ...] | Mapping[str, Any]) -> list[Any]:
        self._writer.flush()
        fetched: list[Any] = self._database.execute(sql, values).fetchall()
        return fetched


def _refuse_taken(database: Database, run: str) -> None:
    if database.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone() is not None:
        raise is_taken(run)


def is_taken(run: str) -> RunExists:
    """That there is a run of this name."""
    return RunExists(f"There is a run {run} already; choose another name, or continue it: merrow resume {run}")


def damaged_run(run: str) -> str:
    """The sentence about a run whose record can't be read."""
    return f"The record of run {run} is damaged in the journal. {_REMEDY.format(run)}"


def _damaged_call(visit: str, run: str) -> str:
    return f"A call of node {visit} in run {run} is damaged in the journal. {_REMEDY.format(run)}"


def _set_aside(ballast: Path) -> None:
    """Real bytes, not a sparse file, that are freed when the disk is full."""
    with contextlib.suppress(OSError):
        if ballast.exists() and ballast.stat().st_size == BALLAST:
            return
        with ballast.open("wb") as file:
            file.write(os.urandom(1 << 16) * (BALLAST >> 16))
