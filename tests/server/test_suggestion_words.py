"""What is said of suggestions: what they may cost, what a run uses, what the judge said, how many were valid."""

from __future__ import annotations

from typing import Any

import pytest

from merrow_server.asking_words import cost_sentence, usage_sentence
from merrow_server.suggestions.suggestion_words import run_text, score_text, valid_lines

Json = dict[str, Any]


def bounds(least: float | None, most: float | None) -> Json:
    return {"least": least, "most": most}


@pytest.mark.parametrize(
    ("most", "judge", "says"),
    [
        (None, None, "3 to 19 calls to big at http://x.example, at most about 12,346 tokens, the price is not known."),
        (
            0.01234,
            "big",
            "3 to 19 calls to big at http://x.example, at most about 12,346 tokens, at most about $0.0123.",
        ),
        (
            0,
            "fair",
            "3 to 19 calls to big and, to judge, fair at http://x.example, at most about 12,346 tokens,"
            " at most about $0.0000.",
        ),
    ],
)
def test_what_a_session_may_cost_is_one_sentence(most: float | None, judge: str | None, says: str) -> None:
    forecast = {"calls": bounds(2.6, 19.2), "tokens": bounds(1, 12345.6), "cost_usd": bounds(0, most)}
    assert cost_sentence(forecast, "big", judge, "http://x.example") == says


def test_what_a_session_used_is_one_sentence() -> None:
    assert usage_sentence({"calls": 0, "cost_usd": 0}) == "0 calls, $0."
    assert usage_sentence({"calls": 1, "cost_usd": None}) == "1 call, cost unknown."
    assert usage_sentence({"calls": 1200, "cost_usd": 0.00123}) == "1,200 calls, $0.0012."


@pytest.mark.parametrize(
    ("calls", "most", "says"),
    [
        (bounds(3, 6), 0.00123, "3 to 6 calls, at most about $0.0012"),
        (bounds(1, 1), 0, "1 call, $0"),
        (bounds(0, 1), None, "0 to 1 calls, cost unknown"),
        (bounds(2, 2), None, "2 calls, cost unknown"),
        (bounds(2, None), None, "2 to unknown calls, cost unknown"),
    ],
)
def test_what_a_run_uses_is_said_in_words(calls: Json, most: float | None, says: str) -> None:
    assert run_text({"calls": calls, "cost_usd": bounds(0, most)}) == says
    assert run_text(None) == "calls unknown"


def test_what_the_judge_said_is_a_total() -> None:
    assert score_text(None) == "not judged"
    assert score_text({"total": 38.46, "unsure": False}) == "38.5 of 50"
    assert score_text({"total": 7, "unsure": True}) == "7.0 of 50, unsure"


def tally(proposed: int, first: int, never: int) -> Json:
    return {"proposed": proposed, "valid_first": first, "never": never}


def test_how_many_were_valid_is_said_over_all_and_by_form() -> None:
    nothing = tally(0, 0, 0)
    assert valid_lines(nothing | {"forms": {"moves": nothing, "graph": nothing}}) == ["No candidate was proposed."]
    moves, graph = tally(4, 2, 1), tally(3, 1, 2)
    assert valid_lines(tally(7, 3, 3) | {"forms": {"moves": moves, "graph": graph}}) == [
        "Valid at the first try: 3 of 7; after repair: 4 of 7 (moves 2 and 3 of 4; whole graph 1 and 1 of 3)."
    ]
    assert valid_lines(graph | {"forms": {"moves": nothing, "graph": graph}}) == [
        "Valid at the first try: 1 of 3; after repair: 1 of 3 (whole graph 1 and 1 of 3)."
    ]
