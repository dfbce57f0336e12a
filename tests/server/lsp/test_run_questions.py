"""What the user is asked about runs, and which suggestions are kept until one is applied."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MINIMAL, MODERN, Editor, Json, ServerError

from merrow_runtime.provenance import ForeignResults
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.work.run_questions import ask_about_reuse, ask_about_revision
from merrow_server.lsp.work.suggestions import Kept, Last


class Pressing(Editor):
    """An editor whose user presses the button of this title; None: closes the question; "?": it can't ask."""

    button: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.on("window/showMessageRequest", self._press)

    def _press(self, _: object) -> Json | None:
        if self.button == "?":
            raise ServerError("no such method", -32601)
        return None if self.button is None else {"title": self.button}

    def questions(self) -> list[Json]:
        found = [one["params"] for one in self.requests if one["method"] == "window/showMessageRequest"]
        self.requests.clear()
        return found


@pytest.fixture
def pressing() -> Iterator[Pressing]:
    editor = Pressing()
    yield editor
    editor.close()


WAITS = {
    "event": "revision_waiting",
    "run": "r1",
    "revision": 2,
    "reason": "So it ends.",
    "diff": {
        "kept": ["A", "B"],
        "reset": ["C"],
        "added": ["D"],
        "removed": ["E", "F", "G"],
        "changed": ["H"],
        "cancelled": ["C"],
    },
}


@pytest.mark.parametrize(
    ("button", "answer"), [("Apply", True), ("Refuse", False), (None, None), ("Later", None), ("?", None)]
)
def test_a_revision_is_asked_about_with_what_it_does(
    pressing: Pressing, caplog: pytest.LogCaptureFixture, button: str | None, answer: bool | None
) -> None:
    pressing.button = button
    actions = [{"title": "Apply"}, {"title": "Refuse"}]
    for event, sentence in (
        (
            WAITS,
            "Revision 2 of run r1 waits for you (2 kept, 1 reset, 1 added, 3 removed, 1 changed). So it ends.",
        ),
        (
            WAITS | {"reason": "", "diff": {"kept": [], "changed": ["A"]}},
            "Revision 2 of run r1 waits for you (1 changed).",
        ),
    ):
        with caplog.at_level(logging.CRITICAL):
            said = pressing.do(ask_about_revision(pressing.server, event))
        assert said is answer
        assert pressing.questions() == [{"type": 3, "message": sentence, "actions": actions}]


@pytest.mark.parametrize(
    ("button", "answer"), [("Run Again", "same"), ("Keep Results", "any"), (None, None), ("Later", None), ("?", None)]
)
def test_results_of_another_endpoint_are_asked_about(
    pressing: Pressing, caplog: pytest.LogCaptureFixture, button: str | None, answer: str | None
) -> None:
    pressing.button = button
    found = ForeignResults("r1", ["A"], ["https://x.example"], "https://y.example")
    sentence = "In run r1, A was answered by https://x.example, but https://y.example answers now."
    asking = ask_about_reuse(pressing.server, found)
    with caplog.at_level(logging.CRITICAL):
        if answer is not None:
            assert pressing.do(asking) == answer
        else:
            with pytest.raises(FeatureError) as caught:
                pressing.do(asking)
            assert (caught.value.code, caught.value.message) == (
                (
                    -32803,
                    f'{sentence} Execute the command with `reuse: "same"` to run them again, or with'
                    ' `reuse: "any"` to keep their results.',
                )
                if button == "?"
                else (-32800, f"{sentence} Nothing was run.")
            )
    actions = [{"title": "Run Again"}, {"title": "Keep Results"}]
    assert pressing.questions() == [{"type": 2, "message": sentence, "actions": actions}]


@pytest.mark.parametrize("capabilities", [MODERN, MINIMAL])
def test_the_last_64_suggestions_are_kept_and_those_of_a_text_while_it_is_as_it_was(
    open_editor: Callable[..., Editor], capabilities: Json
) -> None:
    editor = open_editor(capabilities)
    suggestions = editor.server.suggestions
    kept: Any = [Kept("file:///a", number, f"{number}", "", ()) for number in range(66)]
    for number in range(64):
        suggestions.keep(str(number), kept[number])
    assert [suggestions.kept(str(number)) for number in range(65)] == [*kept[:64], None]
    suggestions.keep("0", kept[65])
    suggestions.keep("64", kept[64])
    assert suggestions.kept("1") is None
    assert [suggestions.kept(name) for name in ("0", "2", "64")] == [kept[65], kept[2], kept[64]]
    uri = editor.open(CHAIN)
    [diagram] = editor.server.diagrams(uri)
    assert suggestions.last(diagram) is None

    def refreshes() -> int:
        return sum(one["method"] == "workspace/codeLens/refresh" for one in editor.requests)

    refreshed = int(capabilities is MODERN)
    editor.until(lambda: refreshes() >= refreshed)  # with the settings, which come a moment after the start
    last = Last(CHAIN, 2, {})
    suggestions.remember(diagram, last)
    editor.run()
    assert refreshes() == 2 * refreshed
    assert suggestions.last(diagram) is last
    editor.change(uri, {"text": CHAIN + "%% more\n"})
    assert suggestions.last(diagram) is None
    editor.change(uri, {"text": CHAIN})
    assert suggestions.last(diagram) is last
