"""How large a workflow may be that is a value: one that a model plans, or that a file writes as a ``default:``."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.step_text import step_text
from merrow_analysis.document import Document
from merrow_analysis.graph.drawings.drawing import is_diamond
from merrow_analysis.graph.drawings.fold import fold
from merrow_analysis.graph.records import WrittenNode

LONGEST = 50_000
"""Characters of a planned workflow."""

MOST_NODES = 50
"""Boxes of one, where the caller does not say how many."""

MOST_DECISIONS = 12
"""What is passed on through Decisions in a row grows with each of them, and so does the time to check it."""

_MOST_JOINED = 200
"""Boxes in lists like ``A & B``: each of one list leads to each of the next."""


def oversized(text: str, boxes: int = MOST_NODES) -> Iterator[str]:
    """What is too large to be looked at more closely: while a text is checked, the run waits."""
    if len(text) > LONGEST:
        yield f"It has {len(text):,} characters; at most {LONGEST:,} are read."
        return
    if text.count("&") > _MOST_JOINED:
        yield f"It has more than {_MOST_JOINED} `&`; draw fewer arrows."
        return
    diagram = Document(text).diagram
    nodes = fold(diagram.blocks, diagram.moved).chart.nodes if diagram.is_flowchart else {}
    decisions = sum(map(_may_decide, nodes.values()))
    if len(nodes) > boxes:
        yield f"It has {len(nodes)} nodes; at most {boxes} are run."
    if decisions > MOST_DECISIONS:
        yield f"It has {decisions} Decisions; at most {MOST_DECISIONS} are run."


def _may_decide(record: WrittenNode) -> bool:
    """Whether a node is drawn as a Decision, or may be written as one."""
    label = "" if record.label is None else f"{record.label.text} {step_text(record.label.text)}"
    ops = (parse_metadata(metadata.body).values.get("op") for metadata, _ in record.metadata)
    words = " ".join([label, *(use.name.text for use in record.classes), *map(str, ops)])
    return is_diamond(record) or "decision" in words.casefold()
