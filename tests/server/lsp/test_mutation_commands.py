"""Commands for safe mutations: drawn, found, listed, shown, chosen from a message, crossed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from tests.server.lsp.editor import MINIMAL, MODERN, Editor, Json, ServerError
from tests.server.lsp.test_code_action import asked
from tests.server.lsp.test_mutations import (
    CONTENT_MODIFIED,
    FLOW,
    INVALID_PARAMS,
    INVOKED,
    KIND,
    MORE,
    PROGRAM,
    REQUEST_FAILED,
    edits_applied,
    every,
    mutations,
    run,
    troubles,
)
from tests.server.lsp.test_repair import DEFECT

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_optimizer.mutations.moves import DEFAULT
from merrow_server.features.commands import mutation_commands, mutation_lists, repair


def test_a_random_mutation_is_applied_as_one_step(editor: Editor) -> None:
    uri = editor.open(FLOW)
    done = run(editor, "merrow.mutate", uri, 7)
    (params,) = edits_applied(editor)
    assert params["label"] == done["title"]
    after = editor.applied(params["edit"])[uri]
    assert after == editor.edited(uri, done["edits"])
    assert after != FLOW
    assert troubles(after) <= troubles(FLOW)
    assert done["seed"] == 7
    assert run(editor, "merrow.mutate", uri, 7) == done


def test_a_seed_is_drawn_and_brings_the_same_again(editor: Editor) -> None:
    uri = editor.open(FLOW)
    done = run(editor, "merrow.mutate", uri)
    assert run(editor, "merrow.mutate", uri, done["seed"]) == done


@pytest.mark.parametrize("operator", sorted(DEFAULT.operators))
def test_a_random_mutation_of_one_operator(editor: Editor, operator: str) -> None:
    voices = FLOW.replace('VOTE["', 'C["Custom<br/>(role: doubter)"]\n    VOTE["').replace("class A,B", "class A,B,C")
    voices = voices.replace("A & B", "A & B & C").replace("    B -->", "    C --> VOTE\n    B -->")
    assert run(editor, "merrow.mutate", editor.open(voices), 3, operator)["operator"] == operator


def test_where_no_mutation_is_left(editor: Editor) -> None:
    assert "deletion" not in {move.operator for move in every(FLOW).values()}
    with pytest.raises(ServerError, match="No safe mutation") as caught:
        run(editor, "merrow.mutate", editor.open(FLOW), 3, "deletion")
    assert caught.value.code == REQUEST_FAILED


def test_a_mutation_by_its_id(editor: Editor) -> None:
    text = f"# Two\n\n```mermaid\n{PROGRAM}```\n\n```mermaid\n{FLOW}```\n"
    uri = editor.open(text, "notes.md")
    move = next(move for move in every(FLOW).values() if move.operator == "addition")
    done = run(editor, "merrow.mutate", uri, None, move.id, 2)
    assert (done["id"], done["title"]) == (move.id, move.title)
    (params,) = edits_applied(editor)
    assert editor.applied(params["edit"])[uri] == text.replace(FLOW, move.apply(FLOW))
    with pytest.raises(ServerError, match="has no mutation") as caught:
        run(editor, "merrow.mutate", uri, None, "0" * 12)
    assert caught.value.code == REQUEST_FAILED


def test_a_mutation_that_is_not_safe_says_why(editor: Editor) -> None:
    from merrow_optimizer.mutations.moves import identity
    from merrow_optimizer.mutations.original import Original

    original = Original(analyse(FLOW))
    safe = every(FLOW)
    identifiers = (identity(proposal()) for proposal in DEFAULT.operators["rewiring"](original))
    identifier = next(one for one in identifiers if one not in safe)
    with pytest.raises(ServerError, match="is not safe") as caught:
        run(editor, "merrow.mutate", editor.open(FLOW), None, identifier)
    assert caught.value.code == REQUEST_FAILED


def test_clients_that_cannot_be_sent_edits(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MINIMAL)
    uri = editor.open(FLOW)
    assert asked(editor, uri, "A[", only=[KIND]) == []
    with pytest.raises(ServerError, match="can't apply edits"):
        run(editor, "merrow.mutate", uri, 1)


@pytest.mark.parametrize("reason", [None, "The file is locked"])
def test_an_edit_that_the_client_does_not_apply_is_no_success(editor: Editor, reason: str | None) -> None:
    editor.on("workspace/applyEdit", lambda _: types.ApplyWorkspaceEditResult(applied=False, failure_reason=reason))
    for command, text in (("merrow.mutate", FLOW), ("merrow.repair", DEFECT)):
        uri = editor.open(text)
        with pytest.raises(ServerError) as caught:
            run(editor, command, {"uri": uri})
        assert caught.value.message == f"The editor did not apply the edit{f': {reason}' if reason else ''}."
        assert len(edits_applied(editor)) == 1
        editor.requests.clear()


@pytest.mark.parametrize(
    ("command", "text", "more"),
    [
        ("merrow.mutate", FLOW, {"id": "0" * 12}),
        ("merrow.mutations", FLOW, {}),
        ("merrow.moreMutations", FLOW, {}),
        ("merrow.repair", DEFECT.replace("|input|", "|inptu|"), {"preview": True}),
    ],
)
def test_a_search_whose_text_changes_meanwhile_ends(
    editor: Editor, monkeypatch: pytest.MonkeyPatch, command: str, text: str, more: Json
) -> None:
    for module in (mutation_commands, mutation_lists, repair):
        monkeypatch.setattr(module, "TURN", -1.0)  # Edits have their turn after each step.
    uri = editor.open(text)
    asking = editor.begin("workspace/executeCommand", {"command": command, "arguments": [{"uri": uri, **more}]})
    editor.do(asyncio.sleep(0))
    assert asking not in editor.answers
    editor.change(uri, {"text": text + "\n"})
    with pytest.raises(ServerError, match="changed meanwhile") as caught:
        editor.result(asking)
    assert caught.value.code == CONTENT_MODIFIED
    assert edits_applied(editor) == []
    # The same for the text as it is now goes to its end.
    again = editor.begin("workspace/executeCommand", {"command": command, "arguments": [{"uri": uri, **more}]})
    if more.get("id"):
        with pytest.raises(ServerError, match="has no mutation"):
            editor.result(again)
    else:
        editor.result(again)


def test_all_mutations_of_a_selection_are_listed(editor: Editor) -> None:
    text = f"# One\n\n```mermaid\n{FLOW}```\n"
    uri = editor.open(text, "notes.md")
    safe = every(FLOW)
    whole = run(editor, "merrow.mutations", {"uri": uri})
    assert sorted(move["id"] for move in whole) == sorted(safe)
    assert whole[0]["operator"] == "subgraph"
    at_node = run(editor, "merrow.mutations", {"uri": uri, "node": "A"})
    place = {"start": editor.find(uri, "A["), "end": editor.find(uri, "A[")}
    assert run(editor, "merrow.mutations", {"uri": uri, "range": place}) == at_node
    assert {move["id"] for move in at_node} < safe.keys()
    assert len(at_node) > len(mutations(editor, uri, "A["))
    for move in at_node:
        own = safe[move["id"]]
        assert (move["title"], move["operator"]) == (own.title, own.operator)
        assert editor.edited(uri, move["edits"]) == text.replace(FLOW, own.apply(FLOW))
        assert len(move["delta"]["addedNodes"]) == len(own.difference.added_nodes)
        assert move["effect"]
    swaps = run(editor, "merrow.mutations", {"uri": uri, "node": "A", "operator": "substitution", "most": 2})
    assert [move["operator"] for move in swaps] == ["substitution"] * 2
    assert edits_applied(editor) == []


def test_a_preview_changes_nothing(editor: Editor) -> None:
    text = f"# One\n\n```mermaid\n{FLOW}```\n"
    uri = editor.open(text, "notes.md")
    move = next(move for move in every(FLOW).values() if move.operator == "addition")
    shown = run(editor, "merrow.mutate", {"uri": uri, "id": move.id, "preview": True})
    assert shown["diagramText"] == move.apply(FLOW)
    assert shown["text"] == text.replace(FLOW, move.apply(FLOW)) == editor.edited(uri, shown["edits"])
    drawn = run(editor, "merrow.mutate", {"uri": uri, "operator": "rewiring", "seed": 5, "preview": True})
    assert edits_applied(editor) == []
    assert (drawn["operator"], drawn["seed"]) == ("rewiring", 5)
    done = run(editor, "merrow.mutate", {"uri": uri, "operator": "rewiring", "seed": 5})
    assert done.items() <= drawn.items()
    assert len(edits_applied(editor)) == 1


def choosing(editor: Editor, chooses: int | None) -> None:
    """Let the reader choose the action at this place in each message that asks, or none."""
    take = "window/showMessageRequest"
    editor.on(take, lambda asked: None if chooses is None or not asked.actions else asked.actions[chooses])


@pytest.mark.parametrize("chooses", [0, -1, None])
def test_the_reader_chooses_among_more(editor: Editor, chooses: int | None) -> None:
    choosing(editor, chooses)
    uri = editor.open(FLOW)
    (more,) = [action for action in asked(editor, uri, "A[", triggerKind=INVOKED) if action["kind"] == MORE]
    assert editor.request("codeAction/resolve", more) == more
    done = run(editor, more["command"]["command"], *more["command"]["arguments"])
    (question,) = [one["params"] for one in editor.requests if one["method"] == "window/showMessageRequest"]
    titles = [action["title"] for action in question["actions"]]
    known = {move["title"]: move for move in run(editor, "merrow.mutations", {"uri": uri, "node": "A"})}
    assert set(titles) <= known.keys()
    assert len({known[title]["operator"] for title in titles}) > 3
    if chooses is None:
        assert done is None
        assert edits_applied(editor) == []
    else:
        assert done == known[titles[chooses]]
        (params,) = edits_applied(editor)
        assert editor.applied(params["edit"])[uri] == editor.edited(uri, done["edits"])


def test_the_reader_is_asked_in_a_sentence_that_says_whether_there_are_more(editor: Editor) -> None:
    uri = editor.open(FLOW)

    def question(**asked: Any) -> tuple[Any, list[str]]:
        editor.requests.clear()
        assert run(editor, "merrow.moreMutations", {"uri": uri, **asked}) is None
        asking = [one["params"] for one in editor.requests if one["method"] == "window/showMessageRequest"]
        return asking[0]["message"] if asking else None, [
            one["title"] for one in asking[0]["actions"]
        ] if asking else []

    assert question(operator="deletion") == (None, [])
    told = editor.messages("window/showMessage")
    assert told == [{"type": 3, "message": "There is no safe mutation of what is selected."}]
    sentence, titles = question()
    assert sentence == "Which safe mutation? (the first 24)"
    whole = run(editor, "merrow.mutations", {"uri": uri})
    assert titles == [move["title"] for move in whole[:24]]
    for words in ("samples", "a_2", "vote"):
        found = run(editor, "merrow.mutations", {"uri": uri, "search": words})
        sentence, titles = question(search=words)
        more = len(found) > 24
        assert sentence == (
            "Which safe mutation? (the first 24)" if more else "Which safe mutation?" if found else None
        )
        assert titles == list(dict.fromkeys(move["title"] for move in found[:24]))


def test_a_page_says_how_many_came_before_and_how_many_there_may_be(editor: Editor) -> None:
    uri = editor.open(FLOW)
    whole = run(editor, "merrow.mutations", {"uri": uri})
    first = run(editor, "merrow.mutations", {"uri": uri, "page": 2})
    assert (first["moves"], first["cursor"], first["total"]["least"]) == (whole[:2], "1.2.2", 2)
    second = run(editor, "merrow.mutations", {"uri": uri, "page": 3, "cursor": first["cursor"]})
    assert (second["moves"], second["cursor"], second["total"]["least"]) == (whole[2:5], "1.5.5", 5)
    assert second["total"]["most"] >= len(whole)
    last = run(editor, "merrow.mutations", {"uri": uri, "page": len(whole) + 1, "cursor": second["cursor"]})
    assert last == {"moves": whole[5:], "cursor": None, "total": {"least": len(whole), "most": len(whole)}}
    assert run(editor, "merrow.mutations", {"uri": uri, "page": 4, "operator": "deletion"}) == {
        "moves": [],
        "cursor": None,
        "total": {"least": 0, "most": 0},
    }
    assert run(editor, "merrow.mutations", {"uri": uri, "most": 1}) == whole[:1]


def test_more_of_an_older_text_is_refused(editor: Editor) -> None:
    uri = editor.open(FLOW)
    (more,) = [action for action in asked(editor, uri, "A[", triggerKind=INVOKED) if action["kind"] == MORE]
    editor.change(uri, {"text": FLOW + "%% more\n"})
    with pytest.raises(ServerError) as caught:
        run(editor, more["command"]["command"], *more["command"]["arguments"])
    assert caught.value.code == CONTENT_MODIFIED


def test_children_of_two_workflows(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(MODERN, tmp_path)
    uri = editor.open(FLOW)
    (tmp_path / "other.mmd").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "other.md").write_text(f"```mermaid\n{FLOW}```\n\n```mermaid\n{PROGRAM}```\n", encoding="utf-8")
    children = run(editor, "merrow.crossover", uri, "other.mmd", 1)
    assert children
    for child in children:
        assert {"id", "title", "text", "cuts"} <= child.keys()
        assert not [found for found in analyse(child["text"]).diagnostics if found.severity is Severity.ERROR]
    texts = [child["text"] for child in children]
    (tmp_path / "one#2.mmd").write_text(PROGRAM, encoding="utf-8")
    names = [
        "other.md#2",
        "one#2.mmd",
        str(tmp_path / "other.md#2"),
        (tmp_path / "other.md").as_uri() + "#2",
        (tmp_path / "other.mmd").as_uri(),
        editor.open(PROGRAM, "open.mmd"),
        editor.open(f"```mermaid\n{FLOW}```\n\n```mermaid\n{PROGRAM}```\n", "open.md") + "#2",
    ]
    for name in names:
        assert [child["text"] for child in run(editor, "merrow.crossover", uri, name, 1)] == texts
    assert run(editor, "merrow.crossover", uri, "other.md", 1) != children
    for name in ("other.md#3", (tmp_path / "other.md").as_uri() + "#3", "other.md#0"):
        with pytest.raises(ServerError, match="The document has 2 diagrams; the argument must name one, from 1"):
            run(editor, "merrow.crossover", uri, name)
    # Without a seed it is that of 0, and the number of the document's own diagram is the last argument.
    of_zero = run(editor, "merrow.crossover", uri, "other.mmd", 0)
    assert run(editor, "merrow.crossover", uri, "other.mmd") == of_zero
    both = (tmp_path / "other.md").as_uri()
    texts = [child["text"] for child in of_zero]
    document = editor.uri("open.md")
    assert [child["text"] for child in run(editor, "merrow.crossover", document, "other.mmd", None, 1)] == texts
    assert [cut["file"] for cut in of_zero[0]["cuts"]] == [uri, (tmp_path / "other.mmd").as_uri()]
    assert run(editor, "merrow.crossover", document, both, 1, 2) != children
    assert edits_applied(editor) == []


@pytest.mark.parametrize("chooses", [0, -1, None])
def test_the_reader_is_asked_for_the_second_workflow(
    open_editor: Callable[..., Editor], tmp_path: Path, chooses: int | None
) -> None:
    editor = open_editor(MODERN, tmp_path)
    choosing(editor, chooses)
    uri = editor.open(FLOW)
    (tmp_path / "flow.mmd").write_text(FLOW, encoding="utf-8")
    (tmp_path / "beside.mmd").write_text(PROGRAM, encoding="utf-8")
    editor.open(PROGRAM, "open.mmd")
    if chooses is None:
        with pytest.raises(ServerError, match="No other workflow was chosen"):
            run(editor, "merrow.crossover", uri)
        return
    children = run(editor, "merrow.crossover", uri)
    (question,) = [one["params"] for one in editor.requests if one["method"] == "window/showMessageRequest"]
    assert [action["title"] for action in question["actions"]] == ["beside.mmd", "open.mmd"]
    other = ["beside.mmd", "open.mmd"][chooses]
    assert [child["text"] for child in children] == [
        child["text"] for child in run(editor, "merrow.crossover", uri, other)
    ]


def test_no_children(editor: Editor) -> None:
    uri = editor.open(FLOW)
    with pytest.raises(ServerError, match="must be the other workflow"):
        run(editor, "merrow.crossover", uri)  # there is none to choose
    broken = editor.open(FLOW.replace("VOTE --> RETURN", "VOTE --> A"), "broken.mmd")
    with pytest.raises(ServerError, match="second workflow has errors") as caught:
        run(editor, "merrow.crossover", uri, broken)
    assert caught.value.code == REQUEST_FAILED


def test_pages_bring_each_mutation_once_with_patterns_first(editor: Editor) -> None:
    uri = editor.open(FLOW)
    safe = set(every(FLOW))
    found: list[Json] = []
    for page in pages(editor, uri, page=7):
        found += page["moves"]
        total = page["total"]
        assert total["least"] == len(found) <= total["most"]
        assert len(page["moves"]) == 7 or page["cursor"] is None
    assert total == {"least": len(safe), "most": len(safe)}
    assert found[0]["operator"] == "subgraph"
    assert sorted(move["id"] for move in found) == sorted(safe)


LISTED: dict[str, list[tuple[str, str]]] = {
    "substitution": [
        (
            "Replace Programmer P by Custom",
            "C reads Text instead of Answer; adds 2 edges; removes 2 edges; makes P a Custom",
        ),
        ("Replace Programmer P by AnswerGenerate", "Adds 2 edges; removes 2 edges; makes P an AnswerGenerate"),
        (
            "Replace Programmer P by CustomCodeGenerate",
            "C reads Code instead of Answer; adds an edge; removes an edge; makes P a CustomCodeGenerate",
        ),
        (
            "Replace Programmer P by Assemble",
            "C reads Text instead of Answer; adds 2 edges; removes 2 edges; makes P an Assemble",
        ),
        (
            "Replace Custom C by AnswerGenerate",
            "RETURN reads Answer instead of Text; adds an edge; removes an edge; makes C an AnswerGenerate",
        ),
        (
            "Replace Custom C by Programmer",
            "RETURN reads Answer instead of Text; adds 3 edges; removes 2 edges; makes C a Programmer",
        ),
        (
            "Replace Custom C by Format",
            "RETURN reads Answer instead of Text; adds 3 edges; removes 2 edges; makes C a Format",
        ),
        ("Replace Custom C by Assemble", "Adds 2 edges; removes 2 edges; makes C an Assemble"),
        ("Let C remember all earlier results", "C remembers all earlier results"),
    ],
    "rewiring": [
        ("Let C read code of P instead of P", "C reads Code instead of Answer; adds an edge; removes an edge"),
        ("Let C read PROBLEM as well", "C reads Answer and Problem instead of Answer; adds an edge"),
    ],
    "deletion": [
        ("Remove P", "1 call fewer; C reads Problem instead of Answer; adds an edge; removes P and 2 edges"),
        ("Remove C", "1 call fewer; RETURN reads Answer instead of Text; adds an edge; removes C and 2 edges"),
    ],
    "addition": [
        (
            "Insert Custom on P -> C",
            "1 call more; C reads Text instead of Answer; adds IMPROVE and 2 edges; removes an edge",
        ),
        ("Insert AnswerGenerate on P -> C", "1 call more; adds ANSWER and 2 edges; removes an edge"),
        (
            "Insert Review on P -> C",
            "1 call more; C reads Feedback instead of Answer; adds REVIEW and 3 edges; removes an edge",
        ),
        ("Insert Format on P -> C", "1 call more; adds FORMAT and 3 edges; removes an edge"),
        (
            "Insert Assemble on P -> C",
            "1 call more; C reads Text instead of Answer; adds ASSEMBLE and 2 edges; removes an edge",
        ),
        ("Insert Custom on C -> RETURN", "1 call more; adds IMPROVE and 2 edges; removes an edge"),
        (
            "Insert AnswerGenerate on C -> RETURN",
            "1 call more; RETURN reads Answer instead of Text; adds ANSWER and 2 edges; removes an edge",
        ),
        (
            "Insert Format on C -> RETURN",
            "1 call more; RETURN reads Answer instead of Text; adds FORMAT and 3 edges; removes an edge",
        ),
        ("Insert Assemble on C -> RETURN", "1 call more; adds ASSEMBLE and 2 edges; removes an edge"),
    ],
}
TURNS = [
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
    "substitution",
    "deletion",
    "subgraph",
    "substitution",
    "deletion",
    "subgraph",
    "substitution",
    "subgraph",
    "subgraph",
    "rewiring",
    "subgraph",
    "subgraph",
    "subgraph",
    "subgraph",
]
"""Operators in the order in which all mutations of PROGRAM are listed: ten patterns, then one of each in turn."""


def test_the_moves_of_each_operator_are_listed_in_order_with_what_they_change(editor: Editor) -> None:
    uri = editor.open(PROGRAM)
    for operator, listed in LISTED.items():
        page = run(editor, "merrow.mutations", {"uri": uri, "page": 50, "operator": operator})
        assert [(move["title"], move["effect"]) for move in page["moves"]] == listed
        assert {move["operator"] for move in page["moves"]} == {operator}
        assert (page["cursor"], page["total"]) == (None, {"least": len(listed), "most": len(listed)})
        first = run(editor, "merrow.mutations", {"uri": uri, "page": 1, "operator": operator})
        assert [move["title"] for move in first["moves"]] == [listed[0][0]]
        assert first["cursor"] is not None
    found = run(editor, "merrow.mutations", {"uri": uri, "page": 50})
    assert [move["operator"] for move in found["moves"]][: len(TURNS)] == TURNS
    place = {"start": editor.find(uri, "C@"), "end": editor.find(uri, "C@")}
    of_c = run(editor, "merrow.mutations", {"uri": uri, "page": 50, "range": place, "operator": "substitution"})
    wanted = [title for title, _ in LISTED["substitution"] if " C by" in title]
    assert sorted(move["title"] for move in of_c["moves"]) == sorted(wanted)


def pages(editor: Editor, uri: str, **asked: Any) -> Iterator[Json]:
    """All pages of mutations, on which none comes twice."""
    seen: set[str] = set()
    more: Json = {}
    while more.get("cursor", "") is not None:
        page = run(editor, "merrow.mutations", {"uri": uri, **asked, **more})
        yield page
        own = {move["id"] for move in page["moves"]}
        assert len(own) == len(page["moves"])
        assert not own & seen
        seen |= own
        more = {"cursor": page["cursor"]}


@pytest.mark.slow
def test_a_large_workflow_is_offered_a_loop_around_each_node_after_uses_of_patterns(editor: Editor) -> None:
    """To draw one takes a whole reading, so the first page has few of them; but none is lost."""
    names = [f"N{number}" for number in range(61)]
    nodes = "".join(f'    {name}["Custom<br/>(role: solver)"]:::CustomOp\n' for name in names)
    ends = "    PROBLEM([Problem]):::Interface\n    RETURN([Return]):::Interface\n"
    text = f"flowchart TD\n{ends}{nodes}    {' --> '.join(['PROBLEM', *names, 'RETURN'])}\n"
    uri = editor.open(text + "    classDef Interface fill:#eee\n    classDef CustomOp fill:#eee\n")
    page = run(editor, "merrow.mutations", {"uri": uri, "operator": "subgraph", "page": 25})
    drawn = [number for number, move in enumerate(page["moves"]) if move["title"].startswith("Review N0 and repeat")]
    assert len(drawn) == 1
    assert drawn[0] >= 15
    moves = searched(editor, uri, "and repeat it until")
    assert [move["title"].split()[1] for move in moves] == names


@pytest.mark.slow
def test_mutations_are_searched_by_node_and_by_effect(editor: Editor) -> None:
    uri = editor.open(FLOW)
    whole = run(editor, "merrow.mutations", {"uri": uri})
    for words in ("vote", "1 call more", "Insert B", "wider"):
        said = {one["id"]: f"{one['title']} {one['effect']}".casefold() for one in whole}
        wanted = [one for one in whole if all(word in said[one["id"]] for word in words.casefold().split())]
        assert searched(editor, uri, words) == wanted
        assert wanted, words
    assert searched(editor, uri, "no such words") == []


def searched(editor: Editor, uri: str, words: str) -> list[Json]:
    """All mutations that are found by these words, page by page."""
    return [move for page in pages(editor, uri, search=words, page=500) for move in page["moves"]]


def test_a_page_of_another_text_is_refused(editor: Editor) -> None:
    uri = editor.open(FLOW)
    page = run(editor, "merrow.mutations", {"uri": uri, "page": 1})
    editor.change(uri, {"text": FLOW + "%% more\n"})
    with pytest.raises(ServerError, match="changed meanwhile") as caught:
        run(editor, "merrow.mutations", {"uri": uri, "page": 1, "cursor": page["cursor"]})
    assert caught.value.code == CONTENT_MODIFIED
    for cursor in (7, "1.2", "a.b.c", "9" * 30 + ".0.0"):
        with pytest.raises(ServerError) as caught:
            run(editor, "merrow.mutations", {"uri": uri, "page": 1, "cursor": cursor})
        assert caught.value.code == INVALID_PARAMS


SPLIT = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    SPLIT["Custom<br/>(role: splitter, returns: 'list[Text]')"]
    SOLVE["Custom<br/>(role: solver)"]
    SUM["Custom<br/>(role: summer)"]
    PROBLEM -->|input| SPLIT
    SPLIT -->|input| SOLVE
    SOLVE -->|input| SUM
    SUM --> RETURN
    classDef Interface fill:#e2e2f2
"""


def test_effects_say_calls_and_types(editor: Editor) -> None:
    uri = editor.open(SPLIT)
    found = {move["title"]: move["effect"] for move in run(editor, "merrow.mutations", {"uri": uri, "node": "SOLVE"})}
    over = found["Run SOLVE for each item that SPLIT gives (Map)"]
    assert "Up to 99 calls more" in over
    assert "SUM reads list[Text] instead of Text" in over
    assert "1 call fewer" in found["Remove SOLVE"]


ROLES = """\
---
workflow:
  prompts:
    quick: Answer at once.
    slow: Answer step by step.
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: quick)"]
    RETURN([Return]):::Interface
    PROBLEM --> A --> RETURN
"""


def test_another_role_of_the_file_is_offered_and_found_and_says_what_goes(editor: Editor) -> None:
    uri = editor.open(ROLES)
    for words in ("role slow", "new prompt of", "removes the prompt quick"):
        found = searched(editor, uri, words)
        given = [(one["title"], one["effect"]) for one in found if one["title"].startswith("Give")]
        assert given == [("Give A the role slow", "New prompt of A; removes the prompt quick")]
    other = {one["title"]: one["effect"] for one in run(editor, "merrow.mutations", {"uri": uri, "node": "A"})}
    assert "makes A an AnswerGenerate" in other["Replace Custom A by AnswerGenerate"]


def creating_files() -> Json:
    """A client that creates files for the server."""
    edits = {**MODERN["workspace"]["workspaceEdit"], "documentChanges": True, "resourceOperations": ["create"]}
    return {**MODERN, "workspace": {**MODERN["workspace"], "workspaceEdit": edits}}


def test_a_part_is_extracted_to_a_file_in_one_step(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(creating_files(), tmp_path)
    path = tmp_path / "flow.mmd"
    path.write_text(SPLIT)
    uri = editor.open(SPLIT, "flow.mmd")
    (move,) = [
        one
        for one in run(editor, "merrow.mutations", {"uri": uri, "search": "extract solve sum"})
        if one["title"] == "Extract SOLVE and SUM to the file sum.mmd"
    ]
    assert [file["uri"] for file in move["created"]] == [(tmp_path / "sum.mmd").as_uri()]
    assert move["effect"].endswith("calls, width and types stay")
    run(editor, "merrow.mutate", {"uri": uri, "id": move["id"]})
    (params,) = edits_applied(editor)
    create, fill, change = params["edit"]["documentChanges"]
    assert create["kind"] == "create"
    assert create["options"] == {"overwrite": False, "ignoreIfExists": False}
    assert create["uri"] == fill["textDocument"]["uri"] == move["created"][0]["uri"]
    assert fill["edits"][0]["newText"] == move["created"][0]["text"]
    assert change["textDocument"]["uri"] == uri


def test_who_cannot_create_files_is_offered_no_extraction(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(MODERN, tmp_path)
    (tmp_path / "flow.mmd").write_text(SPLIT)
    uri = editor.open(SPLIT, "flow.mmd")
    assert not run(editor, "merrow.mutations", {"uri": uri, "search": "extract"})
    # By its id it is refused with the command that does it.
    able = open_editor(creating_files(), tmp_path)
    able.open(SPLIT, "flow.mmd")
    (extraction, *_) = run(able, "merrow.mutations", {"uri": uri, "search": "extract"})
    with pytest.raises(ServerError) as caught:
        run(editor, "merrow.mutate", {"uri": uri, "id": extraction["id"]})
    assert caught.value.code == REQUEST_FAILED
    assert caught.value.message.startswith("This editor can't create files for the server; `merrow mutate FILE --apply")
    assert edits_applied(editor) == []
