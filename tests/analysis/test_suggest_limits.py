"""Did-you-mean costs a bounded time, however many words a file has to guess for and to guess among."""

from __future__ import annotations

from collections.abc import Iterator

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
