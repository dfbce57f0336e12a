"""The menu of an editor at each finding of a drawing in pieces, with arrows back: it opens, and each choice has its edit."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from tests.growth.doors import Opened
from tests.growth.shapes import Shape
from tests.plain.drawings import knotted_drawings
from tests.plain.test_pieces import ONLY_A_RING, PIECES, THREE_PIECES, WITH_PROBLEM, pieces

MARKED = "---\nworkflow: true\n---\n"


@settings(max_examples=3, suppress_health_check=list(HealthCheck), deadline=None)
@example(PIECES[0])
@example(THREE_PIECES)
@example(ONLY_A_RING)
@example(WITH_PROBLEM)
@given(pieces() | knotted_drawings())
def test_the_menu_opens_at_each_finding_and_each_choice_can_be_made(text: str) -> None:
    whole = text if text.startswith("---") else MARKED + text
    it = Opened(Shape("a drawing", lambda _: whole), 1)
    try:
        it.open()
        for finding in it.diagnostics:
            assert finding["code"] != "MW590", finding
            context = {"diagnostics": [finding], "triggerKind": 1}
            actions = it.ask("textDocument/codeAction", it.document | {"range": finding["range"], "context": context})
            for action in actions or []:
                if "edit" not in action and "data" in action:
                    assert it.ask("codeAction/resolve", action)["edit"]
        assert "MW590" not in [found["code"] for found in it.ask("textDocument/diagnostic", it.document)["items"]]
    finally:
        it.close()
