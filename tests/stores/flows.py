"""Workflows that use stores."""

from __future__ import annotations

from tests.people.flows import ENDS
from tests.tools.flows import CLASSES


def flow(stores: str, *lines: str, more: str = "") -> str:
    """A workflow that declares these stores, with these lines."""
    front = f"---\nworkflow:\n  stores: {{{stores}}}\n{more}---\n"
    return front + ENDS + "".join(f"    {line}\n" for line in lines) + CLASSES


def asks(stores: str, parameters: str, more: str = "") -> str:
    """A workflow that looks something up and gives the documents."""
    return flow(
        stores,
        f"FIND@{{ op: Retrieve, {parameters} }}",
        "PROBLEM -->|query| FIND",
        "FIND --> RETURN",
        more=more,
    )


LESSONS = flow(
    "lessons: {keep: 3}",
    "FIND@{ op: Retrieve, store: lessons, k: 10 }",
    "KEEP@{ op: Remember, store: lessons }",
    "AFTER@{ op: Retrieve, store: lessons, k: 10 }",
    "BEFORE([Before]):::Interface",
    "PROBLEM -->|query| FIND",
    "PROBLEM -->|text| KEEP",
    "KEEP -->|query| AFTER",
    "FIND --> BEFORE",
    "AFTER --> RETURN",
    more="  outputs: [BEFORE, RETURN]\n",
)
"""Looks something up, adds it, and looks it up again."""
