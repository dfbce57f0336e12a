"""What a node's result stands on: whatever would make it another one makes its key another, so that it is not reused."""

from __future__ import annotations

import pytest
from tests.runtime.engine.fakes import FakeEndpoint, answered, workflow

import merrow_runtime
from merrow_runtime import RunOptions
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore


def said(request: ModelRequest) -> str:
    return answered(request, "1")


async def reused(
    node: str, before: tuple[tuple[str, ...], str], after: tuple[tuple[str, ...], str], problem: str = "x"
) -> bool:
    """Whether the result of a node in one workflow is reused in another; all models always say the same."""
    store = MemoryStore()
    lines, front = before
    first = await merrow_runtime.run(
        workflow(*lines, front=front), {"problem": "x"}, endpoint=FakeEndpoint(said), store=store
    )
    assert first.status == "finished", first.error
    lines, front = after
    options = RunOptions(from_run=first.run)
    again = await merrow_runtime.run(
        workflow(*lines, front=front), {"problem": problem}, endpoint=FakeEndpoint(said), store=store, options=options
    )
    assert again.status == "finished", again.error
    return again.nodes[node].status == "reused"


def chain(a: str = "role: first", b: str = 'prompt: "b"', c: str = 'prompt: "c"') -> tuple[str, ...]:
    return (
        f"A@{{op: Custom, {a}}}",
        f"B@{{op: Custom, {b}}}",
        f"C@{{op: Custom, {c}}}",
        "PROBLEM --> A --> B --> C --> RETURN",
    )


PROMPTS = '{prompts: {first: "do it", second: "do it"}}'
SAME = (chain(), PROMPTS)
REMEMBERS = (chain(c='prompt: "c", memory: all'), PROMPTS)


@pytest.mark.parametrize(
    ("node", "before", "after", "expected"),
    [
        ("B", SAME, SAME, True),
        # Who gave a value counts as far as a prompt shows it: by its role.
        ("B", SAME, (chain(a="role: second"), PROMPTS), False),
        ("C", SAME, (chain(a="role: second"), PROMPTS), True),
        ("B", SAME, (chain(b='prompt: "b", temperature: 0.5'), PROMPTS), False),
        ("B", SAME, (chain(b='prompt: "b", max_tokens: 9'), PROMPTS), False),
        ("B", SAME, (chain(b='prompt: "b", seed: 9'), PROMPTS), False),
        ("B", SAME, (chain(b='prompt: "b", model: m'), PROMPTS), False),
        # C remembers PROBLEM, then A; both are part of what it is given.
        ("C", REMEMBERS, REMEMBERS, True),
        ("C", REMEMBERS, (chain(a="role: second", c='prompt: "c", memory: all'), PROMPTS), False),
        ("C", REMEMBERS, (chain(c='prompt: "c", memory: summary'), PROMPTS), False),
    ],
)  # fmt: skip
async def test_a_change_of_what_a_node_stands_on_makes_it_run_again(
    node: str, before: tuple[tuple[str, ...], str], after: tuple[tuple[str, ...], str], expected: bool
) -> None:
    assert await reused(node, before, after) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("{types: {Mood: [good, bad]}}", "{types: {Mood: [good, bad]}}", True),
        ("{types: {Mood: [good, bad]}}", "{types: {Mood: [good, bad, odd]}}", False),
        ("{types: {Mood: Text}}", "{types: {Mood: Json}}", False),
    ],
)
async def test_what_a_declared_type_allows_is_part_of_the_key(before: str, after: str, expected: bool) -> None:
    lines = ('A@{op: Custom, prompt: "a", returns: Mood}', "PROBLEM --> A --> RETURN")
    assert await reused("A", (lines, before), (lines, after)) is expected
