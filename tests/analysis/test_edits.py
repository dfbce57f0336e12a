"""A change written as edits and read again gives the graph that its delta infers to, and nothing else is touched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.optimizer.mutation_checks import rough_workflows
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, as_it_is, label_of
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.edits.replacements import CannotWriteError, edits_both_ways
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.edits.write import write
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.markdown import find_fences
from merrow_analysis.text import TextEdit, apply_edits, split_lines

PROMPTS = "---\nworkflow:\n  prompts:\n    solver: Solve it.\n    critic: |\n      Find\n      mistakes.\n---\n"
LABELS = [None, None, "input", "solution", "problem", "response:input", "two words", "a, b"]
TEXTS = ["one", "in two\nlines\n", 'with "quotes"', "#hash; %%{ and: so on"]


@st.composite
def written_workflows(draw: st.DrawFn) -> str:
    """Workflows as people write them, at times with prompts in the front matter, a comment that speaks of a line, LF or CRLF."""
    text = draw(workflows() | rough_workflows())
    if draw(st.booleans()) and not text.startswith("---"):
        eol = "\r\n" if "\r\n" in text else "\n"
        text = PROMPTS.replace("\n", eol) + text
    return text


@st.composite
def graph_changes(draw: st.DrawFn, graph: TypedGraph, with_prompts: bool) -> GraphChange:
    """Some nodes gone, some come, some with another operator, some edges dropped, led elsewhere, relabelled or joined."""
    nodes = [node for node in graph.nodes if node.spec is not None and not node.spec.is_decision]
    ids = [graph.node(number).id for number in graph.order]
    gone = frozenset(node.id for node in draw(st.lists(st.sampled_from(nodes), max_size=2, unique=True)))
    assume(not any(gone.issuperset(group.nodes) for group in graph.flow.subgraphs.values()))
    specs = [spec for spec in graph.operators.specs.values() if not spec.is_decision]
    stay = [name for name in ids if name not in gone]
    new = [
        _described(draw, f"NEW_{number}", draw(st.sampled_from(specs)), draw(st.sampled_from(stay)), with_prompts)
        for number in range(draw(st.integers(0, 2)))
    ]
    left = [node for node in nodes if node.id not in gone]
    chosen = draw(st.lists(st.sampled_from(left), max_size=1)) if left else []
    substituted = {node.id: _instead(node, draw(st.sampled_from(specs))) for node in chosen}
    for node in new:
        stay.insert(draw(st.integers(1, len(stay) - 1)), node.id)
    edges: dict[int, tuple[WantedEdge, ...]] = {}
    for edge in graph.flow.edges:
        if gone.isdisjoint((edge.source.id, edge.target.id)) and draw(st.integers(0, 3)):
            continue
        edges[edge.index] = tuple(_put(draw, edge, stay, gone))
    return GraphChange(added=tuple(new), removed=gone, substituted=substituted, edges=edges)


def _described(draw: st.DrawFn, name: str, spec: OperatorSpec, beside: str, with_prompts: bool) -> NewNode:
    if spec.instruction_key is None:
        return NewNode(name, spec, beside)
    text = draw(st.sampled_from([None, *TEXTS]))
    role = f"role of {name}" if draw(st.booleans()) else f"role_{name}"
    inside = None if text is None or not with_prompts else role
    return NewNode(name, spec, beside, role, text, prompt_name=inside)


def _instead(node: TypedNode, spec: OperatorSpec) -> NewNode:
    """Another operator that keeps what it knows of the node's parameters."""
    allowed = spec.allowed_parameters()
    kept = {key: one.value for key, one in node.resolution.parameters.items() if key in allowed and key != "op"}
    role = role_of(node)
    if role is not None and role[0] not in kept and spec.instruction_key is not None:
        kept[spec.instruction_key] = role[1]
    return NewNode(node.id, spec, node.id, parameters=tuple(kept.items()))


def _put(draw: st.DrawFn, edge: FlowEdge, stay: list[str], gone: frozenset[str]) -> Iterator[WantedEdge]:
    """What takes an edge's place; each edge leads forward in ``stay``, for on a cycle types depend on the order of nodes."""
    kept = as_it_is(edge)
    if draw(st.booleans()):
        kept = _between(draw, stay)._replace(label=kept.label, kept=True)
    if draw(st.booleans()):
        kept = kept._replace(label=draw(st.sampled_from(LABELS)))
    yield from (_between(draw, stay) for _ in range(draw(st.integers(0, 1))))
    if gone.isdisjoint((kept.source, kept.target)) and draw(st.integers(0, 4)):
        yield kept
    yield from (_between(draw, stay) for _ in range(draw(st.integers(0, 1))))


def _between(draw: st.DrawFn, stay: list[str]) -> WantedEdge:
    first, last = sorted(draw(st.lists(st.integers(0, len(stay) - 1), min_size=2, max_size=2, unique=True)))
    return WantedEdge(stay[first], stay[last], draw(st.sampled_from(LABELS)))


def picture(graph: TypedGraph) -> dict[str, object]:
    """What is promised of a graph: operators, and the edges into each node in order, with ports and types."""
    return {
        node.id: (
            node.kind,
            node.operator,
            {key: one.value for key, one in node.resolution.parameters.items() if key != "op"},
            [(edge.source.id, label_of(edge.flow), edge.case, edge.placed) for edge in node.incoming],
        )
        for node in graph.nodes
    }


def written(analysis: Analysis, change: GraphChange) -> tuple[str, tuple[TextEdit, ...], str] | None:
    """The text and edits that make a change, and what undoing them gives; None where it can't be written."""
    assert analysis.typed is not None
    workflow_text = WorkflowText(analysis.diagram, analysis.typed)
    try:
        text, edits, back = edits_both_ways(workflow_text.places, write(workflow_text, change))
    except CannotWriteError:
        return None
    return text, edits, apply_edits(text, back)


def is_concerned(line: str, analysis: Analysis, change: GraphChange) -> bool:
    """Whether a line names something that a change touches, or may be written beside."""
    edges = analysis.flow.edges
    ends = {name for index in change.edges for name in (edges[index].source.id, edges[index].target.id)}
    names = {*ends, *change.removed, *change.substituted, "linkStyle", *re.findall(r"\w+", PROMPTS)}
    return any(word in names for word in re.findall(r"\w+", line))


def test_what_is_written_is_what_was_inferred() -> None:
    counted = Counter[str]()

    @settings(suppress_health_check=list(HealthCheck), max_examples=38)
    @given(written_workflows(), st.booleans(), st.data())
    def check(text: str, in_markdown: bool, data: st.DataObject) -> None:
        analysis = analyse(text)
        assert analysis.typed is not None
        change = data.draw(graph_changes(analysis.typed, text.startswith("---\nworkflow:\n  prompts")))
        wanted = picture(graph_after(change, analysis.typed))
        done = written(analysis, change)
        counted["written" if done else "refused"] += 1
        if done is None:
            return
        after, edits, undone = done
        assert undone == text
        assert apply_edits(text, edits) == after
        if in_markdown:
            host = f"# A workflow\n\n> ```mermaid\n{''.join('> ' + line for line in split_lines(text))}"
            host = (host if host.endswith("\n") else host + "\n") + "> ```\n"
            (fence,) = find_fences(host)
            host = apply_edits(host, fence.edits_to_host(edits))
            after = find_fences(host)[0].text
        graph = analyse(after).typed
        assert graph is not None, after
        assert picture(graph) == wanted, f"{change}\n{text}\n{after}"
        kept = [line for line in split_lines(text) if not is_concerned(line, analysis, change)]
        lines = iter(split_lines(after))
        assert all(line.rstrip("\r\n") in (other.rstrip("\r\n") for other in lines) for line in kept), after

    check()
    assert counted["written"] > 3 * counted["refused"]


def test_a_line_comes_in_the_place_of_one_that_goes() -> None:
    text = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Return]):::Interface
    A["Custom<br/>(role: one)"]
    classDef Interface fill:#eee
    classDef CustomOp fill:#eee
    PROBLEM --> A --> RETURN
    class A CustomOp
"""
    analysis = analyse(text)
    assert analysis.typed is not None
    spec = analysis.typed.by_id["A"].spec
    assert spec is not None
    new = NewNode("B", spec, "PROBLEM", "two")
    links = {0: (WantedEdge("PROBLEM", "B", kept=True),), 1: (WantedEdge("B", "RETURN", kept=True),)}
    done = written(analysis, GraphChange(added=(new,), removed=frozenset({"A"}), edges=links))
    assert done is not None
    lines = text.replace("--> A -->", "--> B -->").replace("class A", "class B").split("\n")
    lines.insert(2, lines.pop(3).replace("A", "B").replace("one", "two"))
    assert done[0].split("\n") == lines
