"""Data stays in its frame, and nothing of a prompt or of data is read as a template."""

from __future__ import annotations

from hypothesis import given as draw
from hypothesis import strategies as st
from tests.runtime.operators.scripted import given, node

from merrow_runtime.operators.base import Remembered, Task
from merrow_runtime.operators.formats.fences import fences, framed
from merrow_runtime.operators.prompts.prompting import DATA_NOTICE, compose, input_sections
from merrow_runtime.operators.registry import operator_for

HOSTILE = st.text(
    alphabet=st.one_of(st.sampled_from("`~#\n\r \t{}<>A1\u2028\u0085\x0b"), st.characters(codec="utf-8")), max_size=60
)


@draw(HOSTILE)
def test_a_framed_text_comes_back_as_it_was(text: str) -> None:
    assert [(fence.text, fence.closed) for fence in fences(framed(text))] == [(text, True)]


@draw(st.lists(HOSTILE, min_size=1, max_size=4), st.lists(st.tuples(HOSTILE, HOSTILE), max_size=3), HOSTILE)
def test_no_value_gets_out_of_its_frame(values: list[str], memory: list[tuple[str, str]], title: str) -> None:
    """What a reader of the fences sees are exactly the values, in order, and one heading line before each."""
    entries = [Remembered("A", heading, text) for heading, text in memory]
    definition = node("Custom", prompt="Do it.")
    [planned] = operator_for(definition).plan(Task(definition, {"input": given(*values)}, entries))
    user = planned.messages[-1].content
    if len(values) == 1 and not memory and values[0].strip():
        assert user == values[0]
        return
    assert [fence.text for fence in fences(user)] == [*(text for _, text in memory), *values]
    outside = user
    for fence in fences(user):
        outside = outside.replace(framed(fence.text), "", 1)
    lines = [line for line in outside.split("\n") if line]
    assert len(lines) == len(values) + len(memory)
    assert all(line.startswith("## ") for line in lines)


@draw(HOSTILE, HOSTILE)
def test_braces_in_prompts_and_data_stay_as_they_are(prompt: str, value: str) -> None:
    prompt, value = "{" + prompt + "}{0}{problem}", "{" + value + "}{{x}}%s$name"
    definition = node("Custom", prompt=prompt)
    [planned] = operator_for(definition).plan(Task(definition, {"input": given(value)}))
    assert [(message.role, message.content) for message in planned.messages] == [
        ("system", prompt.strip()),
        ("user", value),
    ]


def test_a_single_value_is_the_message() -> None:
    [user] = compose((None, " "), input_sections({"input": given("What is 2 + 2?")}))
    assert (user.role, user.content) == ("user", "What is 2 + 2?")


def test_several_values_are_sections_that_say_where_they_come_from() -> None:
    system, user = compose(("Compare.",), input_sections({"input": given("one", "two\n```\nthree")}))
    assert system.content == f"Compare.\n\n{DATA_NOTICE}"
    assert user.content == (
        "## Input 1 of 2: source 1\n```\none\n```\n\n## Input 2 of 2: source 2\n````\ntwo\n```\nthree\n````"
    )


def test_ports_give_their_names_and_lists_are_shown_item_by_item() -> None:
    inputs = {"entry_point": given("solve"), "solutions": given(["a", "b"], type_="list[Text]"), "flag": given(True)}
    assert [(section.heading, section.text) for section in input_sections(inputs)] == [
        ("Entry point", "solve"),
        ("Solutions 1 of 2: source 1", "a"),
        ("Solutions 2 of 2: source 1", "b"),
        ("Flag", "true"),
    ]


def test_memory_comes_before_inputs_and_frames_even_a_single_one() -> None:
    memory = [Remembered("PLAN", "write_plan", "First add."), Remembered("X", "", "Then halve.")]
    _, user = compose(("Go on.",), input_sections({"input": given("6 and 4")}), memory)
    assert user.content == (
        "## Earlier result: write_plan\n```\nFirst add.\n```\n\n## Earlier result: X\n```\nThen halve.\n```\n\n"
        "## Input\n```\n6 and 4\n```"
    )


def test_a_title_stays_on_one_line() -> None:
    memory = [Remembered("A", "title\n```\n## Input", "x")]
    _, user = compose((), [], memory)
    assert user.content.splitlines()[0] == "## Earlier result: title ``` ## Input"
    assert [fence.text for fence in fences(user.content)] == ["x"]


def test_without_data_the_instructions_are_the_message() -> None:
    [user] = compose(("Write a poem.",), [])
    assert (user.role, user.content) == ("user", "Write a poem.")
