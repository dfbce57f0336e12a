"""A Map without its list: nothing in it runs, nor what only it feeds, also around the Loop that it lies in."""

from __future__ import annotations

from merrow_analysis.check import analyse
from merrow_runtime.errors import NodeFailure
from merrow_runtime.frontier import Failed, Frontier, Gave, Outcome, Skip, Start


def test_a_map_whose_list_failed_is_skipped_with_what_reads_it() -> None:
    text = """---
workflow: {model: m}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    SECOND([Second]):::Interface
    A["Custom (prompt: a)"]:::CustomOp
    subgraph ROUND["Loop (max: 1)"]
        LIST["Custom (prompt: l, returns: 'list[Text]', on_error: skip)"]:::CustomOp
        subgraph EACH["Map (max: 9)"]
            ITEM["Custom (prompt: i)"]:::CustomOp
            OTHER["Custom (prompt: o)"]:::CustomOp
        end
    end
    JOIN["Custom (prompt: j)"]:::CustomOp
    PROBLEM -->|input| A
    A -->|input| LIST
    A -->|input| OTHER
    LIST -->|each:input| ITEM
    OTHER -.->|again:input| ITEM
    OTHER -->|input| JOIN
    ITEM -->|input| JOIN
    JOIN --> SECOND
    A --> RETURN
"""
    analysis = analyse(text)
    assert not analysis.errors, analysis.errors
    assert analysis.typed is not None
    graph = analysis.typed
    frontier = Frontier(graph)
    pending = list(frontier.begin())
    seen: dict[str, str] = {}
    for one in pending:
        if isinstance(one, Skip):
            seen[one.node.id] = "skipped"
        elif isinstance(one, Start):
            seen[one.node.id] = "started"
            if one.node.id == "LIST":
                outcome: Outcome = Failed(one.visit, NodeFailure("no"), ends=False)
            else:
                outcome = Gave(one.visit, dict.fromkeys(one.node.outputs or {"result": None}, "x"))
            pending += frontier.tell(outcome)
    assert {seen[name] for name in ("ITEM", "OTHER", "JOIN")} == {"skipped"}
