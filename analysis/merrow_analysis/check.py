"""From a text to its diagnostics: the whole pipeline, once (`analyse`) or kept up to date under edits (`Analyser`)."""

from __future__ import annotations

import posixpath
from bisect import insort
from collections.abc import Callable, Collection, Iterable
from copy import copy
from dataclasses import dataclass, field

from merrow_analysis.asked_fixes import AskedFixes
from merrow_analysis.called_files import CalledFiles
from merrow_analysis.collector import collection_paused
from merrow_analysis.consequences import explained_by_syntax, unexplained
from merrow_analysis.definitions.check_files import with_check_files
from merrow_analysis.definitions.libraries import with_libraries
from merrow_analysis.definitions.prompts import PromptBook, collect_prompts
from merrow_analysis.definitions.provider import Provider
from merrow_analysis.definitions.settings import NO_SETTINGS, WorkflowSettings, read_settings
from merrow_analysis.diagnostics import NO_FIXES, Diagnostic, Fix, Severity, without_fixes
from merrow_analysis.document import Document
from merrow_analysis.graph import typed
from merrow_analysis.graph.drawings.fold import MOST_EDGES_READ, fold
from merrow_analysis.graph.drawings.redraw import Redrawn, redraw
from merrow_analysis.graph.flow import Flowchart, declares
from merrow_analysis.graph.infer import infer
from merrow_analysis.graph.model import Graph
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.outside import Outside
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.rules.at_nodes import AtNodes
from merrow_analysis.rules.configuration import Config
from merrow_analysis.rules.context import GRAPH_SCOPES, GraphContext, TextContext, check_graph, check_text
from merrow_analysis.rules.drawn.syntax_rules import is_notable
from merrow_analysis.rules.not_a_workflow import why_not
from merrow_analysis.rules.registry import Scope, is_refused
from merrow_analysis.suppressions import apply as apply_suppressions
from merrow_analysis.suppressions import has_suppression
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Range, TextEdit, line_ending, with_line_ending

_CONNECTED = frozenset({Scope.GRAPH, Scope.EDGE})
_WRITTEN = frozenset({Scope.NODE, Scope.PARAMETER})
_ALL = _CONNECTED | _WRITTEN
_NONE: frozenset[Scope] = frozenset()


@dataclass(slots=True, eq=False)
class Analysis:
    """What is known about one text. ``typed`` and ``prompts`` are for a workflow only; diagnostics are in the text's order.

    It stays true of that text regardless of later edits.
    """

    diagram: Diagram
    flow: Flowchart
    settings: WorkflowSettings = NO_SETTINGS
    typed: TypedGraph | None = None
    prompts: PromptBook = field(default_factory=PromptBook)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    refusals: list[Diagnostic] = field(default_factory=list)
    """What Mermaid itself refuses, even if the configuration hides it or lowers its severity."""

    @property
    def errors(self) -> list[Diagnostic]:
        """What prevents running or changing the workflow, in text order; no configuration can hide a refusal."""
        others = [
            diagnostic
            for diagnostic in self.diagnostics
            if diagnostic.severity is Severity.ERROR and not is_refused(diagnostic.code)
        ]
        return sorted((*self.refusals, *others), key=_order)

    @property
    def is_workflow(self) -> bool:
        return self.typed is not None

    @property
    def may_be_drawn(self) -> bool:
        """Whether the text is a flowchart that is not a workflow but can be run as it is drawn."""
        drawn = self.diagram.is_flowchart and self.flow.scenery.undrawn is None and bool(self.flow.chart.nodes)
        return drawn and not self.is_workflow and not self.settings.opted_out

    @property
    def why_no_workflow(self) -> str | None:
        """Why the text is not a workflow, as part of a sentence; None for a workflow."""
        if self.is_workflow:
            return None
        if not self.diagram.is_flowchart:
            return "it is not a flowchart"
        if self.settings.opted_out:
            return "its front matter says `workflow: false`"
        undrawn = self.flow.scenery.undrawn
        if undrawn is not None:
            return f"it has {undrawn.edges:,} edges, more than the {MOST_EDGES_READ:,} that Merrow reads"
        return why_not(self.flow)

    @property
    def is_valid(self) -> bool:
        """Q(G): there are no errors."""
        return not self.errors


def analyse(
    text: str,
    *,
    path: str | None = None,
    provider: Provider | None = None,
    config: Config | None = None,
    as_workflow: bool = False,
    outside: Outside | None = None,
) -> Analysis:
    """Check one diagram.

    ``path`` is the file's, relative to the configuration, for its per-path settings; ``provider`` provides the files
        that the workflow names; ``outside`` finds those that it calls, if the caller already knows them. With
    ``as_workflow`` any flowchart is read as a workflow, unless its front matter says ``workflow: false``. Never raises;
    takes time linear in the text.
    """
    analyser = Analyser(text, path=path, provider=provider, config=config, as_workflow=as_workflow, outside=outside)
    return analyser.analysis()


class Analyser:
    """A text and its analysis, kept from one edit to the next."""

    def __init__(
        self,
        text: str,
        *,
        path: str | None = None,
        provider: Provider | None = None,
        config: Config | None = None,
        as_workflow: bool = False,
        outside: Outside | None = None,
    ) -> None:
        with collection_paused():
            self.document = Document(text)
        self.path = path
        self.provider = provider
        self.config = config if config is not None else Config()
        self.as_workflow = as_workflow
        self._given_outside = outside
        self._called: CalledFiles | None = None
        self._flow: Flowchart | None = None
        self._before: Flowchart | None = None
        # As they were first read (`Block.origin`), in the order of the text.
        self._notable: list[Block] = []
        self._suppressing: list[Block] = []
        self._typed: TypedGraph | None = None
        self._kept = _KeptFindings()
        # What changed since the last analysis; None if it may be anything.
        self._redrawn: Redrawn | None = None

    def edit(self, edit: TextEdit) -> None:
        """Replace a range of the text."""
        self.document.edit(edit)

    def fork(self, provider: Provider | None = None) -> Analyser:
        """Another analyser of the same text that starts with what this one knows; the two are edited independently. With a
        ``provider`` it reads the files of that one, and shares nothing about files that are called.
        """
        other = copy(self)
        if provider is not None and provider is not self.provider:
            other.provider, other._called = provider, None
        other.document = self.document.fork()
        other._kept = self._kept.copy()
        return other

    def analysis(self) -> Analysis:
        """The analysis of the text as it is now."""
        if self._flow is None:
            with collection_paused():
                return self._analysis()
        return self._analysis()

    def _analysis(self) -> Analysis:
        diagram = self.document.diagram
        flow = self._update()
        analysis = Analysis(diagram, flow)
        notable = [diagram.here(block) for block in self._notable]
        text = TextContext(diagram, flow, notable)
        diagnostics = without_fixes(check_text(text, reading=True, guarded=True))
        analysis.refusals = [diagnostic for diagnostic in diagnostics if is_refused(diagnostic.code)]
        if diagram.is_flowchart:
            diagnostics = [
                *diagnostics,
                *explained_by_syntax(self._meaning(analysis, text), diagnostics, diagram, notable),
            ]
        if self._suppressing:
            kept, extra = apply_suppressions(diagram.blocks, diagnostics, report_unused=analysis.is_workflow)
            diagnostics = [*kept, *extra]
        fixes, ending = AskedFixes(text), line_ending(self.document.lines)

        def with_fixes(told: Iterable[Diagnostic]) -> list[Diagnostic]:
            given = fixes.given(told)
            return given if ending == "\n" else [_with_line_ending(diagnostic, ending) for diagnostic in given]

        analysis.diagnostics = sorted(with_fixes(unexplained(self.config.apply(diagnostics, self.path))), key=_order)
        analysis.refusals = with_fixes(analysis.refusals)
        # No one else has the objects that the rules requested. Without them a version is freed with its last reader.
        if analysis.typed is None:
            flow.let_go()
        else:
            analysis.typed.let_go()
        return analysis

    def _update(self) -> Flowchart:
        """The flowchart of the blocks as they are now, and which of them the rules about syntax and suppressions look at."""
        document = self.document
        diagram, changes = document.diagram, document.changes
        flow = self._before = self._flow
        self._redrawn = None
        if flow is None or changes is None:
            self._notable = [block.origin or block for block in diagram.blocks if is_notable(block)]
            self._suppressing = [block.origin or block for block in diagram.blocks if has_suppression(block)]
            flow = fold(diagram.blocks, diagram.moved)
        else:
            for old, new in changes:
                gone = {block.origin or block for block in old}
                self._notable = _replaced(self._notable, gone, new, is_notable, diagram)
                self._suppressing = _replaced(self._suppressing, gone, new, has_suppression, diagram)
            self._redrawn = redraw(flow, diagram, changes)
            flow = fold(diagram.blocks, diagram.moved) if self._redrawn is None else self._redrawn.flow
        self._flow = flow
        document.changes = []
        return flow

    def _meaning(self, analysis: Analysis, text: TextContext) -> list[Diagnostic]:
        """Findings in a flowchart apart from those about Mermaid's syntax."""
        front = text.front
        own = read_settings(front[0].body, front[0].indent) if front is not None else NO_SETTINGS
        settings, problems = with_libraries(own, self.provider, self.config.libraries)
        settings, unusable = with_check_files(settings, self.provider)
        analysis.settings, text.settings = settings, own
        if not typed.is_workflow(analysis.flow, settings, self.as_workflow):
            self._typed = None
            return without_fixes(check_text(text, reading=False, guarded=True))
        workflow, holds = self._type(analysis.flow, settings, self._outside())
        book = collect_prompts(settings, self.provider)
        analysis.typed, analysis.prompts = workflow, book
        text.graph, text.problems = workflow, (*problems, *unusable, *book.problems)
        context = text.workflow = GraphContext(
            workflow, text.diagram.header, front, own, book, text.diagram, self.config.permissions
        )
        return [*without_fixes(check_text(text, reading=False, guarded=True)), *self._kept.renewed(context, holds)]

    def _outside(self) -> Outside | None:
        """What finds the files that the workflow calls: the same object as long as their meaning stays the same."""
        if self._given_outside is not None or self.provider is None:
            return self._given_outside
        name = None if self.path is None else posixpath.basename(self.path)
        if self._called is None or not self._called.serves(self.provider, name, self.config):
            self._called = callable_files(self.provider, name, self.config)
        return self._called

    def _type(
        self, flow: Flowchart, settings: WorkflowSettings, outside: Outside | None
    ) -> tuple[TypedGraph, frozenset[Scope]]:
        """The typed graph, and the scopes whose previous findings are still valid."""
        last, redrawn = self._typed, self._redrawn
        kept = last is not None and last.settings is settings and last.core.language.outside is outside
        if last is None or redrawn is None or not kept or last.flow is not self._before:
            self._kept.at_nodes.forget()
            self._typed = typed.build(flow, settings, None if last is None else last.core.language, outside)
            return self._typed, _NONE
        delta = redrawn.delta
        if flow.chart is last.core.drawn:
            core = last.core
        else:
            core = infer(last.core, delta, flow.chart, typed.composites_of(flow), typed.groups_of(flow))
        self._typed = last.after(flow, core)
        same_scenery = flow.scenery is last.flow.scenery
        if flow.moved is not last.flow.moved or not same_scenery:
            self._kept.at_nodes.forget()
        elif core is not last.core:
            self._kept.at_nodes.forget(core)
        if flow.moved is not last.flow.moved:
            return self._typed, _NONE
        if core is last.core:
            return self._typed, _ALL if same_scenery else _CONNECTED
        if same_scenery and redrawn.nodes_only and _only_parameters_differ(last.core, core, delta.nodes):
            # A new label seldom changes the findings about the graph.
            holding = _CONNECTED | {Scope.NODE}
            touched = any(
                _touches(diagnostic, redrawn.lines) for scope in holding for diagnostic in self._kept.findings[scope]
            )
            return self._typed, _NONE if touched else holding
        if same_scenery and redrawn.references_only and _same_meaning(last.core, core, delta.nodes):
            return self._typed, _WRITTEN
        return self._typed, _NONE


def callable_files(provider: Provider, name: str | None, config: Config) -> CalledFiles:
    """What finds the files that the workflow called ``name``, in the folder of ``provider``, may call."""
    return CalledFiles(provider, name, config, _errors_of_called)


def _errors_of_called(text: str, path: str, provider: Provider, config: Config, outside: Outside) -> list[Diagnostic]:
    """The errors of a called file."""
    return analyse(text, path=path, provider=provider, config=config, outside=outside).errors


class _KeptFindings:
    """Findings about a workflow by scope, kept from one analysis to the next.

    ``stand_ins`` and ``book`` are what those of ``NODE`` and ``PARAMETER`` are about besides the graph. ``at_nodes`` are parts of
    findings that do not hold as a whole any more.
    """

    def __init__(self) -> None:
        self.findings: dict[Scope, list[Diagnostic]] = {}
        self.at_nodes = AtNodes()
        self.stand_ins: frozenset[str] = frozenset()
        self.book: PromptBook | None = None

    def copy(self) -> _KeptFindings:
        """A copy of these findings that is updated independently."""
        other = copy(self)
        other.findings = dict(self.findings)
        other.at_nodes = self.at_nodes.copy()
        return other

    def renewed(self, context: GraphContext, holds: frozenset[Scope]) -> list[Diagnostic]:
        """All findings, with those that do not hold any more found again."""
        context.at_nodes = self.at_nodes
        stand_ins = context.boundary.stand_in_ids
        if self.stand_ins != stand_ins:
            self.stand_ins, holds = stand_ins, holds - {Scope.NODE}
        if self.book != context.book:
            self.book, holds = context.book, holds - {Scope.PARAMETER}
        findings = self.findings
        for scope in GRAPH_SCOPES:
            if scope not in holds:
                findings[scope] = without_fixes(check_graph(context, scope, guarded=True))
        if Scope.GRAPH not in holds and context.graph.forget_overflow():
            findings[Scope.GRAPH] = without_fixes(check_graph(context, Scope.GRAPH, guarded=True))
        # They go on with the next version; this one stays true of its text.
        context.at_nodes = None
        return [diagnostic for listed in findings.values() for diagnostic in listed]


def _same_meaning(old: Graph, new: Graph, names: Iterable[str]) -> bool:
    """Whether these nodes are the same in both graphs."""
    pairs = [(old.handles.get(name), new.handles.get(name)) for name in names]
    return all(
        handle is not None
        and handle == other
        and old.resolutions[handle] is new.resolutions[handle]
        and handle not in old.marks.conflicts
        and handle not in new.marks.conflicts
        for handle, other in pairs
    )


def _only_parameters_differ(old: Graph, new: Graph, names: Iterable[str]) -> bool:
    """Whether these nodes have the operators, ports, classes and places in the graph that they had, and nothing is wrong with
    them.
    """
    if old.shape is not new.shape or old.marks is not new.marks:
        return False
    boundary = old.shape.boundary
    for name in names:
        handle = new.handles[name]
        if handle in boundary or handle in new.marks.conflicts:
            return False
        if old.placements[handle] is not new.placements[handle]:
            return False
        if not _same_ports(old.resolutions[handle], new.resolutions[handle]):
            return False
        if _classes(old, handle) != _classes(new, handle) or _declaring(old, handle) != _declaring(new, handle):
            return False
    return True


def _classes(graph: Graph, handle: int) -> list[str]:
    """The names of a node's classes, in order."""
    record = graph.records[handle]
    return [] if record is None else [use.name.text for use in record.classes]


def _declaring(graph: Graph, handle: int) -> list[bool]:
    """Which mentions of a node declare it; findings are shown at the first of them."""
    record = graph.records[handle]
    return [] if record is None else [declares(mention.vertex) for mention in record.mentions]


def _same_ports(old: Resolution, new: Resolution) -> bool:
    if old.problems or new.problems or old.kind != new.kind or old.spec is not new.spec or old.claims != new.claims:
        return False
    return (old.declared, old.samples, old.literals, old.expression) == (
        new.declared,
        new.samples,
        new.literals,
        new.expression,
    )


def _touches(diagnostic: Diagnostic, lines: Collection[int]) -> bool:
    """Whether a finding refers to one of these lines."""
    ranges = [diagnostic.range, *(related.range for related in diagnostic.related)]
    return any(place.start.line in lines or place.end.line in lines for place in ranges)


def _with_line_ending(diagnostic: Diagnostic, ending: str) -> Diagnostic:
    """``diagnostic`` with fixes that write the file's own line ending."""
    if diagnostic.fixes is NO_FIXES:
        return diagnostic

    def written(fix: Fix) -> Fix:
        return fix._replace(edits=tuple(with_line_ending(edit, ending) for edit in fix.edits))

    return diagnostic._replace(fixes=diagnostic.fixes.changed(written))


def _order(diagnostic: Diagnostic) -> tuple[Range, str, str]:
    return diagnostic.range, diagnostic.code, diagnostic.message


def _replaced(
    blocks: list[Block], gone: set[Block], new: Iterable[Block], wanted: Callable[[Block], bool], diagram: Diagram
) -> list[Block]:
    """The blocks without those that are gone, with those of the new ones that are wanted, in order."""
    kept = [block for block in blocks if block not in gone]
    for block in new:
        if wanted(block):
            insort(kept, block.origin or block, key=lambda kept_block: diagram.here(kept_block).line)
    return kept
