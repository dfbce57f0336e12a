"""Fixes of ``class`` lines that give a class to what is not there, or not yet there."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.edits.node_writing import without_names
from merrow_analysis.edits.replacements import edits_both_ways
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.reporting import fix
from merrow_analysis.syntax.tree import Block, ClassAssign, Name
from merrow_analysis.text import Position, Range, TextEdit


def assigned_less(context: GraphContext, assign: ClassAssign, name: Name, block: Block) -> Iterator[Fix]:
    """Take one id from a ``class`` line, or the line where it is for nothing else."""
    workflow_text = asked(context).workflow_text
    try:
        replacements = without_names(
            workflow_text, workflow_text.written(assign, block), assign.ids, frozenset({name.text})
        )
    except ValueError:
        return
    edits = edits_both_ways(workflow_text.places, replacements)[1]
    title = "Remove this line" if len(assign.ids) == 1 else f"Remove {name.text} from this line"
    yield Fix(title, edits, Applicability.UNSAFE)


def assigned_later(flow: Flowchart, assign: ClassAssign, block: Block) -> Iterator[Fix]:
    """Move a ``class`` line below the whole flowchart."""
    if block.statements != (assign,) or block.line_count != 1 or flow.last_block.line <= block.line:
        return
    gone = TextEdit(Range(Position(block.line, 0), Position(block.line + 1, 0)), "")
    line = insert_lines_after(flow.last_block, [indentation(block) + block.text.strip()])
    yield fix("Move this line to the end", [gone, line], safe=False)
