"""What hover says a step remembers, and of whom, before anything runs."""

from __future__ import annotations

import pytest
from tests.analysis.ide.cursor import marked

from merrow_analysis.ide.hover import hover

FLOW = """---
workflow:
  agents: {{editor: {{role: Editor}}}}{front}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    PLAN@{{ op: Custom, prompt: "Plan.", agent: editor }}
    DRAFT@{{ op: Custom, prompt: "Draft." }}
    CHE<|>CK@{{ op: Custom, prompt: "Check."{node} }}
    RETURN([Return]):::Interface
    classDef Interface fill:#eee
    PROBLEM -->|input| PLAN -->|input| DRAFT -->|input| CHECK --> RETURN
"""


def said(front: str = "", node: str = "", flow: str = FLOW) -> str:
    here = marked(flow.format(front=front, node=node))
    found = hover(here.analysis, here.position)
    assert found is not None
    return found.text.markdown()


@pytest.mark.parametrize(
    ("front", "node", "sentence"),
    [
        ("\n  memory: all", "", "It remembers the results of `PROBLEM` and `PLAN` (set for all steps in the front matter)."),
        ("", ", memory: all", "It remembers the results of `PROBLEM` and `PLAN` (set in its metadata)."),
        ("\n  memory: all", ', memory: "{last: 1}"', "It remembers the result of `PLAN` (set in its metadata)."),
        ("", ", memory: summary", "It remembers a summary of the results of `PROBLEM` and `PLAN`"),
        ("", ", memory: agent, agent: editor", "It remembers the result of `PLAN`"),
        ("", ", memory: agent", "It remembers nothing: `memory: agent` is for nodes with an agent"),
        ("\n  memory: all", ", memory: none", "It remembers nothing: it sees only what its edges bring (set in its metadata)."),
    ],
)  # fmt: skip
def test_a_step_says_what_it_remembers_and_of_whom(front: str, node: str, sentence: str) -> None:
    assert sentence in said(front, node)


def test_without_a_memory_nothing_is_said_of_one() -> None:
    assert "remember" not in said()


def test_a_step_of_a_drawing_says_that_it_remembers_all() -> None:
    drawing = "flowchart TD\n    PROBLEM --> B[Write a plan] --> C[Follow the plan] --> D<|>[Check it] --> RETURN\n"
    here = marked(drawing)
    found = hover(here.analysis, here.position)
    assert found is not None
    assert "It remembers the results of `PROBLEM` and `B`" in found.text.markdown()
