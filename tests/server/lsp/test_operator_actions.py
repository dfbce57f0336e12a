"""Steps that become operators, and operators that take the place of steps, by the code actions of an editor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.lsp.editor import MODERN, Editor, Json
from tests.server.lsp.test_code_action import asked, without
from tests.workflows import ROLES, workflows

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.step_operators.rewritings import declarations, uses

NAME_STEP, USE = "refactor.extract.operator", "refactor.rewrite.operator"
ONE, SEVERAL = "Name this step as an operator", "Name these steps as one operator"
FLOW = """---
workflow:
  prompts:
    solver: |
      Solve the problem.
      Show each step.
    planner: Make a plan.
---
flowchart TD
    PROBLEM([Problem])
    P["Custom<br/>(role: planner, returns: Plan)"]:::CustomOp
    A["Custom<br/>(role: solver)"]:::CustomOp
    B@{ op: Custom, prompt: "Solve it otherwise.", temperature: 0.5 }
    CODE@{ op: Programmer }
    VOTE["ScEnsemble<br/>"]
    RETURN([Return])
    class PROBLEM,RETURN Interface
    classDef Interface fill:#eee
    classDef CustomOp fill:#d0e1f9
    PROBLEM -->|input| P
    PROBLEM --> A & B
    P --> A
    PROBLEM -->|problem| CODE
    A --> VOTE
    B --> VOTE
    CODE --> VOTE
    VOTE --> RETURN
"""
LIBRARY = """operators:
  Planner:
    inputs: {problem: Problem}
    outputs: {plan: Plan}
    prompt: Plan the work.
  Carry:
    inputs: {plan?: Plan, problem: Problem}
    outputs: {text: Text}
    prompt: Carry out the plan.
  Judge:
    inputs: {feedback: Feedback}
    outputs: {answer: Answer}
    prompt: Judge it.
"""


def offers(editor: Editor, uri: str, word: str, *kinds: str) -> dict[str, Json]:
    return {one["title"]: one for one in asked(editor, uri, word, only=list(kinds or (NAME_STEP, USE)))}


def chosen(editor: Editor, uri: str, first: str, last: str) -> dict[str, Json]:
    """The same for what is selected from one word to another."""
    place = {"start": editor.find(uri, first), "end": editor.find(uri, last)}
    context = {"diagnostics": [], "only": [NAME_STEP, USE]}
    params = {"textDocument": {"uri": uri}, "range": place, "context": context}
    return {one["title"]: one for one in editor.request("textDocument/codeAction", params)}


def written(editor: Editor, uri: str, action: Json) -> str:
    return editor.applied(action["edit"])[uri]


def troubles(text: str) -> Counter[str]:
    return Counter(found.code for found in analyse(text).diagnostics if found.severity is not Severity.HINT)


def test_a_step_becomes_an_operator_with_its_prompt(editor: Editor) -> None:
    uri = editor.open(FLOW)
    (action,) = offers(editor, uri, "A[").values()
    assert (action["title"], action["kind"]) == (ONE, NAME_STEP)
    text = written(editor, uri, action)
    assert text == FLOW.replace(
        "  prompts:\n    solver: |\n      Solve the problem.\n      Show each step.\n",
        "  operators:\n    Solver:\n      inputs: {plan: Plan, problem: Problem}\n      outputs: {text: Text}\n"
        "      prompt: |\n        Solve the problem.\n        Show each step.\n  prompts:\n",
    ).replace('A["Custom<br/>(role: solver)"]:::CustomOp', 'A["Solver<br/>"]:::SolverOp').replace(
        "fill:#d0e1f9\n", "fill:#d0e1f9\n    classDef SolverOp fill:#e8e8e8,stroke:#777777\n"
    ).replace("PROBLEM --> A & B\n    P --> A", "PROBLEM -->|problem| A\n    PROBLEM --> B\n    P -->|plan| A")
    assert troubles(text) == troubles(FLOW)


def test_what_a_step_returns_is_what_its_operator_gives(editor: Editor) -> None:
    uri = editor.open(FLOW)
    text = written(editor, uri, offers(editor, uri, "P[")[ONE])
    assert "      outputs: {plan: Plan}\n      prompt: Make a plan.\n" in text
    assert 'P["Planner<br/>"]:::PlannerOp' in text
    assert "planner: Make" not in text


def test_what_mermaid_reads_of_a_step_stays(editor: Editor) -> None:
    uri = editor.open(FLOW.replace("temperature: 0.5 }", 'shape: rounded, label: "Otherwise" }'))
    text = written(editor, uri, offers(editor, uri, "B@")[ONE])
    assert 'B@{ op: B, shape: rounded, label: "Otherwise" }' in text
    assert troubles(text) == troubles(FLOW)


def test_who_feeds_a_map_keeps_the_words_of_its_edges(editor: Editor) -> None:
    text = (Path(__file__).parents[3] / "examples" / "patterns" / "map_reduce.mmd").read_text(encoding="utf-8")
    uri = editor.open(text)
    after = written(editor, uri, offers(editor, uri, "SPLIT[")[ONE])
    assert 'outputs: {text_list: "list[Text]"}' in after
    assert "    SPLIT -->|each:input| WORK\n" in after
    assert troubles(after) == troubles(text)


def test_several_steps_become_one_operator_and_keep_prompts_of_their_own(editor: Editor) -> None:
    uri = editor.open(FLOW)
    text = written(editor, uri, chosen(editor, uri, "A[", "CODE@")[SEVERAL])
    assert 'inputs: {"plan?": Plan, problem: Problem}' in text
    assert 'B@{ op: Solver, prompt: "Solve it otherwise.", temperature: 0.5 }' in text
    assert 'A["Solver<br/>"]:::SolverOp' in text
    assert troubles(text) == troubles(FLOW)


def test_what_can_not_be_one_operator(editor: Editor) -> None:
    """Another operator among them, results of two kinds, a prompt with variables, none at all."""
    uri = editor.open(FLOW)
    assert chosen(editor, uri, "A[", "VOTE[") == {}
    assert chosen(editor, uri, "P[", "CODE@") == {}
    assert offers(editor, uri, "CODE@") == {}
    assert offers(editor, uri, "RETURN([") == {}
    for prompt in ('"Solve {{input}}.", template: true', '""'):
        uri = editor.open(FLOW.replace('"Solve it otherwise."', prompt), f"{len(prompt)}.mmd")
        assert offers(editor, uri, "B@") == {}


def test_an_operator_of_a_library_takes_the_place_of_a_step_that_it_unifies_with(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "operators.yaml").write_text(LIBRARY, encoding="utf-8")
    editor = open_editor(folder=tmp_path)
    text = FLOW.replace("workflow:\n", "workflow:\n  libraries: [./operators.yaml]\n", 1)
    (tmp_path / "flow.mmd").write_text(text, encoding="utf-8")
    uri = editor.open(text)
    use = "Use operator {} of the library here"
    assert offers(editor, uri, "P[", USE).keys() == {use.format("Planner")}
    assert offers(editor, uri, "A[", USE).keys() == {use.format("Carry")}
    # A step that gives a mere text can be the Planner; nothing that only reads the problem can be the Judge.
    assert offers(editor, uri, "B@", USE).keys() == {use.format("Planner"), use.format("Carry")}
    after = written(editor, uri, offers(editor, uri, "A[", USE)[use.format("Carry")])
    assert 'A["Carry<br/>"]:::CarryOp' in after
    assert "PROBLEM -->|problem| A" in after
    assert "P -->|plan| A" in after
    assert "solver" not in after  # its prompt is the operator's now, and nobody else has it
    editor.change(uri, {"text": after})
    assert editor.codes(uri) == []
    # The name of a new operator is not that of one that there is.
    named = written(editor, uri, offers(editor, uri, "P[")[ONE])
    assert "    Planner2:\n" in named


def test_clients_without_literals_get_a_command(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(without(MODERN, "textDocument", "codeAction", "codeActionLiteralSupport"))
    uri = editor.open(FLOW)
    (command,) = (one for one in asked(editor, uri, "A[", only=[NAME_STEP]))
    editor.request("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]})
    (sent,) = (one["params"] for one in editor.requests if one["method"] == "workspace/applyEdit")
    assert 'A["Solver<br/>"]' in editor.applied(sent["edit"])[uri]


def test_in_a_fence_with_line_endings_of_windows(editor: Editor) -> None:
    text = f"# One\n\n```mermaid\n{FLOW}```\n\nThe end.\n".replace("\n", "\r\n")
    uri = editor.open(text, "notes.md")
    after = written(editor, uri, offers(editor, uri, "A[")[ONE])
    assert "\r\n    Solver:\r\n" in after
    assert after.count("\n") == after.count("\r\n")


PROMPTS = "".join(f'    {role}: "Do it as a {role}."\n' for role in (*ROLES, "merger", "fixer"))


@st.composite
def prompted(draw: st.DrawFn) -> str:
    """A valid workflow whose roles have prompts."""
    text = draw(workflows())
    head, _, body = text.rpartition("---\n") if text.startswith("---") else ("", "", text)
    return (head or "---\nworkflow:\n") + f"  prompts:\n{PROMPTS}---\n{body}"


@settings(max_examples=4, deadline=None)
@given(prompted(), st.data())
def test_nothing_gets_worse_and_every_prompt_stays(text: str, data: st.DataObject) -> None:
    """Whatever is offered, for any nodes: no new error or warning, the same edges, and undone byte for byte."""
    original = Original(analyse(text))
    own = [node for node in original.typed.nodes if node.operator == "Custom"]
    nodes = data.draw(st.lists(st.sampled_from(own), min_size=1, max_size=3, unique_by=lambda node: node.id))
    made = [one.make(original, Files()) for one in declarations(original, Files(), nodes)]
    if len(nodes) == 1:
        assert len(made) == 1
    for move in made:
        assert isinstance(move, Move), move
        after = move.apply(text)
        assert troubles(after) - troubles(text) == Counter()
        graph = analyse(after).typed
        assert graph is not None
        name = {graph.by_id[node.id].operator for node in nodes}
        assert len(name) == 1
        assert name.isdisjoint({"Custom"})
        assert pairs(graph) == pairs(original.typed)
        # Another step of the same kind can be the new operator.
        again = Original(analyse(after))
        for node in again.typed.nodes:
            for one in uses(again, Files(), node):
                found = one.make(again, Files())
                if isinstance(found, Move):
                    assert troubles(found.apply(after)) - troubles(after) == Counter()


def pairs(graph: Any) -> list[tuple[str, str]]:
    return sorted((edge.source.id, edge.target.id) for edge in graph.edges)
