"""How a run is shown while it goes on: a table that moves on a terminal, plain lines elsewhere, events for machines."""

from __future__ import annotations

import asyncio
import json
import queue
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from merrow_runtime.events import LAST
from merrow_runtime.provenance import PERSON_ORIGIN
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.cli.minutes import minutes
from merrow_server.cli.waiting import waiting_text
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import console, echo, emit, style
from merrow_server.reports.run_report import attempt_text, choice_text, cost_text, judged_text
from merrow_server.times import Pace, duration

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

    from merrow_runtime.events import Event
    from merrow_runtime.running.run import Run

_SHORT = 60
_AHEAD = 100
"""Events that wait to be written at most; more stay with the run until there is room."""
_WAIT = 0.02
"""Seconds between looks at whether there is room."""
_FRAMES = 8
"""Loops and Maps that are shown at once, the newest."""
_STATES = {
    "node_started": "[cyan]runs[/]",
    "node_retrying": "[yellow]tries again[/]",
    "node_judged": "[yellow]is judged[/]",
    "node_asked": "[cyan]asks a person[/]",
    "node_finished": "[green]finished[/]",
    "node_reused": "[blue]reused[/]",
    "node_skipped": "[dim]skipped[/]",
    "node_failed": "[red]failed[/]",
}
_QUEUED = "[dim]queued[/]"
_AGAIN = frozenset({"node_retrying", "node_judged", "node_asked"})
"""Events of a node that goes on."""
_ENDS = frozenset({"node_finished", "node_reused", "node_skipped", "node_failed"})
_NAMED = 3
"""Nodes, Loops and Maps that a line a minute names."""


class Display(Protocol):
    """Shows the events of one run."""

    def __enter__(self) -> Display: ...

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def show(self, event: Event) -> None: ...


def display_for(run: Run, *, as_json: bool, verbose: bool) -> Display:
    """The display that suits who reads."""
    if as_json:
        return JsonLines()
    if sys.stderr.isatty() and not verbose:
        return LiveTable(run)
    return StepLines(verbose=verbose)


class _Writing:
    """A thread that writes what it is given, in order: who reads slowly, or not at all, doesn't hold the run up.

    What can't be written yet stays with the run, beyond `_AHEAD` pieces; the end waits until all is written.
    """

    def __init__(self) -> None:
        self._pieces: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._problem: OSError | None = None
        self._thread = threading.Thread(target=self._write, name="merrow-events", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self, *, well: bool) -> None:
        """Wait until all is written. Raises the `OSError` that kept it from that where all else went ``well``."""
        self._pieces.put(None)
        self._thread.join()
        if well:
            self._check()

    async def room(self) -> None:
        """Wait until more may be written. Raises `OSError` where that can't be: whoever read it has gone."""
        while self._pieces.qsize() > _AHEAD and self._problem is None:
            await asyncio.sleep(_WAIT)
        self._check()

    async def drained(self) -> None:
        """Wait until all is written. Unlike `end`, this lets signals end the process while nobody reads."""
        self._pieces.put(None)
        while self._thread.is_alive():
            await asyncio.sleep(_WAIT)

    def put(self, piece: Callable[[], None]) -> None:
        """``piece`` writes something when it is called."""
        self._pieces.put(piece)

    def _check(self) -> None:
        if self._problem is not None:
            raise self._problem

    def _write(self) -> None:
        try:
            while (piece := self._pieces.get()) is not None:
                piece()
        except OSError as problem:
            self._problem = problem


class JsonLines:
    """An event a line on standard output, each as it happens."""

    def __init__(self) -> None:
        self._writing = _Writing()
        self._standing = _RunStanding()
        self._minutes = minutes(self._standing.text, self._tell)

    def __enter__(self) -> JsonLines:
        self._writing.begin()
        self._minutes.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._minutes.__exit__(None, None, None)
        self._writing.end(well=kind is None)

    def _tell(self, line: str) -> None:
        self._writing.put(partial(echo, line, err=True))

    async def show(self, event: Event) -> None:
        self._standing.add(event)
        await self._writing.room()
        self._writing.put(partial(emit, json.dumps(event.to_json())))
        if event.event in LAST:
            await self._writing.drained()


class _RunStanding:
    """How far a run is: how many of its nodes have ended, which run, and where its Loops and Maps are."""

    def __init__(self) -> None:
        self._nodes = 0
        self._ended: set[str] = set()
        self._running: dict[str, None] = {}
        self._frames: dict[str, str] = {}
        self._items: dict[str, int] = {}
        self._paces: dict[str, Pace] = {}

    def add(self, event: Event) -> None:
        """Something has happened."""
        who = _who(event)
        if event.event == "run_started":
            self._nodes = int(event.data.get("nodes", 0))
        elif event.event == "node_started":
            self._running[who] = None
        elif event.event in _ENDS:
            self._running.pop(who, None)
            if not event.path:
                self._ended.add(who)
        elif event.node is not None and event.event != "node_output":
            _note_frame(event, self._frames, self._items)
            if event.event == "item_started":
                self._paces.setdefault(who, Pace())
            elif event.event in ("item_finished", "item_failed") and who in self._paces:
                self._frames[who] += f", {self._paces[who].left(self._items[who], event.data['of'])}"

    def text(self) -> str:
        """In one line."""
        done, running = len(self._ended), list(self._running)
        parts = [f"{done:,} of {counted(self._nodes, 'node')} ended"]
        if running:
            more = f" and {len(running) - _NAMED:,} more" if len(running) > _NAMED else ""
            parts.append(f"waits for {', '.join(running[:_NAMED])}{more}")
        parts += [f"{name}: {text}" for name, text in list(self._frames.items())[-_NAMED:]]
        return ", ".join(parts)


class StepLines:
    """A line a step on standard error."""

    def __init__(self, *, verbose: bool) -> None:
        self._writing = _Writing()
        self._verbose = verbose
        self._open: str | None = None
        self._begun: set[str] = set()
        self._standing = _RunStanding()
        self._minutes = minutes(self._standing.text, self._tell)

    def __enter__(self) -> StepLines:
        self._writing.begin()
        self._minutes.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._minutes.__exit__(None, None, None)
        self._end_of_text()
        self._writing.end(well=kind is None)

    async def show(self, event: Event) -> None:
        self._standing.add(event)
        await self._writing.room()
        if event.event == "node_output":
            if self._verbose:
                self._text(_who(event), str(event.data.get("text", "")))
            return
        for notice in _notices(event):
            self._put(f"{style('Note:', fg='yellow')} {notice}")
        line = _line(event, self._begun)
        if line is not None:
            self._tell(line)
        if event.event in LAST:
            await self._writing.drained()

    def _tell(self, line: str) -> None:
        self._end_of_text()
        self._put(line)

    def _text(self, node: str, text: str) -> None:
        if self._open != node:
            self._end_of_text()
            self._put(style(f"{node}:", fg="cyan"))
            self._open = node
        self._put(text, nl=False)

    def _end_of_text(self) -> None:
        if self._open is not None:
            self._put()
            self._open = None

    def _put(self, text: str = "", *, nl: bool = True) -> None:
        self._writing.put(partial(echo, text, nl=nl, err=True))


def _notices(event: Event) -> list[str]:
    """What the user should know of a run that begins, of its endpoint, its key, its recording, or of a question."""
    tells = event.event in ("run_started", "node_asked")
    return [visible(str(notice)) for notice in event.data.get("notices", ())] if tells else []


def _line(event: Event, begun: set[str]) -> str | None:
    """A line on an event; ``begun`` are the visits that were said to begin: their ends are told, however short they took."""
    data = event.data
    match event.event:
        case "node_started":
            if data.get("operator") in ("Interface", "Decision"):
                return None
            begun.add(_who(event))
            return f"{_who(event)} begins"
        case "node_finished" | "node_reused":
            if event.event == "node_finished" and "case" not in data and _who(event) not in begun:
                return None
            begun.discard(_who(event))
            done = style("finished" if event.event == "node_finished" else "reused", fg="green")
            return f"{_who(event)} {done}{_details(data)}"
        case "node_skipped":
            return f"{_who(event)} is skipped: {data.get('reason', '')}"
        case "node_queued":
            return f"{_who(event)} is queued: the endpoint's places are taken" if data.get("waits") else None
        case "node_retrying":
            return style(f"{_who(event)} tries again: {data.get('reason', '')}", fg="yellow")
        case "node_judged":
            judged = " ".join(judged_text(data).split())
            return style(f"{_who(event)}: {judged}", fg="yellow") if judged else None
        case "node_asked":
            question = visible(" ".join(str(data.get("question", "")).split()))[:_SHORT]
            return style(f"{_who(event)} asks a person: {question}", fg="cyan")
        case "node_answered":
            return _answered(_who(event), str(data.get("action", "")), visible(str(data.get("by", ""))))
        case "node_step":
            step, title = str(data.get("step", "")), visible(str(data.get("title", "")))
            failed = "" if data.get("error") is None else f": {visible(str(data['error']))}"
            return style(f"{_who(event)} {step}: {title}{failed}", fg="yellow" if failed else None)
        case "node_failed":
            return style(f"{_who(event)} failed: {_error(event)}", fg="red")
        case "revision_applied":
            return style(f"revision {data['revision']} ({data['trigger']}) is applied", fg="cyan") + _became(data)
        case "revision_refused":
            reason = visible(str(data.get("reason", "")))
            return style(f"revision {data['revision']} ({data['trigger']}) is refused: {reason}", fg="yellow")
        case "revision_unchanged":
            return f"revision {data['revision']} ({data['trigger']}) changes nothing"
        case "revision_waiting":
            number, why = data["revision"], visible(str(data.get("reason", "")))
            how = f"merrow revise {event.run} --apply {number}, or --refuse {number}"
            return style(f"revision {number} waits for you: {why}", fg="yellow") + _became(data) + f"; {how}"
        case "turn_started":
            return f"{_who(event)}: turn {data['turn']} of {data['of']}"
        case "turn_failed":
            return style(f"{_who(event)}: turn {data['turn']} failed: {_error(event)}", fg="red")
        case "item_finished":
            return f"{_who(event)}: item {data['item']} of {data['of']} is done"
        case "item_failed":
            return style(f"{_who(event)}: item {data['item']} of {data['of']} failed: {_error(event)}", fg="red")
    return None


def _became(data: Any) -> str:
    """What a revision does to the nodes, in short."""
    diff = data.get("diff", {})
    counts = [f"{len(diff[word])} {word}" for word in ("kept", "reset", "added", "removed") if diff.get(word)]
    names = diff.get("bypassed", ())
    left = f"; {visible(', '.join(names))} {'is' if len(names) == 1 else 'are'} bypassed" if names else ""
    choice = choice_text(diff)
    return (f": {', '.join(counts)}" if counts else "") + left + (f"; {choice}" if choice else "")


def _who(event: Event) -> str:
    """The node, with the turns and items that it is in."""
    return f"{event.path}/{event.node}" if event.path else str(event.node)


def _error(event: Event) -> str:
    """Why a node failed, without its name, which stands before it already."""
    return str(event.data.get("reason") or event.data.get("error") or "")


def _note_frame(event: Event, frames: dict[str, str], items: dict[str, int]) -> None:
    """Where a turn or an item began or ended: how far its Loop or Map is. ``items`` counts those that ended."""
    if "turn" in event.data:
        frames[_who(event)] = f"turn {event.data['turn']} of {event.data['of']}"
    elif event.event in ("item_finished", "item_failed"):
        done = items[_who(event)] = items.get(_who(event), 0) + 1
        frames[_who(event)] = f"{done} of {event.data['of']} items"


def _is_set(data: Any) -> bool:
    """Whether a person set an output of a node."""
    return any(source["endpoint"] == PERSON_ORIGIN for source in data.get("sources", ()))


def _answered(node: str, action: str, by: str) -> str:
    """What came of the question of a node."""
    if action == "accept":
        return f"{node} was answered by {by or 'a person'}"
    if action == "decline":
        return f"{by or 'A person'} declined to answer {node}"
    return f"{node} was not answered before its deadline"


def _details(data: Any) -> str:
    by = ", by a person" if _is_set(data) else ""
    if "case" in data:
        return f": {data['case']}{by}"
    usage = Usage.from_json(data["usage"]) if "usage" in data else NOTHING
    tokens = f", {usage.tokens:,} tokens" if usage.tokens else ""
    attempt = attempt_text(data)
    valid = f", {style(attempt, fg='green' if data['valid'] else 'yellow')}" if attempt else ""
    hidden = f", {style('masked', fg='yellow')}" if data.get("masked") else ""
    return f" ({duration(data.get('seconds', 0.0))}{tokens}{by}{valid}{hidden})"


class LiveTable:
    """A table of nodes on a terminal, each with its state, time and tokens; below it what was spent."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._states: dict[str, Event] = {}
        self._began: dict[str, float] = {}
        self._running: dict[str, set[str]] = {}
        self._queued: dict[str, dict[str, float]] = {}
        """By node and path, since when it waits for a place."""
        self._texts: dict[str, str] = {}
        self._frames: dict[str, str] = {}
        self._items: dict[str, int] = {}
        self._bypassed: set[str] = set()
        self._usage = NOTHING
        self._live: Live | None = None

    def __enter__(self) -> LiveTable:
        from rich.live import Live

        self._live = Live(
            console=console(err=True),
            get_renderable=self._table,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, problem, trace)

    async def show(self, event: Event) -> None:
        from rich.markup import escape
        from rich.text import Text

        if self._live is not None:
            for notice in _notices(event):
                self._live.console.print("[yellow]Note:[/]", escape(notice), highlight=False)
            line = _line(event, set()) if event.event.startswith("revision_") else None
            if line is not None:
                self._live.start()
                self._live.console.print(Text.from_ansi(line))
            if event.event == "revision_waiting":
                self._live.stop()  # A person is asked, and what is typed stays in sight.
        if event.event == "revision_applied":
            self._bypassed.update(event.data.get("diff", {}).get("bypassed", ()))
        if event.node is None:
            return
        if event.event == "node_output":
            self._texts[event.node] = (self._texts.get(event.node, "") + str(event.data.get("text", "")))[-_SHORT:]
            return
        if event.event == "node_queued":
            self._note_place(event.node, event.path, waits=bool(event.data.get("waits")))
            return
        if event.data.get("operator") == "Interface" or event.event not in _STATES:
            _note_frame(event, self._frames, self._items)
            return
        running = self._running.setdefault(event.node, set())
        if event.event == "node_started":
            self._began[event.node] = time.monotonic()
            running.add(event.path)
        elif event.node not in self._began and event.event in ("node_finished", "node_judged"):
            return  # An input or output: nothing happens there.
        elif event.event not in _AGAIN:
            self._note_place(event.node, event.path, waits=False)
            running.discard(event.path)
        if "usage" in event.data:
            self._usage += Usage.from_json(event.data["usage"])
        if not running or event.event != "node_finished":  # else it still runs for other items
            self._states[event.node] = event

    def _note_place(self, node: str, path: str, *, waits: bool) -> None:
        """A node waits for a place at the endpoint, or no longer: its time goes on from there."""
        queued, since = self._queued.setdefault(node, {}), self._queued_since(node)
        if waits:
            queued[path] = time.monotonic()
        else:
            queued.pop(path, None)
        if since is not None and self._queued_since(node) is None and node in self._began:
            self._began[node] += time.monotonic() - since

    def _queued_since(self, node: str) -> float | None:
        """Since when all that runs of a node has waited for a place; None where some of it does not wait."""
        queued, running = self._queued.get(node), self._running.get(node)
        return max(queued.values()) if queued and running and running <= queued.keys() else None

    def _table(self) -> Group:
        from rich.console import Group
        from rich.markup import escape
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        now = time.monotonic()
        for node, event in self._states.items():
            running = event.event == "node_started" or event.event in _AGAIN
            since = self._queued_since(node)
            until = now if since is None else since
            seconds = until - self._began[node] if running and node in self._began else event.data.get("seconds", 0.0)
            by = "by a person" if _is_set(event.data) else ""
            valid = judged_text(event.data) if event.event == "node_judged" else attempt_text(event.data)
            what = str(_error(event) or ", ".join(filter(None, (event.data.get("case"), by, valid))))
            if running:
                what = what or " ".join(self._texts.get(node, "").split())
            tokens = Usage.from_json(event.data["usage"]).tokens if "usage" in event.data else 0
            table.add_row(
                f"[bold]{escape(visible(node))}[/]",
                "[yellow]bypassed[/]" if node in self._bypassed else _STATES[event.event] if since is None else _QUEUED,
                duration(seconds),
                f"{tokens:,} tokens" if tokens else "",
                escape(visible(what)[:_SHORT]),
            )
        for name, what in list(self._frames.items())[-_FRAMES:]:
            table.add_row(f"[bold]{escape(visible(name))}[/]", escape(what), "", "", "")
        calls = counted(self._usage.calls, "call")
        spent = f"{calls}, {self._usage.tokens:,} tokens, {cost_text(self._usage.to_json())}"
        return Group(table, f"[dim]{spent}[/]", *(f"[yellow]{text}[/]" for text in (waiting_text(),) if text))
