"""What the checker calls a parameter without effect has none: the questions are the same with it and without."""

from __future__ import annotations

import pytest
from tests.runtime.operators.scripted import node, preview
from tests.runtime.operators.test_previews import WAYS

from merrow_analysis.definitions.operators import BUILT_IN_TABLE


@pytest.mark.parametrize("operator", [name for name in WAYS if name != "Call"])  # which has no common parameters
def test_format_changes_the_questions_where_it_is_said_to(operator: str) -> None:
    inputs, _ = WAYS[operator]
    spec = BUILT_IN_TABLE.named(operator)
    assert spec is not None
    plain, formed = (preview(node(operator, parameters=said), inputs) for said in ({}, {"format": "haiku"}))
    assert (formed == plain) == ("format" in spec.idle)


@pytest.mark.parametrize("count", [1, 2])
def test_of_declared_operators_those_with_one_output(count: int) -> None:
    outputs = dict.fromkeys(("one", "two")[:count], "Text")
    spec = {"inputs": {"text": "Text"}, "outputs": outputs, "prompt": "Do it."}
    inputs, _ = WAYS["Custom"]
    plain, formed = (
        preview(node("Own", spec=spec, outputs=outputs, parameters=said), {"text": inputs["input"]})
        for said in ({}, {"format": "haiku"})
    )
    assert (formed == plain) == (count > 1)
