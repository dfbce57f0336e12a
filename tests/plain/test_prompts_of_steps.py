"""What a step in plain words asks its model: its own prompt, that of its role, or the words of its box."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.graph.instructions import prompt_of

FRONT = "---\nworkflow: {prompts: {critic: Be strict.}}\n---\n"


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ("", "Check it"),
        ("B@{role: critic}", "Be strict."),
        ("B@{prompt: Do it}", "Do it"),
        ("B@{prompt: Do it, role: critic}", "Do it"),
        ("B@{op: Custom, role: critic}", "Be strict."),
        ("B@{temperature: 1}", "Check it"),
    ],
)
def test_what_a_step_asks(more: str, asked: str) -> None:
    analysis = analyse(f"{FRONT}flowchart TD\n    A[Write a plan] --> B[Check it]\n    {more}\n")
    assert analysis.typed is not None
    first, second = (prompt_of(analysis.typed.by_id[name], analysis.prompts) for name in "AB")
    assert first == "Write a plan"
    assert (second.text if isinstance(second, Prompt) else second) == asked
