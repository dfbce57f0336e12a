"""What is shown of a run's events in the text and in the progress of the client, word for word: no run is needed for that."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import pytest
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MINIMAL, MODERN, PULLING, Editor

from merrow_server.lsp.work.run_progress import CaseProgress, RunProgress

Json = dict[str, Any]
RUNS: Json = MODERN | {"experimental": {"merrowRuns": True}}
A, B = 7, 8
"""Lines of CHAIN."""
END = 44
"""Where the declaration of A ends."""
ANSWERED = [{"endpoint": "https://x.example", "model": "m"}]


def event(name: str, node: str | None = None, *, run: str = "r1", **more: Any) -> Json:
    return {"event": name, "run": run, "node": node, "path": "", **more}


def begin(editor: Editor, uri: str, run: str = "r1") -> None:
    async def now() -> None:
        editor.server.runs.results.begin(editor.server.diagrams(uri)[0], run)

    editor.do(now())


def tell(editor: Editor, uri: str, *events: Json) -> None:
    """Have events of a run come to the diagram of a document."""

    async def now() -> None:
        editor.server.runs.results.take(editor.server.diagrams(uri)[0], list(events))

    editor.do(now())


def hints(editor: Editor, uri: str, start: tuple[int, int] = (0, 0), end: tuple[int, int] = (99, 0)) -> list[Json]:
    """The hints of results between two places."""
    ends = [{"line": line, "character": character} for line, character in (start, end)]
    params = {"textDocument": {"uri": uri}, "range": {"start": ends[0], "end": ends[1]}}
    return [hint for hint in editor.request("textDocument/inlayHint", params) or [] if "kind" not in hint]


def hovered(editor: Editor, uri: str) -> str:
    """What the hover of A says of its last run."""
    text: str = editor.request("textDocument/hover", editor.at(uri, "A["))["contents"]["value"]
    return "".join(text.partition("Last run: ")[1:])


def asked(editor: Editor, what: str) -> int:
    """How often the server has asked the client to draw these again."""
    editor.run()
    return sum(request["method"] == f"workspace/{what}/refresh" for request in editor.requests)


LONG = "word\n " * 20
RESULTS: list[tuple[Json, str, str, str]] = [
    (event("node_started", "A"), "…", "A: running", "running."),
    (
        event(
            "node_finished",
            "A",
            outputs={"response": LONG},
            usage={"prompt_tokens": 1000, "completion_tokens": 234, "calls": 2, "cost_usd": 0.0123},
            seconds=1.26,
            sources=ANSWERED,
            valid=True,
            attempt=2,
        ),
        "→ word word word word word word word word… · 1,234 tokens · $0.0123 · attempt 2 · m @ x.example · 1.3 s",
        "A: finished, 1,234 tokens, $0.0123, attempt 2, m @ x.example, 1.3 s\n"
        + "\n".join(["word", *[" word"] * 11, "…"]),
        "finished, 1,234 tokens, $0.0123, attempt 2, m @ x.example, 1.3 s.\n\n```text\nword"
        + "\n word" * 5
        + "\n…\n```",
    ),
    (
        event(
            "node_finished", "A", outputs={"response": "x" * 40}, usage={"calls": 1, "cost_usd": None}, seconds=0.049
        ),
        f"→ {'x' * 40} · cost unknown",
        f"A: finished, cost unknown\n{'x' * 40}",
        f"finished, cost unknown.\n\n```text\n{'x' * 40}\n```",
    ),
    (
        event("node_finished", "A", outputs={"response": "y" * 41}, valid=False, attempt=1),
        f"→ {'y' * 39}… · not valid, attempt 1",
        f"A: finished, not valid, attempt 1\n{'y' * 41}",
        f"finished, not valid, attempt 1.\n\n```text\n{'y' * 41}\n```",
    ),
    (
        event("node_finished", "A", outputs={"a": "1", "b": "two"}, usage={"completion_tokens": 7}),
        "→ a: 1 b: two · 7 tokens",
        "A: finished, 7 tokens\na: 1\nb: two",
        "finished, 7 tokens.\n\n```text\na: 1\nb: two\n```",
    ),
    (event("node_finished", "A", outputs={"response": ""}), "→", "A: finished", "finished."),
    (
        event("node_finished", "A", outputs={"response": "yes"}, case="long"),
        "→ long",
        "A: finished\nlong",
        "finished.\n\n```text\nlong\n```",
    ),
    (
        event("node_reused", "A", outputs={"response": "old"}, usage={"calls": 0, "prompt_tokens": 3}),
        "→ old · 3 tokens",
        "A: reused, 3 tokens\nold",
        "reused from an earlier run, 3 tokens.\n\n```text\nold\n```",
    ),
    (
        event("node_skipped", "A", reason="nobody needs it"),
        "skipped",
        "A: skipped\nnobody needs it",
        "skipped.\n\n```text\nnobody needs it\n```",
    ),
    (
        event("node_failed", "A", error="it is down", reason="no", path="L[2]", seconds=0.05, on_error="fail"),
        "failed: it is down · 0.1 s",
        "L[2]/A: failed, 0.1 s\nit is down",
        "failed in L[2], 0.1 s.\n\n```text\nit is down\n```",
    ),
]


@pytest.mark.parametrize("shows_runs", [True, False])
def test_each_kind_of_result_stands_behind_its_node_and_in_its_hover(
    open_editor: Callable[..., Editor], shows_runs: bool
) -> None:
    editor = open_editor(RUNS if shows_runs else MODERN)
    uri = editor.open(CHAIN)
    assert (hints(editor, uri), hovered(editor, uri)) == ([], "")
    tell(editor, uri, event("node_started", "A"))
    assert hints(editor, uri) == [], "of a run that was not begun here nothing is shown"
    begin(editor, uri)
    assert (hints(editor, uri), hovered(editor, uri)) == ([], "")
    tell(editor, uri, event("node_started", "GONE"), event("node_failed", "CustomOp"))
    assert hints(editor, uri) == [], "neither has a place in the text"
    of_class = editor.request("textDocument/hover", editor.at(uri, "CustomOp"))["contents"]["value"]
    assert "Last run" not in of_class, "a class is no node"
    for one, label, tooltip, says in RESULTS:
        tell(editor, uri, one)
        where = {"uri": uri, "run": "r1", "node": f"{one['path']}/A" if one["path"] else "A"}
        part: Json = {"value": label}
        link = ""
        if shows_runs:
            part["command"] = {"title": "Show the result", "command": "merrow.showNode", "arguments": [where]}
            link = f"\n\n[Show all of it](command:merrow.showNode?{quote(json.dumps([where]))})"
        hint = {
            "position": {"line": A, "character": END},
            "label": [part],
            "tooltip": tooltip,
            "paddingLeft": True,
        }
        assert hints(editor, uri) == [hint]
        assert hovered(editor, uri) == f"Last run: {says}{link}"
        assert hints(editor, uri, (A, END), (A, END)) == [hint]
        assert hints(editor, uri, (A + 1, 0)) == hints(editor, uri, end=(A, END - 1)) == []
    text = CHAIN.replace("Answer the question.", "Answer it.")
    editor.change(uri, {"text": text})
    assert hovered(editor, uri).startswith("Last run: failed in L[2], 0.1 s. The text has changed since.\n")
    begin(editor, uri, "r2")
    tell(editor, uri, event("node_started", "A"), event("node_started", "B", run="r2"))
    [hint] = hints(editor, uri)
    assert (hint["position"]["line"], hint["tooltip"], hovered(editor, uri)) == (B, "B: running", "")


DECLARED_LATER = """flowchart TD
    PROBLEM([Problem]):::Interface
    PROBLEM --> A
    A --> RETURN([Answer]):::Interface
    A@{ op: Custom, prompt: "Solve it.", samples: 2 }
    classDef Interface fill:#eee
"""


def test_a_result_stands_behind_the_declaration_of_its_node_wherever_that_is(editor: Editor) -> None:
    uri = editor.open(DECLARED_LATER)
    begin(editor, uri)
    tell(editor, uri, event("node_started", "A"), event("node_started", "RETURN"), event("node_started", "PROBLEM"))
    places = [(one["position"]["line"], one["position"]["character"]) for one in hints(editor, uri)]
    lines = DECLARED_LATER.splitlines()
    assert places == [(4, len(lines[4])), (3, len(lines[3])), (1, len(lines[1]))]


def test_who_draws_no_markdown_reads_the_same_in_plain_text(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MINIMAL)
    uri = editor.open(CHAIN)
    begin(editor, uri)
    tell(editor, uri, event("node_finished", "A", outputs={"response": "eight *legs*"}))
    assert hovered(editor, uri) == "Last run: finished.\n\n    eight *legs*"


BOX = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    subgraph REFINE["Loop (max: 2)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
    end
    PROBLEM --> WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    REVIEW -->|again:feedback:input| WRITE
    WRITE --> RETURN
    classDef Interface fill:#eee
"""


def test_the_turn_or_item_that_began_last_stands_behind_its_box(editor: Editor) -> None:
    uri = editor.open(BOX)
    begin(editor, uri)
    tell(editor, uri, event("turn_started", "REFINE", turn=1, of=2), event("turn_started", "GONE", turn=1, of=2))
    place = {"line": 3, "character": len("    subgraph REFINE")}
    hint = {
        "position": place,
        "label": "→ turn 1 of 2",
        "tooltip": "REFINE: turn 1 of 2 began last.",
        "paddingLeft": True,
    }
    assert hints(editor, uri) == [hint]
    assert hints(editor, uri, (3, place["character"]), (3, place["character"])) == [hint]
    assert hints(editor, uri, (4, 0)) == hints(editor, uri, end=(3, 0)) == []
    tell(editor, uri, event("item_started", "REFINE", item=3, of=9))
    assert [one["label"] for one in hints(editor, uri)] == ["→ item 3 of 9"]


def test_a_loop_that_was_stopped_says_so_behind_its_box(editor: Editor) -> None:
    uri = editor.open(BOX)
    begin(editor, uri)
    ended = event("loop_ended", "REFINE", path="REFINE", turns=2, why="turns", of=2, stopped=True)
    tell(editor, uri, event("turn_started", "REFINE", turn=2, of=2), ended)
    assert [one["label"] for one in hints(editor, uri)] == ["→ turns ran out after turn 2"]
    # That of a called file has the same name, and a case that led out is no news.
    begin(editor, uri)
    tell(editor, uri, event("turn_started", "REFINE", turn=1, of=2), {**ended, "path": "SOLVE/REFINE"})
    tell(editor, uri, event("loop_ended", "REFINE", path="REFINE", turns=1, why="case", of=2))
    assert [one["label"] for one in hints(editor, uri)] == ["→ turn 1 of 2"]


def findings(editor: Editor, uri: str) -> list[tuple[Any, ...]]:
    """The findings of runs: code, severity, message, place, and the places and messages of what is related."""

    def line(found: Json) -> tuple[int, int]:
        return found["start"]["line"], found["start"]["character"]

    return [
        (
            one["code"],
            one["severity"],
            one["message"],
            line(one["range"]),
            [(line(other["location"]["range"]), other["message"]) for other in one.get("relatedInformation", [])],
        )
        for one in editor.published(uri)
        if one["code"] in ("MW530", "MW531")
    ]


def test_failures_stand_at_their_nodes_once_for_each_reason(editor: Editor) -> None:
    uri = editor.open(CHAIN)
    begin(editor, uri)
    down = {"error": "The endpoint is down.", "on_error": "fail"}
    tell(editor, uri, event("node_failed", "A", **down))
    node_a = ("MW530", 1, "The endpoint is down.", (A, 4), [])
    assert findings(editor, uri) == [node_a]
    tell(
        editor,
        uri,
        event("node_failed", "A", run="r2", **down),
        event("node_failed", "A", **{**down, "path": "CALL/X"}),
        event("node_failed", "B", **down),
        event("node_failed", "GONE", **down),
        event("run_failed", error="It failed."),
    )
    again = [((B, 4), "B failed for the same reason."), ((5, 0), "GONE failed for the same reason.")]
    assert findings(editor, uri) == [(*node_a[:4], again)]
    begin(editor, uri, "r2")
    assert findings(editor, uri) == []
    got_over = down | {"on_error": "default"}
    tell(
        editor,
        uri,
        event("node_failed", "A", run="r2", **got_over),
        event("node_failed", "B", run="r2", **(got_over | {"error": "Another reason."})),
        event("run_failed", run="r2", error="The budget is used up."),
        event("run_failed", run="r2", error="The budget is used up."),
    )
    assert sorted(findings(editor, uri)) == [
        ("MW530", 2, "Another reason.", (B, 4), []),
        ("MW530", 2, "The endpoint is down.", (A, 4), []),
        ("MW531", 1, "The budget is used up.", (5, 0), []),
    ]


def test_the_client_is_asked_to_draw_again_at_once_at_the_end_and_seldom_before(
    open_editor: Callable[..., Editor],
) -> None:
    editor, plain = open_editor(PULLING), open_editor(MINIMAL)
    # Time stands still, so that what waits for a second waits for ever.
    editor.loop.time = lambda: 100.0  # type: ignore[method-assign]
    ends = ("run_finished", "run_failed", "run_cancelled")
    for which in (editor, plain):
        uri = which.open(CHAIN)
        before = asked(which, "codeLens")
        begin(which, uri)
        start = asked(which, "inlayHint")
        for number, end in enumerate(ends, 1):
            begin(which, uri)
            for events in (
                [event("run_started", endpoint="https://x.example")],
                [event("node_started", "A")],
                [event("run_finished", run="r0"), event("node_started", "B")],
            ):
                tell(which, uri, *events)
                assert asked(which, "inlayHint") == start + (number - 1 if which is editor else 0)
            tell(which, uri, event(end))
            assert asked(which, "inlayHint") == start + (number if which is editor else 0)
        assert asked(which, "codeLens") == before
        tell(which, uri, event("run_started", endpoint="merrow:offline"))
        tell(which, uri, event("node_started", "A", endpoint="https://x.example"))
        assert asked(which, "codeLens") == before + (which is editor)
        last = which.server.runs.results.of(which.server.diagrams(uri)[0])
        assert last is not None
        assert last.offline, "only the run's first event says who answers"
    pulled = asked(editor, "diagnostic")
    uri = editor.uri("flow.mmd")
    tell(editor, uri, event("node_failed", "A", error="down"))
    assert asked(editor, "diagnostic") == pulled + 1
    tell(editor, uri, event("node_started", "B"))
    assert asked(editor, "diagnostic") == pulled + 1
    begin(editor, uri)
    begin(editor, uri)
    assert asked(editor, "diagnostic") == pulled + 2, "only where there was a failure to take away"


def test_a_client_that_asks_and_is_not_to_be_asked_to_is_not_asked_to(open_editor: Callable[..., Editor]) -> None:
    silent = PULLING | {"workspace": PULLING["workspace"] | {"diagnostics": {"refreshSupport": False}}}
    for capabilities in (silent, MODERN):
        editor = open_editor(capabilities)
        uri = editor.open(CHAIN)
        begin(editor, uri)
        tell(editor, uri, event("node_failed", "A", error="down"))
        assert asked(editor, "diagnostic") == 0


def test_what_fails_in_a_text_without_a_header_stands_at_its_beginning(open_editor: Callable[..., Editor]) -> None:
    editor = open_editor(MODERN)
    uri = editor.open(CHAIN)
    begin(editor, uri)
    editor.change(uri, {"text": "    A --> B\n"})
    tell(editor, uri, event("run_failed", error="It failed."))
    [found] = [one for one in editor.published(uri) if one["code"] == "MW531"]
    assert found["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


class Shown:
    """What a client was shown of progress: messages with percentages."""

    def __init__(self, editor: Editor, progress: RunProgress | CaseProgress) -> None:
        self.editor, self.progress = editor, progress
        self._count = itertools.count()

    def values(self) -> list[Json]:
        self.editor.run()
        return [message["value"] for message in self.editor.messages("$/progress")]

    def reports(self) -> list[tuple[str, int]]:
        return [(one["message"], one["percentage"]) for one in self.values() if one["kind"] == "report"]


def test_the_progress_of_a_run_names_the_node_what_is_done_and_what_it_cost(editor: Editor) -> None:
    cancelled: list[bool] = []
    progress = RunProgress(editor.server, "Running flow.mmd", lambda: cancelled.append(True))
    progress.show()
    shown = Shown(editor, progress)
    editor.do(progress.begin())
    begun = {"kind": "begin", "title": "Running flow.mmd", "cancellable": True, "percentage": 0}
    assert shown.values() == [begun]

    def take(*events: Json) -> list[tuple[str, int]]:
        """The reports that these add."""
        before = len(shown.reports())
        for one in events:
            progress.take(one)
        progress.show()
        return shown.reports()[before:]

    assert take(event("run_started", nodes=4)) == []
    assert take(event("node_started", "P")) == [("P, 0 of 4 nodes done, $0", 0)]
    assert take(event("node_finished", "P", usage=None)) == [("P, 1 of 4 nodes done, $0", 25)]
    assert take(event("node_finished", "P")) == [], "nothing new"
    assert take(event("turn_started", "L", turn=2, of=3)) == [("L, turn 2 of 3, 1 of 4 nodes done, $0", 25)]
    inner = event("node_finished", "A", usage={"cost_usd": 0.25}) | {"path": "L[2]"}
    assert take(inner) == [("L[2]/A, turn 2 of 3, 2 of 4 nodes done, $0.2500", 50)]
    assert take(event("node_started", "A") | {"path": "L[1]"}) == [("L[1]/A, 2 of 4 nodes done, $0.2500", 50)]
    item = event("item_started", "M", item=1, of=2) | {"path": "L[2]"}
    assert take(item) == [("L[2]/M, item 1 of 2, 2 of 4 nodes done, $0.2500", 50)]
    within = event("node_started", "B") | {"path": "L[2]/M[1]"}
    assert take(within) == [("L[2]/M[1]/B, item 1 of 2, 2 of 4 nodes done, $0.2500", 50)]
    called = event("node_finished", "X", usage={"cost_usd": 0.5, "estimated": True}) | {"path": "CALL"}
    assert take(called) == [("CALL/X, 2 of 4 nodes done, about $0.7500", 50)]
    assert take(event("node_reused", "B", usage={"cost_usd": 9})) == [("B, 3 of 4 nodes done, about $0.7500", 75)]
    assert take(event("run_finished", usage={"cost_usd": 9})) == [], "its usage is that of its nodes"
    unpriced = event("node_skipped", "C", usage={"cost_usd": None})
    assert take(unpriced) == [("C, 4 of 4 nodes done, cost unknown", 100)]
    more = event("node_failed", "D", usage={"cost_usd": 1})
    assert take(more) == [("D, 4 of 4 nodes done, cost unknown", 100)], "once it is unknown, it stays so"
    progress.end()
    progress.end()
    assert shown.values()[-1] == {"kind": "end"}
    assert not editor.server.work_done_progress.tokens
    assert [one["kind"] for one in shown.values()].count("end") == 1
    assert take(event("node_started", "E")) == []
    assert cancelled == []


def test_of_many_rounds_those_that_began_last_are_named(editor: Editor) -> None:
    progress = RunProgress(editor.server, "Running flow.mmd", lambda: None)
    shown = Shown(editor, progress)
    editor.do(progress.begin())
    progress.take(event("run_started", nodes=2))
    for number in range(1, 1002):
        progress.take(event("item_started", "M", item=number, of=1001))
    for number, words in ((1, ""), (2, ", item 2 of 1001"), (1001, ", item 1001 of 1001")):
        progress.take(event("node_started", "A") | {"path": f"M[{number}]"})
        progress.show()
        assert shown.reports()[-1] == (f"M[{number}]/A{words}, 0 of 2 nodes done, $0", 0)


def test_the_progress_of_cases_names_the_one_that_was_last_heard_of(editor: Editor) -> None:
    progress = CaseProgress(editor.server, "Testing", lambda: None, 3)
    shown = Shown(editor, progress)
    editor.do(progress.begin())
    for name, result in (("one", None), ("one", {}), ("two", None), ("one", {}), ("two", {"passed": True})):
        progress.tell({"id": name, "result": result})
    assert shown.reports() == [
        ("one, 0 of 3 cases done", 0),
        ("one, 1 of 3 cases done", 33),
        ("two, 1 of 3 cases done", 33),
        ("one, 2 of 3 cases done", 66),
        ("two, 3 of 3 cases done", 100),
    ]


@pytest.mark.parametrize("capabilities", [MINIMAL, MODERN])
def test_the_button_cancels_once_and_a_client_without_progress_is_shown_none(
    open_editor: Callable[..., Editor], capabilities: Json
) -> None:
    editor = open_editor(capabilities)
    cancelled: list[bool] = []
    progress = CaseProgress(editor.server, "Testing", lambda: cancelled.append(True), 1)
    editor.do(progress.begin())
    progress.tell({"id": "one", "result": None})
    editor.run()
    tokens: Sequence[str] = [message["token"] for message in editor.messages("$/progress")]
    assert len(tokens) == (0 if capabilities is MINIMAL else 2)
    for token in tokens[:1]:
        editor.notify("window/workDoneProgress/cancel", {"token": token})
        editor.run()
    assert cancelled == [True] * len(tokens[:1])
    progress.end()
    editor.run()
    assert len(editor.messages("$/progress")) == (0 if capabilities is MINIMAL else 3)
