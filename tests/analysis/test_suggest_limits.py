"""Did-you-mean costs a bounded time, however many words a file has to guess for and to guess among."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.suggest import Guesses, closest


def test_only_the_first_candidates_are_compared() -> None:
    asked = 0

    def candidates() -> Iterator[str]:
        nonlocal asked
        for number in range(100_000):
            asked += 1
            yield f"candidate{number}"

    assert closest("nothing like it", candidates()) is None
    assert asked <= 501


def test_only_the_first_words_are_guessed() -> None:
    guesses = Guesses()
    assert [guesses.closest("Codee", ["Code"]) for _ in range(20)] == ["Code"] * 20
    assert guesses.closest("Codee", ["Code"]) is None


def test_an_unknown_type_does_not_list_thousands_of_types() -> None:
    types = "".join(f"    Kind{number}: Text\n" for number in range(1000))
    text = (
        f"---\nworkflow:\n  types:\n{types}---\nflowchart TD\n"
        'PROBLEM([Problem]) --> N["Custom<br/>(role: solver, returns: Zzzzzzzz)"]:::CustomOp --> RETURN([Return])\n'
    )
    said = [found.message for found in analyse(text).diagnostics if "There is no type" in found.message]
    assert len(said) == 1
    assert "some of the " in said[0]
    assert len(said[0]) < 500


@pytest.mark.parametrize("kind", ["agent", "validator"])
@pytest.mark.parametrize("same", [True, False])
def test_names_at_many_nodes_are_guessed_once_and_none_is_called_unused(kind: str, same: bool) -> None:
    key, body = ("agents", "{role: Writer}") if kind == "agent" else ("validators", "{regex: a}")
    declared = "".join(f"    name{number}of: {body}\n" for number in range(30))
    nodes = "".join(
        f"N{number}@{{ op: Custom, prompt: Go., {'agent' if kind == 'agent' else 'validate'}: name{0 if same else number}off }}\n"
        f"PROBLEM([Problem]) -->|input| N{number} --> V[Assemble]\n"
        for number in range(30)
    )
    text = f"---\nworkflow:\n  {key}:\n{declared}---\nflowchart TD\n{nodes}V --> RETURN([Return])\n"
    found = [one.message for one in analyse(text).diagnostics]
    near = [one for one in found if "did you mean" in one]
    unused = [one for one in found if "no node uses it" in one]
    assert len([one for one in found if f"there is no {kind}" in one]) == 30
    assert (len(near), len(unused)) == ((30, 29) if same else (20, 0))
