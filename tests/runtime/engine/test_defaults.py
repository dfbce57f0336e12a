"""What a node that failed gives with `on_error: default`: what its author wrote, by output, and empty values for the rest."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, workflow

import merrow_runtime
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.store.memory import MemoryStore

MANY = (
    "{{types: {{Route: [left, right]}}, operators: {{Many: {{inputs: {{input: Text}}, prompt: p, outputs: "
    '{{first: {first}, number: Number, truth: Bool, words: "list[Text]", way: Route, any: Json, text: Text}}}}}}}}'
)
EMPTY = {"number": 0, "truth": False, "words": [], "way": "left", "any": None, "text": ""}


async def outputs(first: str, default: str) -> Any:
    flow = workflow(
        f"A@{{\n op: Many\n on_error: default\n default: {default}\n }}",
        "PROBLEM --> A",
        "A -->|first:result| RETURN",
        front=MANY.format(first=first),
    )
    endpoint = FakeEndpoint(lambda _: EndpointFailure("The model is out of order."))
    result = await merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore()).result()
    assert result.status == "finished", result.error
    assert result.nodes["A"].error == "The model is out of order."
    return result.nodes["A"].outputs


@pytest.mark.parametrize(
    ("first", "default", "expected"),
    [
        ("Text", "spare", {"first": "spare"}),
        ("Text", "\n  number: 3", {"first": "", "number": 3}),
        ("Text", "\n  text: a\n  truth: true\n  way: right", {"first": "", "text": "a", "truth": True, "way": "right"}),
        ("Json", "\n  other: 1", {"first": {"other": 1}}),
        ("Json", "\n  number: 1\n  other: 2", {"first": {"number": 1, "other": 2}}),
        ("Json", "[1, 2]", {"first": [1, 2]}),
        ("Number", "7", {"first": 7}),
    ],
)
async def test_what_is_said_counts_and_the_rest_is_empty(first: str, default: str, expected: dict[str, Any]) -> None:
    assert await outputs(first, default) == EMPTY | expected


async def test_empty_values_fill_records_and_unions() -> None:
    front = (
        "{types: {Place: {city: Text, rank: Number, tags: 'list[Text]'}, Query: {ask: Text}, Step: Query | Place},"
        " operators: {Many: {inputs: {input: Text}, prompt: p, outputs: {first: Text, place: Place, step: Step}}}}"
    )
    flow = workflow(
        "A@{op: Many, on_error: default, default: spare}", "PROBLEM --> A", "A -->|first:result| RETURN", front=front
    )
    endpoint = FakeEndpoint(lambda _: EndpointFailure("The model is out of order."))
    result = await merrow_runtime.start(flow, {"problem": "x"}, endpoint=endpoint, store=MemoryStore()).result()
    assert result.nodes["A"].outputs == {
        "first": "spare",
        "place": {"city": "", "rank": 0, "tags": []},
        "step": {"kind": "Query", "value": {"ask": ""}},
    }


@pytest.mark.parametrize("default", [".nan", "-.inf", "[1, .inf]"])
async def test_a_default_that_json_does_not_have_is_refused_before_the_run(default: str) -> None:
    with pytest.raises(UsageFailure, match=r"`default` has a value that JSON does not have, such as \.nan.*MW322"):
        await outputs("Json", default)


@pytest.mark.parametrize(
    ("first", "default", "named"),
    [("Number", "\n  number: many", "number"), ("Number", "none", "first"), ("Text", "\n  way: up", "way")],
)
async def test_a_default_of_another_type_is_refused_before_the_run(first: str, default: str, named: str) -> None:
    with pytest.raises(UsageFailure, match=f"its `default:` for its output {named} must be of type .*MW305"):
        await outputs(first, default)
