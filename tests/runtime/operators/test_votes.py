"""Ensembles: letters, one vote for the most frequent, five for the best, odd answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given as draw
from hypothesis import strategies as st
from tests.runtime.operators.scripted import ScriptedTools, given, node, outputs_of

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.ensembles.ballot import letter


def ballot(choice: str) -> str:
    return json.dumps({"thought": "", "choice": choice})


def number_of(letters: str) -> int:
    """The inverse of `letter`, by the definition of bijective numbers of base 26."""
    total = 0
    for character in letters:
        total = total * 26 + ord(character) - ord("A") + 1
    return total - 1


def test_letters_are_those_of_a_spreadsheet() -> None:
    assert [letter(number) for number in (0, 25, 26, 27, 51, 52, 701, 702)] == [
        "A", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"
    ]  # fmt: skip


@draw(st.integers(0, 20_000))
def test_letters_and_numbers_stand_for_each_other(number: int) -> None:
    assert number_of(letter(number)) == number


@draw(st.integers(2, 100), st.data())
async def test_any_of_many_candidates_can_be_chosen(count: int, data: st.DataObject) -> None:
    texts = [f"answer {number}" for number in range(count)]
    wanted = data.draw(st.integers(0, count - 1))
    tools = ScriptedTools([ballot(letter(wanted))])
    assert await outputs_of(node("ScEnsemble"), {"solutions": given(*texts)}, tools) == {"response": texts[wanted]}
    [asked] = tools.asked
    assert asked.schema is not None
    assert len(asked.schema.schema["properties"]["choice"]["enum"]) == count


@pytest.mark.parametrize(
    "answer",
    ["B", "b", "**B**", "(B)", "Candidate B", "Let me count.\nB", "The answer is B.", "I counted.\nAnswer: B",
     "<thought>x</thought><choice>B</choice>", "choice: B\nthought: two agree", '```json\n{"thought": "", "choice": "b"}\n```',
     '{"thought": "two say so", "choice": "B"'],
)  # fmt: skip
async def test_a_vote_is_read_however_it_is_written(answer: str) -> None:
    tools = ScriptedTools([answer])
    assert await outputs_of(node("ScEnsemble"), {"solutions": given("4", "5")}, tools) == {"response": "5"}
    assert len(tools.asked) == 1


@pytest.mark.parametrize("odd", ["[", "Z", '{"thought": "", "choice": "C"}', "", "none of them", "A or B"])
async def test_an_odd_letter_is_asked_anew(odd: str) -> None:
    tools = ScriptedTools([odd, ballot("A")])
    assert await outputs_of(node("ScEnsemble"), {"solutions": given("4", "5")}, tools) == {"response": "4"}
    assert "A, B" in tools.remedies[0]


async def test_only_odd_letters_fail_the_node() -> None:
    with pytest.raises(NodeFailure, match="names no candidate"):
        await outputs_of(node("ScEnsemble"), {"solutions": given("4", "5")}, ScriptedTools(["?", "!", "Q"]))


async def test_equal_candidates_are_one_and_more_than_half_need_no_vote() -> None:
    tools = ScriptedTools()
    inputs = {"solutions": [*given(["42", "41"], type_="list[Text]"), *given(" 42\n")]}
    assert await outputs_of(node("ScEnsemble"), inputs, tools) == {"response": "42"}
    assert tools.asked == []
    assert tools.reasons == ["2 of 3 candidates are equal."]


@pytest.mark.parametrize("operator", ["ScEnsemble", "MdEnsemble"])
@pytest.mark.parametrize(
    ("texts", "reasons"),
    [
        (["4"], ["There is only one candidate."]),
        (["4", "4", "4"], ["All 3 candidates are equal."]),
        (["4", "5"], []),
    ],
)
async def test_a_vote_that_is_not_held_says_why(operator: str, texts: list[str], reasons: list[str]) -> None:
    tools = ScriptedTools([ballot("A")] * 5)
    await outputs_of(node(operator), {"solutions": given(*texts)}, tools)
    assert tools.reasons == reasons
    assert bool(tools.asked) is not bool(reasons)


async def test_equal_candidates_without_a_majority_are_counted_in_the_vote() -> None:
    tools = ScriptedTools([ballot("C")])
    inputs = {"solutions": given("42", "41", "42", "forty-one"), "problem": given("6 times 7?")}
    assert await outputs_of(node("ScEnsemble"), inputs, tools) == {"response": "forty-one"}
    headings = [line for line in tools.asked[0].user.splitlines() if line.startswith("## ")]
    assert headings == ["## Problem", "## Candidate A, given 2 times", "## Candidate B", "## Candidate C"]


async def test_the_chosen_value_keeps_its_type() -> None:
    definition = node("ScEnsemble", outputs={"response": "Number"})
    tools = ScriptedTools([ballot("B")])
    assert await outputs_of(definition, {"solutions": given(1, 2.5, type_="Number")}, tools) == {"response": 2.5}


@pytest.mark.parametrize("operator", ["ScEnsemble", "MdEnsemble"])
async def test_a_chosen_value_of_another_type_fails_the_node(operator: str) -> None:
    definition = node(operator, outputs={"response": "Number"})
    with pytest.raises(NodeFailure, match="solution is not of type Number: `many` is not a number"):
        await outputs_of(definition, {"solutions": given("many")}, ScriptedTools())


@draw(st.integers(0, 1000), st.integers(2, 30), st.data())
async def test_five_shuffled_votes_find_their_candidate_in_any_order(
    seed: int, count: int, data: st.DataObject
) -> None:
    """A voter that always means the same candidate, wherever it stands, gets it; each vote has an order of its own."""
    texts = [f"<{number}>" for number in range(count)]
    wanted = data.draw(st.sampled_from(texts))

    class Loyal(ScriptedTools):
        def _next(self, step: str) -> str:
            asked = next(asked for asked in self.asked if asked.step == step)
            lines = asked.user.splitlines()
            heading = lines[lines.index(wanted) - 2]
            return ballot(heading.removeprefix("## Candidate "))

    tools = Loyal(seed=seed)
    assert await outputs_of(node("MdEnsemble"), {"solutions": given(*texts)}, tools) == {"response": wanted}
    assert [asked.step for asked in tools.asked] == [f"vote {number}" for number in range(1, 6)]
    again = Loyal(seed=seed)
    await outputs_of(node("MdEnsemble"), {"solutions": given(*texts)}, again)
    assert [asked.messages for asked in again.asked] == [asked.messages for asked in tools.asked]


async def test_a_tie_of_votes_goes_to_the_candidate_that_came_first() -> None:
    texts = ["one", "two", "three"]

    class Divided(ScriptedTools):
        """Votes for three, two, three, two and one."""

        def _next(self, step: str) -> str:
            wanted = texts[[2, 1, 2, 1, 0][int(step.split()[1]) - 1]]
            lines = next(asked for asked in self.asked if asked.step == step).user.splitlines()
            return ballot(lines[lines.index(wanted) - 2].removeprefix("## Candidate "))

    for seed in range(20):
        assert await outputs_of(node("MdEnsemble"), {"solutions": given(*texts)}, Divided(seed=seed)) == {
            "response": "two"
        }


async def test_equal_solutions_need_no_choice_of_the_best() -> None:
    tools = ScriptedTools()
    assert await outputs_of(node("MdEnsemble"), {"solutions": given("x", "x")}, tools) == {"response": "x"}
    assert tools.asked == []


async def test_the_first_failing_vote_fails_the_node() -> None:
    answers = {f"vote {number}": ["?"] * 3 if number == 2 else [ballot("A")] for number in range(1, 6)}
    with pytest.raises(NodeFailure, match="names no candidate"):
        await outputs_of(node("MdEnsemble"), {"solutions": given("x", "y")}, ScriptedTools(answers))
