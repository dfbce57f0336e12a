"""From a text to its diagnostics: the whole pipeline, once (`analyse`) or kept up to date under edits (`Analyser`)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from merrow_analysis.collector import collection_paused
from merrow_analysis.consequences import explained_by_syntax, unexplained
from merrow_analysis.definitions.configuration import Config
from merrow_analysis.definitions.front_matter import EMPTY
from merrow_analysis.definitions.libraries import with_libraries
from merrow_analysis.definitions.prompts import PromptBook, collect_prompts
from merrow_analysis.definitions.provider import Provider
from merrow_analysis.definitions.settings import NO_SETTINGS, WorkflowSettings, read_settings
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.document import Document
from merrow_analysis.graph import typed
from merrow_analysis.graph.flow import Flow
from merrow_analysis.graph.fold import fold
from merrow_analysis.graph.model import Graph
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.redraw import Redrawn, redraw
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.rules import (
    configuration_rules,
    front_matter_rules,
    graph,
    parameter_rules,
    plain_rules,
    prompt_rules,
    syntax_rules,
)
from merrow_analysis.rules import run_rules as _run_rules  # noqa: F401 - only registered here: no check finds them
from merrow_analysis.rules.path_rules import find_rims
from merrow_analysis.rules.reading import why_not
from merrow_analysis.rules.registry import is_refused
from merrow_analysis.suppressions import apply as apply_suppressions
from merrow_analysis.suppressions import has_suppression
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, Chain
from merrow_analysis.text import Position, Range, TextEdit, line_ending, with_line_ending

_TOP = Range(Position(0, 0), Position(0, 0))


@dataclass(slots=True, eq=False)
class Analysis:
    """What is known about one text. ``typed`` and ``prompts`` are for a workflow only; diagnostics are in the text's order.

    It stays true of that text whatever is edited afterwards.
    """

    diagram: Diagram
    flow: Flow
    settings: WorkflowSettings = NO_SETTINGS
    typed: TypedGraph | None = None
    prompts: PromptBook = field(default_factory=PromptBook)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    refusals: list[Diagnostic] = field(default_factory=list)
    """What Mermaid itself refuses, also where the configuration hides it or lowers its severity."""

    @property
    def errors(self) -> list[Diagnostic]:
        """What keeps the workflow from being run or changed, in the text's order; no configuration hides a refusal."""
        others = [one for one in self.diagnostics if one.severity is Severity.ERROR and not is_refused(one.code)]
        return sorted((*self.refusals, *others), key=_order)

    @property
    def is_workflow(self) -> bool:
        return self.typed is not None

    @property
    def why_no_workflow(self) -> str | None:
        """Why the text is not a workflow, as part of a sentence; None for a workflow."""
        if self.is_workflow:
            return None
        if not self.diagram.is_flowchart:
            return "it is not a flowchart"
        if self.settings.opted_out:
            return "its front matter says `workflow: false`"
        return why_not(self.flow)

    @property
    def is_valid(self) -> bool:
        """Q(G): no error is left."""
        return not self.errors


def analyse(
    text: str,
    *,
    path: str | None = None,
    provider: Provider | None = None,
    config: Config | None = None,
    as_workflow: bool = False,
) -> Analysis:
    """Check one diagram.

    ``path`` is the file's, relative to the configuration, for its per-path settings; ``provider`` hands out the files
    that the workflow names. With ``as_workflow`` any flowchart is read as a workflow, unless its front matter says
    ``workflow: false``. Never raises; takes time linear in the text.
    """
    return Analyser(text, path=path, provider=provider, config=config, as_workflow=as_workflow).analysis()


class Analyser:
    """A text with what was worked out for it, kept from one edit to the next."""

    def __init__(
        self,
        text: str,
        *,
        path: str | None = None,
        provider: Provider | None = None,
        config: Config | None = None,
        as_workflow: bool = False,
    ) -> None:
        with collection_paused():
            self.document = Document(text)
        self.path = path
        self.provider = provider
        self.config = config if config is not None else Config()
        self.as_workflow = as_workflow
        self._flow: Flow | None = None
        self._before: Flow | None = None
        # As they were first read (`Block.origin`), in the order of the text.
        self._notable: list[Block] = []
        self._suppressing: list[Block] = []
        self._typed: TypedGraph | None = None
        self._kept = _Kept()
        # What changed since the last analysis; None where it may be anything.
        self._redrawn: Redrawn | None = None

    def edit(self, edit: TextEdit) -> None:
        """Replace a range of the text."""
        self.document.edit(edit)

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
        found: list[Diagnostic] = syntax_rules.check(diagram, flow, notable)
        analysis.refusals = [diagnostic for diagnostic in found if is_refused(diagnostic.code)]
        if diagram.is_flowchart:
            found = [*found, *explained_by_syntax(self._meaning(analysis), found, diagram, notable)]
        if self._suppressing:
            kept, extra = apply_suppressions(diagram.blocks, found, report_unused=analysis.is_workflow)
            found = [*kept, *extra]
        diagnostics = unexplained(self.config.apply(found, self.path))
        diagnostics.sort(key=_order)
        ending = line_ending(self.document.lines)
        if ending != "\n":
            diagnostics = [_with_line_ending(diagnostic, ending) for diagnostic in diagnostics]
        analysis.diagnostics = diagnostics
        return analysis

    def _update(self) -> Flow:
        """The flowchart of the blocks as they are now, and which of them the rules about syntax and suppressions look at."""
        document = self.document
        diagram, changes = document.diagram, document.changes
        flow = self._before = self._flow
        self._redrawn = None
        if flow is None or changes is None:
            self._notable = [block.origin or block for block in diagram.blocks if _is_notable(block)]
            self._suppressing = [block.origin or block for block in diagram.blocks if has_suppression(block)]
            flow = fold(diagram.blocks, diagram.moved)
        else:
            for old, new in changes:
                gone = {block.origin or block for block in old}
                self._notable = _replaced(self._notable, gone, new, _is_notable, diagram)
                self._suppressing = _replaced(self._suppressing, gone, new, has_suppression, diagram)
            self._redrawn = redraw(flow, diagram, changes)
            flow = fold(diagram.blocks, diagram.moved) if self._redrawn is None else self._redrawn.flow
        self._flow = flow
        document.changes = []
        return flow

    def _meaning(self, analysis: Analysis) -> list[Diagnostic]:
        diagram, flow = analysis.diagram, analysis.flow
        front = diagram.front_matter
        settings = read_settings(front[0].body, front[0].indent) if front is not None else NO_SETTINGS
        own = settings
        found = list(front_matter_rules.check(own, front))
        settings, problems = with_libraries(settings, self.provider, self.config.libraries)
        analysis.settings = settings
        if not typed.is_workflow(flow, settings, self.as_workflow):
            self._typed = None
            return found
        workflow, hold = self._type(flow, settings)
        book = collect_prompts(settings, self.provider)
        analysis.typed, analysis.prompts = workflow, book
        top = _TOP if diagram.header is None else diagram.header[1].range(diagram.header[0].span)
        found += configuration_rules.check_files(own, front, (*problems, *book.problems), top)
        places = graph.Places(diagram.header, front, own.document if front is not None else EMPTY)
        rims = find_rims(workflow)
        last = self._kept
        if not (hold.nodes and last.stand_ins == rims.stand_in_ids):
            last.stand_ins = rims.stand_in_ids
            last.nodes = list(graph.check_nodes(workflow, last.stand_ins, places))
        if not hold.edges:
            last.edges = list(graph.check_edges_and_paths(workflow, rims, places))
            if workflow.forget_overflow():
                last.edges = list(graph.check_edges_and_paths(workflow, rims, places))
        if not (hold.texts and last.book == book):
            last.book = book
            last.texts = [*prompt_rules.check(workflow, own, book, front), *parameter_rules.check(workflow)]
        return [*found, *last.nodes, *last.edges, *last.texts, *plain_rules.check(workflow, own, front)]

    def _type(self, flow: Flow, settings: WorkflowSettings) -> tuple[TypedGraph, _Hold]:
        """The typed graph, and what of the findings of the last time still holds."""
        last, redrawn = self._typed, self._redrawn
        if last is None or redrawn is None or last.settings is not settings or last.flow is not self._before:
            self._typed = typed.build(flow, settings, None if last is None else last.core.language)
            return self._typed, _Hold()
        delta = redrawn.delta
        core = last.core if flow.chart is last.core.drawn else last.core.infer(delta, flow.chart)
        self._typed = last.after(flow, core)
        if flow.moved is not last.flow.moved:
            return self._typed, _Hold()
        # Fixes add lines at the end of the text, and where it has class definitions.
        same_scenery = flow.scenery is last.flow.scenery and flow.last_block is last.flow.last_block
        if core is last.core:
            return self._typed, _Hold(nodes=same_scenery, edges=True, texts=same_scenery)
        if same_scenery and redrawn.nodes_only and _only_parameters_differ(last.core, core, delta.nodes):
            # A new label seldom changes what is said of the graph.
            found = [*self._kept.nodes, *self._kept.edges]
            holds = not any(_touches(diagnostic, redrawn.lines) for diagnostic in found)
            return self._typed, _Hold(nodes=holds, edges=holds)
        holds = same_scenery and redrawn.references_only and _same_meaning(last.core, core, delta.nodes)
        return self._typed, _Hold(nodes=holds, texts=holds)


@dataclass(slots=True)
class _Kept:
    """Findings about a workflow, kept from one analysis to the next: about nodes, about edges, about what is written.

    ``stand_ins`` and ``book`` are what the first and the last are about besides the graph.
    """

    nodes: list[Diagnostic] = field(default_factory=list)
    edges: list[Diagnostic] = field(default_factory=list)
    texts: list[Diagnostic] = field(default_factory=list)
    stand_ins: frozenset[str] = frozenset()
    book: PromptBook | None = None


@dataclass(frozen=True, slots=True)
class _Hold:
    """Which findings in `_Kept` still hold."""

    nodes: bool = False
    edges: bool = False
    texts: bool = False


def _same_meaning(old: Graph, new: Graph, names: Iterable[str]) -> bool:
    """Whether these nodes of both graphs are what they were."""
    pairs = [(old.handles.get(name), new.handles.get(name)) for name in names]
    return all(
        one is not None
        and one == other
        and old.resolutions[one] is new.resolutions[one]
        and one not in old.marks.conflicts
        and one not in new.marks.conflicts
        for one, other in pairs
    )


def _only_parameters_differ(old: Graph, new: Graph, names: Iterable[str]) -> bool:
    """Whether these nodes have the operators, ports and places in the graph that they had, and nothing is wrong with them."""
    if old.shape is not new.shape or old.marks is not new.marks:
        return False
    rims = old.shape.rims
    for name in names:
        handle = new.handles[name]
        if handle in rims or handle in new.marks.conflicts:
            return False
        if old.placements[handle] is not new.placements[handle]:
            return False
        if not _same_ports(old.resolutions[handle], new.resolutions[handle]):
            return False
    return True


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
    """Whether anything in a finding speaks of one of these lines."""
    ranges = [diagnostic.range, *(related.range for related in diagnostic.related)]
    ranges += [edit.range for fix in diagnostic.fixes for edit in fix.edits]
    return any(place.start.line in lines or place.end.line in lines for place in ranges)


def _with_line_ending(diagnostic: Diagnostic, ending: str) -> Diagnostic:
    """``diagnostic`` with fixes that write the file's own line ending."""
    if not any("\n" in edit.new_text for fix in diagnostic.fixes for edit in fix.edits):
        return diagnostic
    fixes = [
        replace(fix, edits=tuple(with_line_ending(edit, ending) for edit in fix.edits)) for fix in diagnostic.fixes
    ]
    return replace(diagnostic, fixes=tuple(fixes))


def _order(diagnostic: Diagnostic) -> tuple[Range, str, str]:
    return diagnostic.range, diagnostic.code, diagnostic.message


_ALONE = Diagram(), Flow()


def _is_notable(block: Block) -> bool:
    """Whether the rules about syntax have anything to say about a block, or look at it together with others."""
    if not syntax_rules.is_notable(block):
        return False
    return any(type(statement) is not Chain for statement in block.statements) or bool(
        syntax_rules.check(*_ALONE, [block])
    )


def _replaced(
    blocks: list[Block], gone: set[Block], new: Iterable[Block], wanted: Callable[[Block], bool], diagram: Diagram
) -> list[Block]:
    """The blocks without those that are gone, with those of the new ones that are wanted, in order."""
    kept = [block for block in blocks if block not in gone]
    for block in new:
        if wanted(block):
            insort(kept, block.origin or block, key=lambda one: diagram.here(one).line)
    return kept
