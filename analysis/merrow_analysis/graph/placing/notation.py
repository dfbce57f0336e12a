"""What edge labels say: ``port``, ``output:port``, ``output:``, and out of a Decision ``case``, ``case:port``,
``case:after``; where the case carries a record, ``case:field:port`` and ``case:field:`` (`merrow_analysis.graph.placing.ports`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

AFTER = "after"
"""In place of a port: the case edge gives the order alone."""


class EdgeLabel(NamedTuple):
    """The parts of a label. None stands for what it doesn't say; ``case`` only out of a Decision, where ``output``
    is a field of what it carries.

    ``words`` is the whole label where it names no port of a plain step, and only tells people something.
    """

    output: str | None = None
    port: str | None = None
    case: str | None = None
    after: bool = False
    words: str | None = None


UNLABELLED = EdgeLabel()


def read_label(text: str | None, *, from_decision: bool) -> EdgeLabel:
    """Read an edge's label. Out of a Decision, a last part that can't name a port belongs to the case."""
    if text is None:
        return UNLABELLED
    text = text.strip()
    head, colon, tail = (part.strip() for part in text.rpartition(":"))
    if from_decision:
        if not colon or not head or not _NAME.fullmatch(tail):
            return EdgeLabel(case=text or None)
        if tail.casefold() == AFTER:
            return EdgeLabel(case=head, after=True)
        return EdgeLabel(case=head, port=tail)
    if not colon:
        return EdgeLabel(port=text or None)
    return EdgeLabel(output=head or None, port=tail or None)


def first_word(label: EdgeLabel) -> str:
    """What stands first of the names in a label: an output, else a port, or what is before a colon in it."""
    return (label.output or label.port or "").partition(":")[0].strip()
