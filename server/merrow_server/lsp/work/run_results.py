"""What the last run of each open diagram gave, node by node: for hovers, hints and diagnostics."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lsprotocol import types

from merrow_runtime.events import LAST
from merrow_server.lsp.callers import diagram_within, own_path
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.host import Host
from merrow_server.lsp.work.run_progress import round_text, stopped_text

if TYPE_CHECKING:
    from merrow_analysis.diagnostics import Diagnostic
    from merrow_analysis.rules.registry import Rule
    from merrow_analysis.text import Range

Json = dict[str, Any]

OFFLINE_NAME = "embedded model (offline)"
"""What users read in place of a model's name where the embedded model answers."""
_KEPT = 2_000
"""Characters of a result that are kept for showing; the journal has all of it."""
_REFRESH = 1.0
"""Seconds between two times that the client is asked to draw hints again while a run goes on."""
_WORTH_TELLING = 0.05
"""Seconds below which the time of a node is no news."""
_OFFLINE = "merrow:offline"
"""`merrow_runtime.provenance.OFFLINE_ORIGIN`; the runtime is not imported here."""
_STATES = {
    "node_started": "running",
    "node_asked": "waiting",
    "node_answered": "running",
    "node_finished": "finished",
    "node_reused": "reused",
    "node_skipped": "skipped",
    "node_failed": "failed",
}


_NEVER_ANSWERED = ("run_finished", "run_failed", "run_cancelled")
"""The ends of a run after which nobody waits for a person any more."""


@dataclass(frozen=True, slots=True)
class NodeResult:
    """How a node ended, or that it runs. ``text`` is the start of its result, or why there is none."""

    run: str
    status: str
    text: str = ""
    usage: Json = field(default_factory=dict)
    seconds: float = 0.0
    answered_by: str = ""
    visit: str = ""
    """The node as reports of the run name it: with the turns and items that it ran in."""
    attempt: str = ""
    """Which attempt it is, and that it is not valid, where its result was validated and that is any news."""

    @property
    def figures(self) -> list[str]:
        """Tokens, cost, who answered, and time, as far as there are any."""
        from merrow_server.reports.run_report import cost_text

        shown = []
        tokens = self.usage.get("prompt_tokens", 0) + self.usage.get("completion_tokens", 0)
        if tokens:
            shown.append(f"{tokens:,} tokens")
        if self.usage.get("calls"):
            shown.append(cost_text(self.usage))
        if self.attempt:
            shown.append(self.attempt)
        if self.answered_by:
            shown.append(self.answered_by.replace("embedded model", OFFLINE_NAME))
        if self.seconds >= _WORTH_TELLING:
            shown.append(f"{self.seconds:.1f} s")
        return shown


@dataclass(frozen=True, slots=True)
class CalledFile:
    """A file that a run is in: where it lies, and what the client calls it."""

    path: Path | None
    uri: str


@dataclass(frozen=True, slots=True)
class AskingNode:
    """A node that waits for a person. ``own`` is the node of the run's own workflow: it, or the Call whose ``file`` it is in."""

    node: str
    own: str
    file: CalledFile | None = None


@dataclass(slots=True)
class LastRun:
    """The run that a diagram was last begun with, of the text that it had then."""

    run: str
    text: str
    offline: bool = False
    """Whether the embedded model answers."""
    nodes: dict[str, NodeResult] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)
    """By Loop or Map, in words: the turn or item that began last, or that its turns ran out."""
    waiting: dict[str, AskingNode] = field(default_factory=dict)
    """The visits that wait for a person."""
    called: dict[tuple[str, ...], CalledFile | None] = field(default_factory=dict)
    """The files that chains of Calls lead to, as far as they were looked for."""


class Results:
    """The last run of each diagram of one server."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._last: WeakKeyDictionary[OpenDiagram, LastRun] = WeakKeyDictionary()
        self._refresh: asyncio.TimerHandle | None = None

    def of(self, diagram: OpenDiagram) -> LastRun | None:
        """The last run of a diagram since it was opened."""
        return self._last.get(diagram)

    def file_of(self, diagram: OpenDiagram, event: Json) -> CalledFile | None:
        """The called file that an event of the diagram's last run is of; None of the diagram's own, and where it is not known."""
        from merrow_runtime.visit import calls_of

        last = self._last.get(diagram)
        calls = calls_of(event.get("path") or "") if last is not None and event["run"] == last.run else ()
        if last is None or not calls:
            return None
        if calls not in last.called:
            within = diagram_within(self._server, diagram, calls)
            last.called[calls] = None if within is None else CalledFile(own_path(within), within.document.uri)
        return last.called[calls]

    def asking_in(self, diagram: OpenDiagram) -> dict[tuple[str, str], list[str]]:
        """The visits that wait for a person at each node of a diagram, by the run and the node: of its last run, and of the last
        runs of others that call its file.
        """
        path = own_path(diagram)
        found: dict[tuple[str, str], list[str]] = {}
        for other, last in list(self._last.items()):
            for visit, asking in last.waiting.items():
                if other is diagram:
                    found.setdefault((last.run, asking.own), []).append(visit)
                if asking.file is not None and path is not None and asking.file.path == path:
                    found.setdefault((last.run, asking.node), []).append(visit)
        return found

    def begin(self, diagram: OpenDiagram, run: str) -> None:
        """A run of the diagram has begun: what the one before found is gone."""
        earlier = self._last.get(diagram)
        self._last[diagram] = LastRun(run, diagram.text)
        if earlier is not None and earlier.waiting:
            self._refresh_lenses()
        if diagram.run_findings:
            diagram.run_findings = []
            self._check_again(diagram)

    def take(self, diagram: OpenDiagram, events: list[Json]) -> None:
        """Events of a run of the diagram; those of another than the last are passed over."""
        from merrow_runtime.visit import is_called

        last = self._last.get(diagram)
        before = list(diagram.run_findings)
        for event in events:
            if last is None or event["run"] != last.run:
                continue
            node, kind = event["node"], event["event"]
            if kind == "loop_ended":
                _note_end(last, event)
                continue
            if is_called(event.get("path") or ""):
                self._take_called(diagram, last, event)
                continue
            if kind == "run_started":
                last.offline = event.get("endpoint") == _OFFLINE
                if last.offline:
                    self._refresh_lenses()
            if node is not None and kind in ("turn_started", "item_started"):
                last.boxes[node] = f"{round_text(event)} began last"
            if node is not None and kind in _STATES:
                last.nodes[node] = _result(event)
            if kind in _NEVER_ANSWERED:
                self._forget_questions(last)
            elif node is not None and _note_question(last, event, AskingNode(node, node)):
                self._refresh_lenses()
            if kind == "node_failed":
                _tell(
                    diagram.run_findings, _node_failed(diagram, event), f"{event['node']} failed for the same reason."
                )
            elif kind == "run_failed" and not any(_ends_runs(finding) for finding in diagram.run_findings):
                diagram.run_findings.append(_run_failed(diagram, event))
        if diagram.run_findings != before:
            self._check_again(diagram)
        is_over = events[-1]["event"] in LAST
        self._draw_again(0.0 if is_over else _REFRESH)

    def _take_called(self, diagram: OpenDiagram, last: LastRun, event: Json) -> None:
        """An event of a called file: its Call waits where a person is asked in it."""
        from merrow_runtime.visit import Visit, own_node

        node, path = event["node"], event.get("path") or ""
        if node is None or event["event"] not in _STATES:
            return
        own = own_node(Visit(node, path))
        if _note_question(last, event, AskingNode(node, own, self.file_of(diagram, event))):
            waits = any(asking.own == own for asking in last.waiting.values())
            last.nodes[own] = replace(_result(event), status="waiting" if waits else "running")
            self._refresh_lenses()

    def _forget_questions(self, last: LastRun) -> None:
        """Nobody waits for answers any more."""
        if last.waiting:
            for asking in last.waiting.values():
                last.nodes.pop(asking.own, None)
            last.waiting.clear()
            self._refresh_lenses()

    def _refresh_lenses(self) -> None:
        if self._server.supports.refresh_code_lenses:
            self._server.protocol.send_request(types.WORKSPACE_CODE_LENS_REFRESH)

    def _check_again(self, diagram: OpenDiagram) -> None:
        server = self._server
        if diagram.document.uri in {document.uri for document in server.documents.values()}:
            server.scheduler.touch(diagram.document.uri)
            if server.supports.pull_diagnostics and server.supports.refresh_diagnostics:
                server.protocol.send_request(types.WORKSPACE_DIAGNOSTIC_REFRESH)

    def _draw_again(self, delay: float) -> None:
        if not self._server.supports.refresh_inlay_hints:
            return
        loop = asyncio.get_running_loop()
        if self._refresh is not None:
            if self._refresh.when() <= loop.time() + delay:
                return
            self._refresh.cancel()
        self._refresh = loop.call_later(delay, self._ask_to_draw)

    def _ask_to_draw(self) -> None:
        self._refresh = None
        self._server.protocol.send_request(types.WORKSPACE_INLAY_HINT_REFRESH)


def _result(event: Json) -> NodeResult:
    from merrow_runtime.provenance import answered_by
    from merrow_runtime.values import as_text
    from merrow_server.reports.run_report import attempt_text

    status = _STATES[event["event"]]
    text = str(event.get("error") or event.get("reason") or event.get("case") or event.get("question") or "")
    outputs = event.get("outputs")
    if outputs and not text:
        several = len(outputs) > 1
        text = "\n".join(f"{name}: {as_text(value)}" if several else as_text(value) for name, value in outputs.items())
    usage = event.get("usage") or {}
    by = answered_by((source["endpoint"], source["model"]) for source in event.get("sources", ()))
    visit = f"{event['path']}/{event['node']}" if event.get("path") else event["node"]
    seconds = float(event.get("seconds", 0.0))
    return NodeResult(event["run"], status, text[:_KEPT], dict(usage), seconds, by, visit, attempt_text(event))


def _note_question(last: LastRun, event: Json, asking: AskingNode) -> bool:
    """Note that a visit waits for a person, or does no more; whether that is any news."""
    from merrow_runtime.visit import Visit

    visit = Visit(event["node"], event.get("path") or "", event.get("redo") or 0).name
    if event["event"] == "node_asked":
        is_new = visit not in last.waiting
        last.waiting[visit] = asking
        return is_new
    return event["event"] in _ENDS_WAITING and last.waiting.pop(visit, None) is not None


_ENDS_WAITING = frozenset({"node_answered", "node_finished", "node_reused", "node_skipped", "node_failed"})


def _note_end(last: LastRun, event: Json) -> None:
    """Note that a Loop of the diagram itself stopped although it wanted another turn."""
    from merrow_runtime.visit import is_called

    around, _, _ = str(event["path"]).rpartition("/")
    if event.get("stopped") and not is_called(around):
        last.boxes[event["node"]] = stopped_text(event)


def _ends_runs(diagnostic: Diagnostic) -> bool:
    """Whether the failure of a node tells already why the run ended."""
    from merrow_analysis.diagnostics import Severity

    return diagnostic.severity is Severity.ERROR


def _node_failed(diagram: OpenDiagram, event: Json) -> Diagnostic:
    from merrow_analysis.diagnostics import Severity
    from merrow_analysis.rules.effects.pin_rules import TOOL_DIFFERS
    from merrow_analysis.rules.run_rules import NODE_FAILED
    from merrow_runtime.errors import DiffersFailure

    node = diagram.analysis.flow.nodes.get(event["node"])
    place = _header(diagram) if node is None else node.range
    severity = Severity.ERROR if event.get("on_error") == "fail" else Severity.WARNING
    rule = TOOL_DIFFERS if event.get("code") == DiffersFailure.code else NODE_FAILED
    return _finding(rule, severity, event, place)


def _tell(findings: list[Diagnostic], new: Diagnostic, again: str) -> None:
    """Add a finding of a failed node, or its place to one that has the same weight and reason: of an endpoint that is down, one
    finding says all.
    """
    from merrow_analysis.diagnostics import Related

    for index, known in enumerate(findings):
        if (known.code, known.severity, known.message) == (new.code, new.severity, new.message):
            findings[index] = known._replace(related=(*known.related, Related(new.range, again)))
            return
    findings.append(new)


def _run_failed(diagram: OpenDiagram, event: Json) -> Diagnostic:
    from merrow_analysis.rules.run_rules import RUN_FAILED

    return _finding(RUN_FAILED, RUN_FAILED.severity, event, _header(diagram))


def _finding(rule: Rule, severity: Any, event: Json, place: Range) -> Diagnostic:
    from merrow_analysis.diagnostics import Diagnostic

    return Diagnostic(rule.code, rule.name, severity, str(event.get("error") or rule.summary), place)


def _header(diagram: OpenDiagram) -> Range:
    """The workflow's header, or where the text begins."""
    from merrow_analysis.ide.code_lens import header_range
    from merrow_analysis.text import Position, Range

    return header_range(diagram.analysis) or Range(Position(0, 0), Position(0, 0))
