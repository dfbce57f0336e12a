"""A Call of a file gives way to what that file does: its nodes, under ids of their own, with their prompts and operators."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from itertools import count

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.places.symbols import symbol
from merrow_analysis.wiring.wires import joined
from merrow_optimizer.joining.front_matter import merged_front_matter
from merrow_optimizer.joining.layout import below_the_top, fitted_to, together
from merrow_optimizer.joining.merged_names import Merged, NamesError, Share, merge
from merrow_optimizer.joining.text import End, KeptPart, TextPiece, members
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.calls.labels import into_output, label
from merrow_optimizer.mutations.calls.meaning import begin_together, meaning, remembers_nothing, renamed, with_body
from merrow_optimizer.mutations.calls.rewriting import Rewriting, RewrittenWorkflow
from merrow_optimizer.mutations.original import Original, why_unchangeable

_SETTINGS = ("model", "temperature", "max_tokens", "seed", "timeout", "retries", "on_error")
"""What a file says for all its nodes, which must be the same in both."""


def inlinings(original: Original, files: Files, nodes: Iterable[TypedNode] | None = None) -> Iterator[Rewriting]:
    """Each Call of a file, of all or of some nodes, as what the file does, where both files say the same for all their nodes."""
    if files.provider is None:
        return
    for node in original.typed.nodes if nodes is None else nodes:
        path = called_path(node.resolution)
        if path is None or node.id in original.closed or {"on_error", "default"} & node.resolution.parameters.keys():
            continue
        body = _body(original, files, path)
        if body is not None:
            yield inlining(original, node, path, body)


def _body(original: Original, files: Files, path: str) -> Analysis | None:
    """The called file, where its nodes may be in the workflow."""
    try:
        callee = files.called(path)
    except ResourceError:
        return None
    graph, mine = callee.typed, original.analysis
    if graph is None or why_unchangeable(callee) is not None or callee.errors:
        return None
    if any(getattr(callee.settings, key) != getattr(mine.settings, key) for key in _SETTINGS):
        return None
    if not remembers_nothing(callee) or not remembers_nothing(mine) or mine.settings.on_error not in (None, "fail"):
        return None
    is_elsewhere = bool(posixpath.dirname(posixpath.normpath(path)))
    for node in graph.nodes:
        if "on_error" in node.resolution.parameters or node.implied:
            return None
        called = called_path(node.resolution)
        if called is not None and (is_elsewhere or files.leads_back(called, path)):
            return None
    return callee


def inlining(original: Original, call: TypedNode, path: str, body: Analysis) -> Rewriting:
    """The move that puts the nodes of a file in place of a Call of it."""

    def rewritten() -> RewrittenWorkflow:
        inline = _Inline(original, call, body)
        return RewrittenWorkflow(inline.text(), inline.means_the_same, taken=(body,))

    name = posixpath.basename(path)
    return Rewriting(
        f"Inline {call.id}: its nodes are those of {name}", call.flow.range, ("inline", call.id), rewritten
    )


class _Inline:
    def __init__(self, original: Original, call: TypedNode, body: Analysis) -> None:
        if body.typed is None:
            raise CannotWriteError("The called file is not a workflow.")
        self.original, self.call, self.body = original, call, body
        self.numbers = count(-1, -1)
        """For edges that are written again: those of the text are numbered from 0."""
        self.theirs: TypedGraph = body.typed
        self.inputs = {node.id for node in self.theirs.inputs}
        self.outputs = [node.id for node in self.theirs.outputs]
        self.inside = frozenset(node.id for node in self.theirs.nodes) - self.inputs - set(self.outputs)
        self.kept = frozenset(node.id for node in original.typed.nodes) - {call.id}
        host = Share(original.analysis, original.typed, self.kept)
        try:
            self.merged: Merged = merge(host, Share(body, self.theirs, self.inside), {})
        except NamesError as problem:
            raise CannotWriteError(str(problem)) from None
        self.names = {node: self.merged.names.get(symbol("node", node), node) for node in self.inside}

    def means_the_same(self, after: Analysis) -> bool:
        """Whether a mutant does what the workflow does with the body in place of the Call."""
        names = dict(self.names)
        for box in self.theirs.composites:
            names[box.id] = self.merged.names.get(symbol("subgraph", box.id), box.id)
        inputs, outputs = sorted(self.inputs), list(self.call.outputs)
        ends = {*self.inputs, *self.outputs}
        theirs = renamed(meaning(self.body), {old: new for old, new in names.items() if old not in ends})
        wanted = with_body(
            meaning(self.original.analysis),
            self.call.id,
            theirs,
            inputs,
            [name for name in outputs if name in self.outputs],
        )
        if after.typed is None or meaning(after) != wanted:
            return False
        part = frozenset(self.names.values())
        last = [self.names[edge.source.id] for feeding in self._fed().values() for edge in feeding]
        return all(begin_together(after.typed, part, node) for node in last)

    def text(self) -> str:
        """The workflow's text with the body in it. Raises `CannotWriteError`."""
        host = self._host()
        donor = self._donor()
        merged = self.merged
        front = merged_front_matter(
            self.original.analysis,
            merged.prompts,
            merged.unused,
            merged.types,
            merged.operators,
            merged.agents,
            merged.validators,
        )
        mine = [piece for piece in host.pieces() if piece.kind != "front"]
        theirs = [piece for piece in fitted_to(mine, below_the_top(donor.pieces())) if piece.kind != "blank"]
        mine = [part for piece in mine for part in (piece, *self._more(piece))]
        led = set(donor.led)
        last: list[TextPiece] = []
        structure: list[TextPiece] = []
        depth = 0
        for piece in theirs:
            if piece.kind == "group" and piece.text.strip():
                depth += 1 if piece.text.lstrip().startswith("subgraph") else -1 if piece.text.strip() == "end" else 0
            goes_last = piece.kind in ("links", "look") or (
                piece.kind == "edge" and (not depth or led.intersection(piece.edges))
            )
            (last if goes_last else structure).append(piece)
        place = next((n for n, piece in enumerate(mine) if piece.kind == "node" and piece.gone), len(mine))
        ordered = [*((part, 0) for part in mine[:place]), *((part, 1) for part in structure)]
        ordered += [*((part, 0) for part in mine[place:]), *((part, 1) for part in last)]
        eol = self.original.workflow_text.eol
        return front + together([(part, owner) for part, owner in ordered if part.text], eol)

    def _fed(self) -> dict[str, list[TypedEdge]]:
        """The edges of the body that feed each output that the workflow reads. Raises `CannotWriteError`."""
        fed: dict[str, list[TypedEdge]] = {}
        for edge in self.call.ways:
            name = edge.output
            feeding = [] if name is None or name not in self.theirs.by_id else self.theirs.by_id[name].incoming
            if name is None or not feeding:
                raise CannotWriteError(f"Not all that {self.call.id} gives comes from a node of the called file.")
            if any(len(feed.feeds) != 1 or feed.source.id not in self.inside for feed in feeding):
                raise CannotWriteError(f"Not all that {self.call.id} gives comes from a node of the called file.")
            fed[name] = feeding
        return fed

    def _host(self) -> KeptPart:
        flow = self.original.flow
        fed = self._fed()
        led = {edge.flow.index: self._led(edge, fed[edge.output or ""][0]) for edge in self.call.ways}
        edges = {edge.index for edge in flow.edges if {edge.source.id, edge.target.id} <= self.kept}
        return KeptPart(
            self.original.analysis,
            self.kept,
            frozenset(edges | led.keys()),
            led,
            {},
            frozenset(flow.class_defs),
            is_host=True,
        )

    def _led(self, edge: TypedEdge, inner: TypedEdge) -> End:
        """An edge from the Call as one from the node of the body that feeds the output."""
        port = edge.placed.label.port
        if inner.case_label is not None:
            field = inner.placed.label.output
            end = joined(field, port if edge.target.kind == "output" else edge.feeds[0].port)
            written: str | None = ":".join(part for part in (inner.case_label, edge.word, end) if part is not None)
        else:
            written = label(edge.word or inner.word, _named(inner), port)
        if written is None and edge.flow.arrow.label is not None:
            written = into_output(inner) if edge.target.kind == "output" else edge.feeds[0].port
        return End(self.names[inner.source.id], edge.target.id, written)

    def _more(self, piece: TextPiece) -> Iterator[TextPiece]:
        """Lines for further nodes that feed what the edges of a piece bring now."""
        fed = self._fed()
        for edge in self.call.ways:
            if edge.flow.index in piece.edges:
                indent = piece.text[: len(piece.text) - len(piece.text.lstrip())]
                eol = self.original.workflow_text.eol
                for inner in fed[edge.output or ""][1:]:
                    source, target, written = self._led(edge, inner)
                    bars = "" if written is None else f"|{written}|"
                    yield TextPiece("edge", f"{indent}{source} -->{bars} {target}{eol}", (next(self.numbers),))

    def _donor(self) -> KeptPart:
        flow = self.body.flow
        given: dict[str, TypedEdge] = {}
        for edge in self.call.incoming:
            if len(edge.feeds) != 1 or edge.feeds[0].port in given or edge.source.kind == "decision":
                raise CannotWriteError(f"What {self.call.id} reads does not come from one place each.")
            given[edge.feeds[0].port] = edge
        led: dict[int, End] = {}
        for name in self.inputs:
            for edge in self.theirs.by_id[name].outgoing:
                if name not in given or edge.target.id not in self.inside:
                    raise CannotWriteError(f"Nothing feeds {name} of the called file, or it is handed on as it is.")
                outer = given[name]
                word = outer.word or edge.word
                written = label(word, _named(outer), edge.placed.label.port)
                if written is None and edge.flow.arrow.label is not None:
                    written = edge.feeds[0].port
                led[edge.flow.index] = End(outer.source.id, self.names[edge.target.id], written)
        own = {edge.index for edge in flow.edges if {edge.source.id, edge.target.id} <= self.inside}
        used = {use.name.text for name in self.inside for use in flow.nodes[name].classes}
        groups = [name for name in flow.subgraphs if self.inside.intersection(members(flow, name))]
        used |= {use.name.text for name in groups for use in flow.subgraphs[name].classes}
        mine, renames = self.original.flow.class_defs, self.merged.names
        classes = frozenset(name for name in used if symbol("class", name) in renames or name not in mine)
        edges = frozenset(own | led.keys())
        return KeptPart(self.body, self.inside, edges, led, renames, classes, is_host=False)


def _named(edge: TypedEdge) -> str | None:
    """The output of an edge, None for the default one."""
    return None if edge.output == next(iter(edge.source.outputs), None) else edge.output
