"""No node gives a missing, superfluous or ill-typed value."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.operators.scripted import OUTPUTS, node

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.formats.shapes import placeholder
from merrow_runtime.operators.outputs import check_outputs
from merrow_runtime.operators.questions import output_shape

WORDS = {"Route": ("math", "code")}
GOOD: dict[str, list[Any]] = {
    "Text": ["", "x"],
    "Draft": ["x"],
    "Code": ["x = 1"],
    "EntryPoint": ["solve"],
    "Bool": [True, False],
    "Number": [0, -1.5],
    "Score": [1],
    "Json": [None, {"a": [1, True, "x"]}, 1, "x"],
    "Any": ["x", 1, None],
    "Route": ["math", "code"],
    "list[Text]": [[], ["x"]],
    "list[list[Number]]": [[[1], []]],
    "list[Route]": [["math"]],
}
BAD: dict[str, list[Any]] = {
    "Text": [None, 1, True, ["x"]],
    "Draft": [1],
    "Code": [None],
    "Bool": [1, "true", None],
    "Number": ["1", True, None, float("nan"), float("inf")],
    "Score": ["1"],
    "Json": [float("nan"), {1: 2}, {"a": object()}, (1,)],
    "Route": ["Math", "biology", None],
    "list[Text]": ["x", [1], None],
    "list[list[Number]]": [[1], [["x"]]],
    "list[Route]": [["biology"]],
}
KINDS = {"Draft": "Text", "Score": "Number"}


@pytest.mark.parametrize(("type_", "value"), [(type_, value) for type_, values in GOOD.items() for value in values])
def test_values_of_the_type_pass(type_: str, value: Any) -> None:
    check_outputs(node("Custom", outputs={"response": type_}, kinds=KINDS, words=WORDS), {"response": value})


@pytest.mark.parametrize(("type_", "value"), [(type_, value) for type_, values in BAD.items() for value in values])
def test_values_of_another_type_fail_naming_node_port_and_type(type_: str, value: Any) -> None:
    definition = node("Custom", outputs={"response": type_}, kinds=KINDS, words=WORDS)
    with pytest.raises(NodeFailure) as caught:
        check_outputs(definition, {"response": value})
    message = str(caught.value)
    assert "Node N " in message
    assert "`response`" in message
    assert type_ in message


def test_a_missing_and_a_superfluous_output_fail() -> None:
    definition = node("Review")
    with pytest.raises(NodeFailure, match="`result`"):
        check_outputs(definition, {"feedback": "x"})
    with pytest.raises(NodeFailure, match="`more`"):
        check_outputs(definition, {"feedback": "x", "result": True, "more": 1})


@pytest.mark.parametrize("type_", GOOD)
def test_a_placeholder_is_of_its_type_and_says_where_the_value_will_come_from(type_: str) -> None:
    definition = node("Custom", outputs={"response": type_}, kinds=KINDS, words=WORDS)
    value = placeholder(output_shape(definition, "response"), "N.response")
    check_outputs(definition, {"response": value})
    if type_ in ("Text", "Draft", "Code", "Json", "list[Text]"):
        assert "N.response" in str(value)


def test_placeholders_of_every_operator_are_good_outputs() -> None:
    for operator, ports in OUTPUTS.items():
        definition = node(operator)
        check_outputs(definition, {port: placeholder(output_shape(definition, port), port) for port in ports})
