"""What a node remembers, by the kinds of memory the language has."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import given as draw
from hypothesis import strategies as st
from tests.runtime.operators.scripted import ScriptedTools, given, node

from merrow_analysis.definitions.settings import MemoryKind
from merrow_runtime.models.tokens import estimate_tokens
from merrow_runtime.operators.base import Remembered, Task
from merrow_runtime.operators.prompts.memory import recall, remembered, wanted
from merrow_runtime.operators.registry import operator_for

ENTRIES = st.lists(
    st.builds(Remembered, st.sampled_from("ABC"), st.text(max_size=5), st.text(max_size=200)), max_size=8
)


@draw(ENTRIES, st.integers(1, 10))
def test_last_keeps_the_newest_in_order(entries: list[Remembered], amount: int) -> None:
    assert remembered("last", amount, entries) == entries[max(0, len(entries) - amount) :]


@draw(ENTRIES, st.integers(1, 300))
def test_tokens_keep_as_many_of_the_newest_as_fit_uncut(entries: list[Remembered], amount: int) -> None:
    kept = remembered("tokens", amount, entries)
    assert kept == entries[len(entries) - len(kept) :]
    assert _size(kept) <= amount
    if len(kept) < len(entries):
        # One more would be too many, by at most a token for each entry's own rounding.
        assert _size(entries[len(entries) - len(kept) - 1 :]) + len(kept) + 1 > amount


@draw(
    ENTRIES, st.sampled_from([("last", 3), ("last", 1), ("tokens", 60), ("tokens", 1), ("all", None), ("agent", None)])
)
def test_what_is_wanted_from_the_newest_on_is_what_is_kept(
    entries: list[Remembered], memory: tuple[MemoryKind, int | None]
) -> None:
    wants = wanted(*memory)
    taken = entries if wants is None else list(takewhile(wants, reversed(entries)))[::-1]
    assert taken == remembered(*memory, entries)


def _size(entries: list[Remembered]) -> int:
    """Tokens of the memory as it is in a prompt, without the blank lines between sections."""
    definition = node("Custom")
    [planned] = operator_for(definition).plan(
        Task(definition, {"input": given("x")}, entries or [Remembered("", "", "")])
    )
    data = planned.messages[-1].content.rpartition("## Input")[0]
    return sum(estimate_tokens(f"## {part.rstrip()}") for part in f"\n{data}".split("\n## ")[1:]) if entries else 0


@draw(ENTRIES)
def test_none_and_all(entries: list[Remembered]) -> None:
    assert remembered("none", None, entries) == []
    assert remembered("all", None, entries) == entries


@pytest.mark.parametrize(("kind", "amount"), [("none", None), ("all", None), ("last", 1), ("tokens", 100)])
async def test_only_a_summary_asks(kind: str, amount: int | None) -> None:
    tools = ScriptedTools()
    entries = [Remembered("A", "a", "x")]
    assert await recall(kind, amount, entries, tools) == remembered(kind, amount, entries)  # type: ignore[arg-type]
    assert tools.asked == []


async def test_a_summary_is_one_question_about_all_entries() -> None:
    tools = ScriptedTools(["", " x is 4; y is open. "])
    entries = [Remembered("A", "solve", "x = 4"), Remembered("B", "", "y = {?}")]
    [summary] = await recall("summary", None, entries, tools)
    assert summary.text == "x is 4; y is open."
    assert {asked.step for asked in tools.asked} == {"memory"}
    assert len(tools.asked) == 2, "the empty answer is asked again"
    assert tools.asked[0].user == "## Earlier result: solve\n```\nx = 4\n```\n\n## Earlier result: B\n```\ny = {?}\n```"
    definition = node("Custom")
    [planned] = operator_for(definition).plan(Task(definition, {"input": given("go")}, [summary]))
    assert planned.messages[-1].content.startswith("## Earlier result: summary of all earlier results\n```\nx is 4")


async def test_nothing_to_remember_is_nothing_to_summarise() -> None:
    tools = ScriptedTools()
    assert await recall("summary", None, [], tools) == []
    assert tools.asked == []
