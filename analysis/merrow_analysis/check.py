"""From a text to its diagnostics: the whole pipeline, once (`analyse`) or kept up to date under edits (`Analyser`)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from merrow_analysis.consequences import explained_by_syntax, unexplained
from merrow_analysis.definitions.configuration import Config
from merrow_analysis.definitions.front_matter import EMPTY
from merrow_analysis.definitions.libraries import with_libraries
from merrow_analysis.definitions.prompts import PromptBook, collect_prompts
from merrow_analysis.definitions.provider import Provider
from merrow_analysis.definitions.settings import NO_SETTINGS, WorkflowSettings, read_settings
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.document import Change, Document
from merrow_analysis.graph import typed
from merrow_analysis.graph.flow import Flow
from merrow_analysis.graph.fold import fold
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.patch import named_in, only_references, patch, relabelled
from merrow_analysis.graph.typed import TypedCache
from merrow_analysis.graph.update import relabel, update
from merrow_analysis.rules import (
    configuration_rules,
    front_matter_rules,
    graph,
    parameter_rules,
    prompt_rules,
    syntax_rules,
)
from merrow_analysis.rules import run_rules as _run_rules  # noqa: F401 - only registered here: no check finds them
from merrow_analysis.rules.path_rules import find_rims
from merrow_analysis.suppressions import apply as apply_suppressions
from merrow_analysis.suppressions import has_suppression
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, Chain
from merrow_analysis.text import Position, Range, TextEdit

_TOP = Range(Position(0, 0), Position(0, 0))


@dataclass(slots=True, eq=False)
class Analysis:
    """What is known about one text. ``typed`` and ``prompts`` are for a workflow only; diagnostics are in the text's order."""

    diagram: Diagram
    flow: Flow
    settings: WorkflowSettings = NO_SETTINGS
    typed: TypedGraph | None = None
    prompts: PromptBook = field(default_factory=PromptBook)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def is_workflow(self) -> bool:
        return self.typed is not None

    @property
    def is_valid(self) -> bool:
        """Q(G): no error is left."""
        return not any(diagnostic.severity is Severity.ERROR for diagnostic in self.diagnostics)


def analyse(
    text: str, *, path: str | None = None, provider: Provider | None = None, config: Config | None = None
) -> Analysis:
    """Check one diagram.

    ``path`` is the file's, relative to the configuration, for its per-path settings; ``provider`` hands out the files
    that the workflow names. Never raises; takes time linear in the text.
    """
    return Analyser(text, path=path, provider=provider, config=config).analysis()


class Analyser:
    """A text with what was worked out for it, kept from one edit to the next."""

    def __init__(
        self, text: str, *, path: str | None = None, provider: Provider | None = None, config: Config | None = None
    ) -> None:
        self.document = Document(text)
        self.path = path
        self.provider = provider
        self.config = config if config is not None else Config()
        self._cache = TypedCache()
        self._flow: Flow | None = None
        self._notable: list[Block] = []
        self._suppressing: list[Block] = []
        self._typed: TypedGraph | None = None
        self._kept = _Kept()
        # What changed since the last analysis; None where it may be anything.
        self._patched: _Patched | None = None

    def edit(self, edit: TextEdit) -> None:
        """Replace a range of the text."""
        self.document.edit(edit)

    def analysis(self) -> Analysis:
        """The analysis of the text as it is now."""
        diagram = self.document.diagram
        flow = self._update()
        analysis = Analysis(diagram, flow)
        found: list[Diagnostic] = syntax_rules.check(diagram, flow, self._notable)
        if diagram.is_flowchart:
            found = [*found, *explained_by_syntax(self._meaning(analysis), found, diagram, self._notable)]
        if self._suppressing:
            kept, extra = apply_suppressions(diagram.blocks, found, report_unused=analysis.is_workflow)
            found = [*kept, *extra]
        diagnostics = unexplained(self.config.apply(found, self.path))
        diagnostics.sort(key=_order)
        analysis.diagnostics = diagnostics
        return analysis

    def _update(self) -> Flow:
        """The flowchart of the blocks as they are now, and which of them the rules about syntax and suppressions look at."""
        document = self.document
        blocks, changes = document.diagram.blocks, document.changes
        flow = self._flow
        self._patched = None
        if flow is None or changes is None:
            self._notable = [block for block in blocks if _is_notable(block)]
            self._suppressing = [block for block in blocks if has_suppression(block)]
            flow = fold(blocks)
        else:
            patched = True
            names: list[str] = []
            only_labels = True
            for old, new in changes:
                only_labels = only_labels and relabelled(old, new)
                names += (*named_in(old), *named_in(new))
                gone = {id(block) for block in old}
                self._notable = _replaced(self._notable, gone, new, _is_notable)
                self._suppressing = _replaced(self._suppressing, gone, new, has_suppression)
                patched = patched and patch(flow, old, new)
            if not patched:
                flow = fold(blocks)
            else:
                lines = {block.line for _, new in changes for block in new} if only_labels else None
                self._patched = _Patched(names, lines, _only_edges(changes, flow))
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
        if not typed.is_workflow(flow, settings):
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
        return [*found, *last.nodes, *last.edges, *last.texts]

    def _type(self, flow: Flow, settings: WorkflowSettings) -> tuple[TypedGraph, _Hold]:
        """The typed graph, and what of the findings of the last time still holds."""
        last, patched = self._typed, self._patched
        if last is not None and patched is not None and last.flow is flow and last.settings is settings:
            if patched.lines is not None and relabel(last, patched.names, self._cache):
                # A new label seldom changes what is said of the graph.
                found = [*self._kept.nodes, *self._kept.edges]
                holds = not any(_touches(diagnostic, patched.lines) for diagnostic in found)
                return last, _Hold(nodes=holds, edges=holds)
            updated = update(last, patched.names, self._cache)
            if updated is not None:
                holds = updated == "edges" and patched.only_edges
                return last, _Hold(nodes=holds, texts=holds)
        self._typed = typed.build(flow, settings, cache=self._cache)
        return self._typed, _Hold()


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


@dataclass(frozen=True, slots=True)
class _Patched:
    """What edits changed that `patch` took over: the nodes named in the blocks they replaced, or put there.

    ``lines`` are those edited where nothing but labels and metadata may have changed, on the same lines; else None.
    ``only_edges`` says that nothing but edges changed: what is written at nodes stands where it stood, and no line moved.
    """

    names: list[str]
    lines: set[int] | None
    only_edges: bool


def _only_edges(changes: Iterable[Change], flow: Flow) -> bool:
    """Whether changed blocks say nothing about single nodes, are not the first to mention one, and move no line."""
    for old, new in changes:
        if sum(block.line_count for block in old) != sum(block.line_count for block in new):
            return False
        if not (only_references(old) and only_references(new)):
            return False
        changed = {id(block) for block in new}
        if any(id(flow.nodes[name].mentions[0].block) in changed for name in named_in(new)):
            return False
    return True


def _touches(diagnostic: Diagnostic, lines: set[int]) -> bool:
    """Whether anything in a finding speaks of one of these lines."""
    ranges = [diagnostic.range, *(related.range for related in diagnostic.related)]
    ranges += [edit.range for fix in diagnostic.fixes for edit in fix.edits]
    return any(place.start.line in lines or place.end.line in lines for place in ranges)


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
    blocks: list[Block], gone: set[int], new: Iterable[Block], wanted: Callable[[Block], bool]
) -> list[Block]:
    """The blocks without those that are gone, with those of the new ones that are wanted, in order."""
    kept = [block for block in blocks if id(block) not in gone]
    for block in new:
        if wanted(block):
            insort(kept, block, key=_line)
    return kept


def _line(block: Block) -> int:
    return block.line
