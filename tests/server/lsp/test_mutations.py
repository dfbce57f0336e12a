"""Safe mutations through the protocol: offered where one looks, resolved, applied as one step, drawn, found, and crossed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.lsp.client import message
from tests.server.lsp.editor import MODERN, Editor, Json, ServerError
from tests.server.lsp.test_code_action import asked, named, without
from tests.server.lsp.test_lifecycle import imported

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.moves import DEFAULT, MoveFilter, moves
from merrow_server.lsp.offers import mutations as offers

FLOW = """flowchart TD
    %% 😀 two ways to an answer
    PROBLEM([Problem])
    A["Custom<br/>(role: solver)"]
    B["Custom<br/>(role: thinker)"]
    VOTE["ScEnsemble"]
    RETURN([Return])

    class PROBLEM,RETURN Interface
    class A,B CustomOp
    class VOTE ScEnsembleOp
    classDef Interface fill:#eee
    classDef CustomOp fill:#d0e1f9
    classDef ScEnsembleOp fill:#f9d0e1

    PROBLEM -->|input| A & B
    A --> VOTE
    B --> VOTE
    VOTE --> RETURN
"""
PROGRAM = """flowchart TD
    PROBLEM([Problem])
    P@{ op: Programmer, label: "Program" }
    C@{ op: Custom, role: reviser }
    RETURN([Return])
    PROBLEM -->|problem| P
    P --> C
    C --> RETURN
"""
BRANCH = """flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ op: Custom, role: solver }
    C@{ op: Review }
    WHERE{Good?}:::DecisionOp
    B@{ op: Custom, role: other }
    RETURN([Return]):::Interface
    PROBLEM --> A & C
    A -->|solution| C
    C -->|result:when| WHERE
    A -->|value| WHERE
    WHERE -->|yes| RETURN
    WHERE -->|no| B
    PROBLEM -->|input| B
    B --> RETURN
    classDef Interface fill:#eee
    classDef DecisionOp fill:#eee
"""
INVOKED, AUTOMATIC = 1, 2
KIND = "refactor.rewrite.merrow"
MORE = f"{KIND}.more"
ELSEWHERE = {MORE, f"{KIND}.suggestion"}
"""Kinds of actions that lead to others: all mutations, suggestions of a model."""
CONTENT_MODIFIED, REQUEST_FAILED, INVALID_PARAMS = -32801, -32803, -32602


def annotating() -> Json:
    """A client that shows annotated changes before they are made."""
    changed = copy.deepcopy(MODERN)
    changed["workspace"]["workspaceEdit"]["changeAnnotationSupport"] = {"groupsOnLabel": True}
    return changed


def mutations(editor: Editor, uri: str, word: str, offset: int = 0, **context: Any) -> list[Json]:
    """The mutations that are offered themselves, without the way to more of them."""
    context.setdefault("only", [KIND])
    return [action for action in asked(editor, uri, word, offset, **context) if action["kind"] not in ELSEWHERE]


def troubles(text: str) -> set[tuple[str, str]]:
    return {(found.code, found.message) for found in analyse(text).diagnostics if found.severity is not Severity.HINT}


def every(text: str) -> dict[str, Move]:
    """All safe moves of a workflow by id."""
    return {move.id: move for move in moves(analyse(text), MoveFilter(DEFAULT.operators, max_nodes=10_000))}


def run(editor: Editor, command: str, *arguments: Any) -> Any:
    return editor.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})


def edits_applied(editor: Editor) -> list[Json]:
    return [message["params"] for message in editor.requests if message["method"] == "workspace/applyEdit"]


@pytest.mark.parametrize(
    ("word", "offset", "operators"),
    [
        ("A[", 0, {"substitution", "addition", "rewiring", "subgraph", "deletion"}),
        ("A[", 8, {"substitution", "addition", "rewiring", "subgraph", "deletion"}),
        ("VOTE -->", 6, {"addition", "rewiring"}),
        ("PROBLEM([", 2, {"addition"}),
        ("class A,B", 0, set()),
        ("%% 😀", 4, set()),
    ],
)
def test_offered_for_what_is_at_the_cursor(editor: Editor, word: str, offset: int, operators: set[str]) -> None:
    actions = mutations(editor, editor.open(FLOW), word, offset)
    assert {action["kind"].removeprefix(f"{KIND}.") for action in actions} <= operators
    assert bool(actions) == bool(operators)


LOOP = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    subgraph REFINE["Loop (max: 2)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
    end
    READ["Custom<br/>(role: reader)"]
    PROBLEM --> WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    REVIEW -->|again:feedback:input| WRITE
    REVIEW -->|feedback:input| READ
    WRITE --> READ
    READ --> RETURN
    classDef Interface fill:#eee
"""


OFFERED: list[tuple[str, str, int, dict[str, list[str]]]] = [
    (
        FLOW,
        "A[",
        0,
        {
            "substitution": [
                "Replace Custom A by AnswerGenerate",
                "Replace Custom A by Assemble",
                "Replace Custom A by CustomCodeGenerate",
            ],
            "addition": [
                "Insert Custom on A -> VOTE",
                "Insert AnswerGenerate on A -> VOTE",
                "Insert Assemble on A -> VOTE",
            ],
            "rewiring": ["Let A read B instead of PROBLEM"],
            "subgraph": ["Review A and repeat it until it is accepted", "Plan before A", "Step back before A"],
        },
    ),
    (
        FLOW,
        "VOTE[",
        0,
        {
            "substitution": [
                "Replace ScEnsemble VOTE by MdEnsemble",
                "Replace ScEnsemble VOTE by Custom",
                "Replace ScEnsemble VOTE by AnswerGenerate",
            ],
            "addition": [
                "Insert Custom on VOTE -> RETURN",
                "Insert AnswerGenerate on VOTE -> RETURN",
                "Insert Assemble on VOTE -> RETURN",
            ],
            "subgraph": [
                "Criticise and rewrite what VOTE gives",
                "Program and verify in place of A, B and VOTE",
                "Check VOTE against a program",
            ],
        },
    ),
    (
        FLOW,
        "A --> VOTE",
        3,
        {
            "addition": [
                "Insert Custom on A -> VOTE",
                "Insert AnswerGenerate on A -> VOTE",
                "Insert Assemble on A -> VOTE",
            ]
        },
    ),
    (
        FLOW,
        "PROBLEM([",
        2,
        {
            "addition": [
                "Insert Custom on PROBLEM -> A",
                "Insert AnswerGenerate on PROBLEM -> A",
                "Insert CustomCodeGenerate on PROBLEM -> A",
            ]
        },
    ),
    (
        FLOW,
        "PROBLEM -->",
        9,
        {
            "addition": [
                "Insert Custom on PROBLEM -> A",
                "Insert AnswerGenerate on PROBLEM -> A",
                "Insert CustomCodeGenerate on PROBLEM -> A",
            ],
            "rewiring": ["Let A read B instead of PROBLEM", "Let B read A instead of PROBLEM"],
        },
    ),
    (FLOW, "class A,B", 0, {}),
    (
        PROGRAM,
        "P@",
        0,
        {
            "substitution": [
                "Replace Programmer P by AnswerGenerate",
                "Replace Programmer P by Custom",
                "Replace Programmer P by CustomCodeGenerate",
            ],
            "addition": ["Insert Custom on P -> C", "Insert AnswerGenerate on P -> C", "Insert Assemble on P -> C"],
            "deletion": ["Remove P"],
            "subgraph": ["Plan before P", "Criticise and rewrite what P gives", "Program and verify in place of P"],
        },
    ),
    (
        PROGRAM,
        "C@",
        0,
        {
            "substitution": [
                "Replace Custom C by AnswerGenerate",
                "Replace Custom C by Assemble",
                "Replace Custom C by Programmer",
            ],
            "addition": [
                "Insert Custom on C -> RETURN",
                "Insert AnswerGenerate on C -> RETURN",
                "Insert Assemble on C -> RETURN",
            ],
            "rewiring": ["Let C read code of P instead of P"],
            "deletion": ["Remove C"],
            "subgraph": ["Review C and repeat it until it is accepted", "Plan before C", "Step back before C"],
        },
    ),
    (
        PROGRAM,
        "P --> C",
        3,
        {
            "addition": ["Insert Custom on P -> C", "Insert AnswerGenerate on P -> C", "Insert Assemble on P -> C"],
            "rewiring": ["Let C read code of P instead of P"],
        },
    ),
    (PROGRAM, "PROBLEM -->", 9, {}),
    (
        BRANCH.replace("|no|", "|no:after|"),
        "WHERE -->|no",
        7,
        {
            "addition": [
                "Insert Custom before B in case no of WHERE",
                "Insert AnswerGenerate before B in case no of WHERE",
                "Insert CustomCodeGenerate before B in case no of WHERE",
            ],
            "rewiring": ["Lead case no of WHERE to `input` of B instead of it alone"],
        },
    ),
    (
        LOOP,
        "WRITE[",
        0,
        {
            "substitution": ["Replace Custom WRITE by AnswerGenerate"],
            "addition": [
                "Insert Custom on WRITE -> REVIEW",
                "Insert AnswerGenerate on WRITE -> REVIEW",
                "Insert Assemble on WRITE -> REVIEW",
            ],
            "subgraph": [
                "Review WRITE and repeat it until it is accepted",
                "Plan before WRITE",
                "Step back before WRITE",
            ],
        },
    ),
    (
        LOOP,
        "REVIEW[",
        0,
        {
            "addition": [
                "Insert Custom on REVIEW -> READ",
                "Insert AnswerGenerate on REVIEW -> READ",
                "Insert Assemble on REVIEW -> READ",
            ],
            "subgraph": [
                "Criticise and rewrite what REVIEW gives",
                "Check REVIEW against a program",
                "Verify what REVIEW gives by questions",
            ],
        },
    ),
    (
        LOOP,
        "READ[",
        0,
        {
            "substitution": [
                "Replace Custom READ by AnswerGenerate",
                "Replace Custom READ by Assemble",
                "Replace Custom READ by Programmer",
            ],
            "addition": [
                "Insert Custom on READ -> RETURN",
                "Insert AnswerGenerate on READ -> RETURN",
                "Insert Assemble on READ -> RETURN",
            ],
            "rewiring": [
                "Let READ read result of REVIEW instead of REVIEW",
                "Let READ read result of REVIEW instead of WRITE",
                "Let READ read PROBLEM instead of WRITE",
            ],
            "subgraph": ["Review READ and repeat it until it is accepted", "Plan before READ", "Step back before READ"],
        },
    ),
]


@pytest.mark.parametrize(("text", "word", "offset", "titles"), OFFERED)
def test_the_first_safe_ones_of_each_operator_are_offered_in_order(
    editor: Editor, text: str, word: str, offset: int, titles: dict[str, list[str]]
) -> None:
    """The smallest change first, what does the same work before what does another, the nearest node before one far away."""
    found: dict[str, list[str]] = {}
    for action in mutations(editor, editor.open(text), word, offset):
        found.setdefault(action["kind"].removeprefix(f"{KIND}."), []).append(action["title"])
    assert (list(found), found) == (list(titles), titles)


def test_what_can_be_done_to_a_loop_is_offered_where_it_is_selected(editor: Editor) -> None:
    uri = editor.open(LOOP)
    place = {"start": {"line": 3, "character": 0}, "end": {"line": 6, "character": 7}}
    context = {"diagnostics": [], "only": [f"{KIND}.subgraph"]}
    params = {"textDocument": {"uri": uri}, "range": place, "context": context}
    titles = [action["title"] for action in editor.request("textDocument/codeAction", params)]
    assert titles[:3] == [
        "Let REFINE have up to 3 turns",
        "Let REFINE have up to 1 turn",
        "Run the nodes of REFINE once",
    ]


def test_few_and_each_among_the_safe_moves(editor: Editor) -> None:
    uri = editor.open(FLOW)
    safe = every(FLOW)
    actions = mutations(editor, uri, "A[")
    kinds = [action["kind"] for action in actions]
    assert {kind.removeprefix(f"{KIND}.") for kind in kinds} >= {"substitution", "addition", "subgraph"}
    assert all(kinds.count(kind) <= 3 for kind in kinds)
    assert {action["data"]["move"] for action in actions} <= safe.keys()
    assert actions == mutations(editor, uri, "A[")


def test_an_edge_that_brings_no_value_is_offered_no_other_source(editor: Editor) -> None:
    wrong = FLOW + "    PROBLEM -->|nowhere| B\n"
    actions = mutations(editor, editor.open(wrong), "B[")
    assert [action["title"] for action in actions if action["kind"] == f"{KIND}.rewiring"] == [
        "Let B read A instead of PROBLEM"
    ]
    assert {action["data"]["move"] for action in actions} <= every(wrong).keys()


def test_each_resolves_to_a_workflow_as_clean_as_before(editor: Editor) -> None:
    uri = editor.open(FLOW)
    before = troubles(FLOW)
    safe = every(FLOW)
    for word in ("A[", "VOTE[", "VOTE -->", "PROBLEM(["):
        for action in mutations(editor, uri, word, 5 if "--" in word else 0):
            assert "edit" not in action
            after = editor.applied(editor.request("codeAction/resolve", action)["edit"])[uri]
            move = safe[action["data"]["move"]]
            assert after == move.apply(FLOW)
            assert troubles(after) <= before
            assert apply_edits(after, move.reverse) == FLOW


def test_a_selection_means_all_that_it_touches(editor: Editor) -> None:
    uri = editor.open(FLOW)
    place = {"start": editor.find(uri, "A["), "end": editor.find(uri, "VOTE[", 2)}
    context = {"diagnostics": [], "only": [f"{KIND}.substitution", f"{KIND}.subgraph"]}
    params = {"textDocument": {"uri": uri}, "range": place, "context": context}
    actions = editor.request("textDocument/codeAction", params)
    assert {action["kind"] for action in actions} >= {f"{KIND}.subgraph"}
    resolved = editor.request("codeAction/resolve", actions[-1])
    assert troubles(editor.applied(resolved["edit"])[uri]) <= troubles(FLOW)


def test_only_when_somebody_asks(editor: Editor) -> None:
    uri = editor.open(FLOW)

    def kinds(**context: Any) -> bool:
        return any(action["kind"].startswith(KIND) for action in asked(editor, uri, "A[", **context))

    assert kinds(triggerKind=INVOKED)
    assert kinds(only=["refactor"])
    assert kinds(only=["refactor.rewrite"], triggerKind=AUTOMATIC)
    assert not kinds(triggerKind=AUTOMATIC)
    assert kinds()
    assert not kinds(only=["quickfix"], triggerKind=INVOKED)
    assert not kinds(only=["refactor.extract"])


def test_one_operator_where_it_is_asked_for(editor: Editor) -> None:
    actions = mutations(editor, editor.open(FLOW), "A[", only=[f"{KIND}.addition"])
    assert {action["kind"] for action in actions} == {f"{KIND}.addition"}


def test_nothing_at_a_line_that_cannot_be_read(editor: Editor) -> None:
    uri = editor.open(FLOW + "    A[open --> \n")
    assert mutations(editor, uri, "A[open") == []
    assert mutations(editor, uri, '"Custom<br/>(role: solver') != []


@settings(max_examples=8, deadline=None)
@given(st.integers(0, len(FLOW)), st.integers(0, len(FLOW)), st.tuples(*[st.integers(0, 25), st.integers(0, 30)] * 2))
def test_nothing_gets_worse_in_a_text_that_is_typed(first: int, length: int, place: tuple[int, int, int, int]) -> None:
    """Whatever is cut out of a text and selected in it, what is offered adds no error and no warning."""
    text = FLOW[:first] + FLOW[first + length :]
    editor = Editor()
    try:
        uri = editor.open(text)
        start, end = sorted([place[:2], place[2:]])
        selected = {name: {"line": at[0], "character": at[1]} for name, at in (("start", start), ("end", end))}
        params = {"textDocument": {"uri": uri}, "range": selected, "context": {"diagnostics": [], "only": [KIND]}}
        for action in editor.request("textDocument/codeAction", params):
            if action["kind"] in ELSEWHERE:
                continue
            after = editor.applied(editor.request("codeAction/resolve", action)["edit"])[uri]
            assert {code for code, _ in troubles(after)} <= {code for code, _ in troubles(text)}
    finally:
        editor.close()


def test_nothing_in_a_flowchart_that_is_no_workflow(editor: Editor) -> None:
    assert mutations(editor, editor.open("flowchart TD\n    A --> B\n"), "A -->") == []


def test_shown_before_it_is_done_where_the_client_can(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(annotating())
    uri = editor.open(FLOW)
    action = mutations(editor, uri, "A[")[0]
    edit = editor.request("codeAction/resolve", action)["edit"]
    ((identifier, note),) = edit["changeAnnotations"].items()
    assert note["label"] == action["title"]
    assert note["needsConfirmation"] is True
    assert "A" in note["description"]
    (change,) = edit["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 1}
    assert {part["annotationId"] for part in change["edits"]} == {identifier}
    assert editor.applied(edit)[uri] == every(FLOW)[identifier].apply(FLOW)


def test_plain_edits_for_other_clients(editor: Editor) -> None:
    uri = editor.open(FLOW)
    edit = editor.request("codeAction/resolve", mutations(editor, uri, "A[")[0])["edit"]
    assert "changeAnnotations" not in edit
    assert not any("annotationId" in part for part in edit["documentChanges"][0]["edits"])


@pytest.mark.parametrize("path", [("textDocument", "codeAction", "resolveSupport"), ("workspace", "workspaceEdit")])
def test_clients_that_can_do_less(open_editor: Callable[..., Editor], path: tuple[str, ...]) -> None:
    editor = open_editor(without(annotating(), *path))
    uri = editor.open(FLOW)
    action = mutations(editor, uri, "A[", only=[f"{KIND}.addition"])[0]
    edit = action["edit"] if "edit" in action else editor.request("codeAction/resolve", action)["edit"]
    assert ("changeAnnotations" in edit) == ("documentChanges" in edit)
    after = editor.applied(edit)[uri]
    assert after != FLOW
    assert troubles(after) <= troubles(FLOW)


def test_commands_for_clients_without_literals(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(without(MODERN, "textDocument", "codeAction"))
    uri = editor.open(FLOW)
    command = named(asked(editor, uri, "A[", only=[KIND]), "Insert")
    run(editor, command["command"], *command["arguments"])
    editor.run(0.02)
    (params,) = edits_applied(editor)
    assert params["label"] == command["title"]
    assert troubles(editor.applied(params["edit"])[uri]) <= troubles(FLOW)
    editor.change(uri, {"text": FLOW + "\n"})
    with pytest.raises(ServerError, match="another state") as caught:
        run(editor, command["command"], *command["arguments"])
    assert caught.value.code == CONTENT_MODIFIED


def test_an_older_offer_is_refused(editor: Editor) -> None:
    uri = editor.open(FLOW)
    action = mutations(editor, uri, "A[")[0]
    foreign = copy.deepcopy(action)
    foreign["data"]["move"] = "0" * 12
    for stale in (action, foreign):
        if stale is action:
            editor.change(uri, {"text": "%% new\n" + FLOW})
        else:
            stale["data"]["version"] = 2
        with pytest.raises(ServerError, match="open the menu again") as caught:
            editor.request("codeAction/resolve", stale)
        assert caught.value.code == CONTENT_MODIFIED


def test_in_a_fence(editor: Editor) -> None:
    fence = "".join(f"   {line}\n" if line else "\n" for line in FLOW.splitlines())
    text = f"1. 😀 x\n\n   ```mermaid\n{fence}   ```\n\nafter\n"
    uri = editor.open(text, "notes.md")
    for action in mutations(editor, uri, "A["):
        after = editor.applied(editor.request("codeAction/resolve", action)["edit"])[uri]
        assert after.startswith("1. 😀 x\n\n   ```mermaid\n   flowchart TD\n")
        assert after.endswith("   ```\n\nafter\n")
        other = editor.open(after, "after.md")
        assert not [found for found in editor.published(other) if found["severity"] == 1]


def test_line_endings_of_the_file(editor: Editor) -> None:
    uri = editor.open(FLOW.replace("\n", "\r\n"))
    for action in mutations(editor, uri, "A["):
        after = editor.applied(editor.request("codeAction/resolve", action)["edit"])[uri]
        assert "\n" not in after.replace("\r\n", "")


def test_patterns_of_the_workspace(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "merrow.toml").write_text("", encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(FLOW)
    before = [action["title"] for action in mutations(editor, uri, "A[", only=[f"{KIND}.subgraph"])]
    folder = tmp_path / ".merrow" / "patterns"
    folder.mkdir(parents=True)
    from merrow_optimizer.mutations import patterns

    source = Path(patterns.__file__).parent / "step_back.mmd"
    (folder / "ours.mmd").write_text(
        source.read_text(encoding="utf-8").replace("Step back", "Stand back"), encoding="utf-8"
    )
    after = [action["title"] for action in mutations(editor, uri, "A[", only=[f"{KIND}.subgraph"])]
    assert any(title.startswith("Stand back") for title in {*after} - {*before})


def test_patterns_that_the_settings_name(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    from merrow_optimizer.mutations import patterns

    source = (Path(patterns.__file__).parent / "step_back.mmd").read_text(encoding="utf-8")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "ours.mmd").write_text(source.replace("Step back", "Stand back"), encoding="utf-8")
    (tmp_path / "merrow.toml").write_text('patterns = ["team"]\n', encoding="utf-8")
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(FLOW)
    titles = [move["title"] for move in run(editor, "merrow.mutations", {"uri": uri, "operator": "subgraph"})]
    assert any(title.startswith("Stand back") for title in titles)


@pytest.mark.slow
def test_a_branch_is_not_let_read_something_else(editor: Editor) -> None:
    """The workflow would still be valid, since its case has other edges, but the node would no longer be in a branch."""
    text = BRANCH.replace("|no| B", "|no| B & RETURN")
    uri = editor.open(text)
    for word in ("B@", "WHERE -->|no|"):
        listed = mutations(editor, uri, word, 1)
        assert listed
        assert not [action["title"] for action in listed if "instead of WHERE" in action["title"]]
        safe = {move.title for move in every(text).values()}
        assert {action["title"] for action in listed if action["kind"].endswith(".rewiring")} <= safe


def test_of_a_workflow_that_is_read_whole_fewer_are_checked_but_always_one(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inserted() -> list[str]:
        return [action["title"] for action in mutations(editor, uri, "READ[", 0, only=[f"{KIND}.addition"])]

    uri = editor.open(LOOP)
    several = inserted()
    assert len(several) == 3
    nodes = 5
    for work, checked in ((1, 1), (2 * nodes - 1, 1), (2 * nodes, 2)):
        monkeypatch.setattr(offers, "_WORK", work)
        assert inserted() == several[:checked]


def test_a_large_file_is_answered(editor: Editor) -> None:
    count = 400
    lines = ["flowchart TD", "    PROBLEM([Problem])"]
    lines += [f"    N{number}@{{ op: Custom, role: solver }}" for number in range(count)]
    lines += ["    RETURN([Return])", "    PROBLEM --> N0"]
    lines += [f"    N{number - 1} --> N{number}" for number in range(1, count)]
    uri = editor.open("\n".join([*lines, f"    N{count - 1} --> RETURN", ""]))
    actions = mutations(editor, uri, "N300@", 1)
    assert actions
    assert "edit" in editor.request("codeAction/resolve", actions[0])
    assert run(editor, "merrow.mutate", uri, 1)["seed"] == 1
    listed = run(editor, "merrow.mutations", {"uri": uri, "node": "N0", "operator": "subgraph"})
    assert any("in place of N0" in move["title"] for move in listed)


@pytest.mark.slow
def test_the_mutations_are_loaded_when_somebody_asks() -> None:
    item = {"uri": "untitled:a.mmd", "languageId": "mermaid", "version": 1, "text": FLOW}
    place = {"start": {"line": 3, "character": 4}, "end": {"line": 3, "character": 4}}
    context = {"diagnostics": [], "triggerKind": AUTOMATIC}
    params = {"textDocument": {"uri": "untitled:a.mmd"}, "range": place, "context": context}
    opened = [message("initialized", {}), message("textDocument/didOpen", {"textDocument": item})]
    modules = imported(*opened, message("textDocument/codeAction", params, 2))
    assert "merrow_analysis.check" in modules
    assert not any(name.startswith("merrow_optimizer") for name in modules)
