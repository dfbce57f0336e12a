"""Each small change of workflows that declare their nodes inside chains and groups gives, written, the graph that was meant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.analysis.test_edits import picture, written

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, as_it_is
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedGraph

HEAD = "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
TEXTS = {
    "a chain that declares": HEAD + '    PROBLEM --> A["Custom<br/>(role: first)"] --> B["Custom"] --> RETURN\n',
    "groups that declare": HEAD
    + "    PROBLEM --> A[Custom] & B[AnswerGenerate] & C --> J[Custom] --> RETURN\n    C[Custom]\n",
    "a group of bare names": HEAD
    + "    A[Custom]\n    B[Custom]\n    C[Custom]\n    J[Custom]\n    PROBLEM --> A & B & C -->|input| J --> RETURN\n",
    "classes inside": HEAD
    + "    PROBLEM --> A:::CustomOp & B:::CustomOp --> J:::CustomOp --> RETURN\n    A[Custom]\n    classDef CustomOp fill:#eee\n",
    "metadata inside": HEAD
    + "    PROBLEM --> A@{ op: Custom, role: first } & B@{ op: Custom } -->|input| J@{ op: Custom } --> RETURN\n",
    "arrows of other forms": HEAD
    + "    PROBLEM ==> A[Custom] -- input --> B[Custom] -.-> C[Custom] e1@--> RETURN\n    A --o C\n    B <--> C\n",
    "an edge that several statements share": HEAD
    + "    PROBLEM --> A[Custom]; A --> B[Custom]; A --> B; B --> RETURN\n",
    "instructions in labels": HEAD
    + '    PROBLEM --> A["CustomCodeGenerate<br/>(instruction: first, temperature: 1)"] --> B[Custom] --> RETURN\n'
    + '    PROBLEM --> C["CustomCodeGenerate<br/>(temperature: 1, instruction: first)"] --> B\n'
    + '    PROBLEM --> D["CustomCodeGenerate<br/>(instruction: first)"] --> B\n',
    "parameters in labels": HEAD
    + '    PROBLEM --> A["Custom<br/>(role: first, temperature: 1)"] --> B["Custom<br/>(temperature: 1, role: b)"] --> RETURN\n'
    + '    PROBLEM --> C["Custom<br/>(role: third)"] --> B\n',
}


def changes(graph: TypedGraph) -> Iterator[GraphChange]:
    """Each edge dropped, relabelled, led elsewhere or doubled; each node removed, or given another operator; one added."""
    edges, order = graph.flow.edges, [graph.node(number).id for number in graph.order]
    for edge in edges:
        kept = as_it_is(edge)
        yield GraphChange(edges={edge.index: ()})
        for label in (None, "input", "two words"):
            yield GraphChange(edges={edge.index: (kept._replace(label=label),)})
        for name in order:
            if order.index(name) > order.index(kept.source) and name != kept.target:
                yield GraphChange(edges={edge.index: (kept._replace(target=name),)})
                yield GraphChange(edges={edge.index: (kept, WantedEdge(kept.source, name))})
            if order.index(name) < order.index(kept.target) and name != kept.source:
                yield GraphChange(edges={edge.index: (kept._replace(source=name),)})
    specs = {spec.name: spec for spec in graph.operators.specs.values()}
    for node in graph.nodes:
        if node.spec is None:
            continue
        touching = {edge.index: () for edge in edges if node.id in (edge.source.id, edge.target.id)}
        yield GraphChange(removed=frozenset({node.id}), edges=touching)
        for name in ("Custom", "CustomCodeGenerate", "AnswerGenerate", "ScEnsemble"):
            spec, role = specs[name], role_of(node)
            allowed = spec.allowed_parameters()
            said = {key: one.value for key, one in node.resolution.parameters.items() if key in allowed and key != "op"}
            if role is not None and role[0] not in said and spec.instruction_key is not None:
                said[spec.instruction_key] = role[1]
            yield GraphChange(substituted={node.id: NewNode(node.id, spec, node.id, parameters=tuple(said.items()))})
    new = NewNode("NEW", specs["Custom"], order[1], "new")
    for edge in edges:
        kept = as_it_is(edge)
        path = (WantedEdge(kept.source, "NEW"), kept._replace(source="NEW"))
        yield GraphChange(added=(new,), edges={edge.index: path})


def pairs(found: list[GraphChange]) -> Iterator[GraphChange]:
    """Two changes of different edges at once."""
    single = [one for one in found if not (one.added or one.removed or one.substituted)]
    for number, first in enumerate(single):
        for second in single[number + 1 :: 7]:
            if not first.edges.keys() & second.edges.keys():
                yield GraphChange(edges={**first.edges, **second.edges})


def is_as_meant(analysis: Analysis, text: str, change: GraphChange) -> bool | None:
    """Whether a change comes out as it was meant; None where it can't be written."""
    assert analysis.typed is not None
    wanted = picture(graph_after(change, analysis.typed))
    done = written(analysis, change)
    if done is None:
        return None
    after, _, undone = done
    graph = analyse(after).typed
    assert undone == text
    assert graph is not None
    assert picture(graph) == wanted, f"{change}\n{text}\n{after}"
    return True


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_each_small_change_is_written_as_it_was_meant(text: str) -> None:
    analysis = analyse(text)
    assert analysis.typed is not None
    found = list(changes(analysis.typed))
    outcomes = [is_as_meant(analysis, text, change) for change in (*found, *pairs(found))]
    assert outcomes.count(True) >= 40
