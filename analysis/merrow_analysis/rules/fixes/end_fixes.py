"""Fixes that write the ``end`` of subgraphs, and the numbers of edges that ``linkStyle`` names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.lines import indentation, insert_lines_after, without_statement
from merrow_analysis.rules.reporting import fix
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, LinkStyle, SubgraphEnd, SubgraphStart
from merrow_analysis.text import TextEdit

_MOST_OPEN = 50
"""Subgraphs that one fix closes: each of them offers it."""


def closed(starts: Sequence[Block], diagram: Diagram) -> Iterator[Fix]:
    """Close subgraphs that are open: a single one below its last indented line, or all of them at the end."""
    if len(starts) > _MOST_OPEN:
        return
    if len(starts) == 1:
        last = _last_inside(starts[0], diagram)
        if last is not None:
            edit = insert_lines_after(last, [f"{indentation(starts[0])}end"])
            yield fix("Close it after its last indented line", [edit], safe=False)
    # Each end closes the innermost subgraph, so only all of them together close an outer one.
    ends = [f"{indentation(block)}end" for block in reversed(starts)]
    title = "Close it at the end" if len(ends) == 1 else f"Close all {len(ends)} open subgraphs at the end"
    yield fix(title, [insert_lines_after(diagram.blocks[-1], ends)], safe=False)


def _last_inside(start: Block, diagram: Diagram) -> Block | None:
    """The last block that is indented more than the first line of a subgraph; None where nothing is written below those."""
    number = next(number for number, block in enumerate(diagram.blocks) if block.line == start.line)
    margin, last, depth = len(indentation(start)), start, 0
    for block in diagram.blocks[number + 1 :]:
        if not block.text.strip():
            continue
        if len(indentation(block)) <= margin:
            return None if last is start or depth else last
        depth += sum(
            isinstance(statement, SubgraphStart) - isinstance(statement, SubgraphEnd) for statement in block.statements
        )
        last = block
    return None


def link_style_fixes(statement: LinkStyle, block: Block, edges: int) -> Iterator[Fix]:
    """Leave out the edges that are not there, or write the last one above where none of them is; or remove the statement."""
    if edges and statement.targets is not None:
        there = [target for target in statement.targets if target < edges] or [edges - 1]
        written = ",".join(map(str, there))
        edit = TextEdit(block.range(statement.targets_span), written)
        yield fix(f"Write linkStyle {written}", [edit], safe=False)
    removal = without_statement(block, statement.span)
    if removal is not None:
        yield fix("Remove this linkStyle", [removal], safe=False)
