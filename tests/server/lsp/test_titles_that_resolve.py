"""Each title in a menu can be fulfilled: what `codeAction/resolve` is asked for a broken text has edits."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from tests.breakage import broken
from tests.broken_drawings import BREAKS
from tests.growth.doors import Opened
from tests.growth.shapes import Shape
from tests.server.lsp.editor import Json
from tests.server.test_fix_sweep import SOUND
from tests.sizes import sized

TRUE = "---\nworkflow: true\n---\n"
STEP = """    SOLVE@{ op: Custom, prompt: "Solve it." }
    PROBLEM([P]):::Interface
    PROBLEM -->|input| SOLVE --> RETURN([R]):::Interface
"""
DRAWING = """flowchart TD
    N1["Read the mail"]
    N2{"Is it good?"}
    subgraph G1["Sort it"]
        N3("Plan maps")
        N4[("Store letters")]
    end
    N1 --> N2
    N2 -->|"yes"| N3
    N2 -->|"no"| N4
    N3 -.->|"later on"| N4
"""
_MOST_FINDINGS = 8


def _menus(it: Opened) -> Iterator[Json]:
    """The actions at the first findings, and for all of the text."""
    places = [(one["range"], [one]) for one in it.diagnostics[:_MOST_FINDINGS]]
    for place, sent in [*places, (it.whole, [])]:
        context = {"diagnostics": sent, "triggerKind": 1}
        yield from it.ask("textDocument/codeAction", it.document | {"range": place, "context": context}) or []


def _unfulfilled(text: str) -> list[str]:
    it = Opened(Shape("a text", lambda _: text), 1)
    try:
        it.open()
        found = []
        for action in _menus(it):
            lazy = "edit" not in action and "data" in action
            edit = (it.ask("codeAction/resolve", action) or {}).get("edit") if lazy else action.get("edit")
            changes = [
                one for change in (edit or {}).get("documentChanges", []) for one in change.get("edits", [change])
            ]
            if not changes and "command" not in action:
                found.append(action["title"])
        return found
    finally:
        it.close()


@pytest.mark.parametrize(
    "text",
    [
        f"{TRUE}flowchart TD\n{STEP}",
        f"---\nworkflow: [\n---\nflowchart TD\n{STEP}",
        f"---\nworkflow:\n  prompts: Solve\n---\nflowchart TD\n{STEP}",
    ],
    ids=["no place for prompts", "front matter that can't be read", "prompts that are none"],
)
def test_a_prompt_is_moved_only_where_the_front_matter_has_a_place_for_it(text: str) -> None:
    assert _unfulfilled(text) == []


@pytest.mark.parametrize("kind", sorted(BREAKS))
def test_titles_for_a_broken_drawing(kind: str) -> None:
    random = Random(kind)
    made = [BREAKS[kind](DRAWING, random) for _ in range(sized(1, 4))]
    for one in made:
        if one is not None:
            assert _unfulfilled(random.choice(("", TRUE)) + one.text) == [], one.text


@pytest.mark.parametrize("part", range(3))
def test_titles_for_broken_texts(part: int) -> None:
    random = Random(part)
    for _ in range(sized(6, 40)):
        text = broken(random.choice(SOUND)[1], random)
        assert _unfulfilled(text) == [], text
