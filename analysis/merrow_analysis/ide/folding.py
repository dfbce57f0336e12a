"""What can be folded away: front matter, subgraphs, metadata over several lines, and runs of comments and class lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from merrow_analysis.check import Analysis
from merrow_analysis.ide.subgraphs import stretches
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, Chain, ClassAssign, ClassDef, Comment, Style

FoldKind = Literal["comment", "region"]


@dataclass(frozen=True, slots=True)
class Fold:
    """Lines that fold into the first of them; both are counted from zero and folded lines include ``last``."""

    first: int
    last: int
    kind: FoldKind | None = None


def folds(analysis: Analysis) -> list[Fold]:
    """Everything that folds, in the order of the text; never two folds of the same lines."""
    diagram = analysis.diagram
    regions = [*_front_matter(diagram), *_subgraphs(diagram), *_runs(diagram), *_long_statements(diagram)]
    unique = {(fold.first, fold.last): fold for fold in reversed(regions) if fold.last > fold.first}
    return [unique[place] for place in sorted(unique)]


def _front_matter(diagram: Diagram) -> Iterator[Fold]:
    if diagram.front_matter is not None:
        front, block = diagram.front_matter
        start, end = block.range(front.span)
        yield Fold(start.line, end.line if end.column else max(start.line, end.line - 1), "region")


def _subgraphs(diagram: Diagram) -> Iterator[Fold]:
    for stretch in stretches(diagram):
        last = stretch.end.line - (1 if stretch.closed or not stretch.end.column else 0)
        # The line of a subgraph's `end` stays in sight.
        yield Fold(stretch.range.start.line, last)


def _long_statements(diagram: Diagram) -> Iterator[Fold]:
    for block in diagram.blocks:
        if block.line_count < 2:
            continue
        for statement in block.statements:
            if isinstance(statement, Chain):
                for group in statement.groups:
                    for vertex in group:
                        if vertex.metadata is not None:
                            start, end = block.range(vertex.metadata.span)
                            yield Fold(start.line, end.line)


def _runs(diagram: Diagram) -> Iterator[Fold]:
    """Neighbouring lines of one kind: comments, class definitions, class assignments."""
    first: Block | None = None
    last: Block | None = None
    kind: str | None = None
    for block in (*diagram.blocks, None):
        now = _run_kind(block) if block is not None else None
        if block is not None and last is not None and now == kind and now is not None:
            last = block
            continue
        if first is not None and last is not None and first is not last:
            yield Fold(first.line, _last_line(last), "comment" if kind == "comment" else "region")
        first = last = block if now is not None else None
        kind = now


def _run_kind(block: Block) -> str | None:
    kinds = {_KINDS.get(type(statement)) for statement in block.statements}
    return kinds.pop() if len(kinds) == 1 else None


def _last_line(block: Block) -> int:
    return block.line + max(block.line_count, 1) - 1


_KINDS = {Comment: "comment", ClassDef: "class", ClassAssign: "class", Style: "style"}
