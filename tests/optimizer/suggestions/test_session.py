"""Sessions with a scripted model: every way through the gate, both forms of answers, the judge, budgets, faults of the wire."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimizer.suggestions.scripted import (
    FLOW,
    Model,
    asking,
    candidate,
    is_judging,
    listed,
    prompt,
    said,
    titles,
    verdicts,
    whole,
)
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, Received, Reply, Status, Step

from merrow_optimizer.suggestions.judge import CRITERIA, JudgeVerdict, ranking
from merrow_optimizer.suggestions.judge import verdicts as judged
from merrow_optimizer.suggestions.prompt import FailedItem, Try, Wish
from merrow_optimizer.suggestions.tallies import CandidateTally
from merrow_runtime.errors import AnswerFailure, BudgetFailure, EndpointFailure, StoreFailure
from merrow_runtime.models.budget import Budget
from merrow_runtime.operators.prompts.asking_again import LONGEST_SENT_BACK

GOOD = candidate(prompt("Check each step."), title="Good")
BAD = candidate({"apply": "nonsense"}, title="Bad")
OTHER = candidate(prompt("Check it twice."), title="Other")
BROKEN = whole(FLOW.replace("tokens: 20000", "tokens: 90000"), title="Dear")


async def test_a_free_repair_costs_no_call() -> None:
    model = Model(said(whole(FLOW.replace("|input| B", "|inptu| B").replace("step by step", "in small steps"))))
    async with asking(model) as one:
        outcome = await one.suggest()
    assert [(tally.first, tally.free) for tally in outcome.tallies.values()] == [(0, 0), (0, 1)]
    assert outcome.suggestions[0].repaired
    assert len(model.asked) == 1


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("bad", [BAD, BROKEN])
async def test_what_is_refused_goes_back_alone_until_it_is_right(times: int, bad: dict[str, Any]) -> None:
    again = [said({**bad, "reason": f"Try {number}."}) for number in range(1, times)]
    model = Model(said(GOOD, bad), [*again, said(OTHER)])
    async with asking(model) as one:
        outcome = await one.suggest()
    assert sorted(titles(outcome)) == ["Good", "Other"]
    assert len(model.asked) == 1 + times
    tally = outcome.tallies["moves" if bad is BAD else "graph"]
    assert (tally.again[times - 1], sum(tally.again)) == (1, 1)
    back = model.asked[1].body["messages"]
    assert json.loads(back[2]["content"])["candidates"][0]["title"] == bad["title"]
    assert "Good" not in back[2]["content"]
    assert ("no mutation nonsense" if bad is BAD else "`workflow.budget` must stay") in back[3]["content"]
    assert next(found for found in outcome.suggestions if found.title == "Other").attempts == times


async def test_what_is_never_right_is_never_offered_and_counted() -> None:
    model = Model(said(GOOD, BAD, BROKEN), [said(BAD)])
    async with asking(model) as one:
        outcome = await one.suggest()
    assert titles(outcome) == ["Good"]
    assert len(model.asked) == 1 + 2 + 3  # one of the two came back as it was from the first
    assert len(outcome.lost) == 2
    assert [tally.to_json()["never"] for tally in outcome.tallies.values()] == [1, 1]
    assert outcome.tallies["moves"].to_json()["share_after_repair"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    ["I would check each step.", "rm -rf / # improves everything", "[]", '{"candidates": []}', "[" * 50_000, "{}"],
)
async def test_prose_for_ever_ends(answer: str) -> None:
    model = Model(answer)
    async with asking(model) as one:
        with pytest.raises(AnswerFailure, match="nothing that can be read"):
            await one.suggest()
    # What is too long to be shown again, and comes again all the same, would come for ever.
    assert len(model.requests) == (2 if len(answer) > LONGEST_SENT_BACK else 3)


async def test_prose_at_first_is_asked_again() -> None:
    calls = iter(["Let me think.", "```json\n" + said(GOOD) + "\n```"])

    def answer(request: Received) -> Step:
        return Reply(verdicts(request)) if is_judging(request) else Reply(next(calls))

    async with asking(answer) as one:
        assert titles(await one.suggest()) == ["Good"]


@pytest.mark.slow
async def test_huge_answers_are_bounded() -> None:
    many = said(*[candidate(prompt(f"Do it {n} times."), title=f"C{n}" * 500, reason="x" * 2_000) for n in range(50)])
    nodes = "".join(f'    N{n}["Custom<br/>(role: careful)"]:::CustomOp\n' for n in range(3_000))
    for text, count in ((many, 4), (said(GOOD, whole(FLOW + nodes)), 1)):
        async with asking(Model(text, [said(BAD)])) as one:
            outcome = await one.suggest()
        assert len(outcome.suggestions) == count
        assert all(len(found.title) <= 120 and len(found.reason) <= 800 for found in outcome.suggestions)


async def test_a_server_without_structured_output_will_do() -> None:
    """The endpoint refuses ``response_format`` in any form; candidates come as fenced JSON, verdicts in prose around JSON."""

    def answer(request: Received) -> Step:
        if "response_format" in request.body:
            return Status(400, "response_format is not supported", param="response_format")
        if is_judging(request):
            return Reply(f"My verdict:\n{verdicts(request)}\nThat is all.")
        return Reply(f"Sure!\n```json\n{said(GOOD, OTHER)}\n```")

    async with asking(answer) as one:
        outcome = await one.suggest()
        last = one.server.requests[-1].body
    assert sorted(titles(outcome)) == ["Good", "Other"]
    assert outcome.suggestions[0].verdict is not None
    assert "response_format" not in last
    assert "tools" not in last


# The judge


async def test_the_order_of_the_two_calls_makes_no_difference() -> None:
    """A judge that loves what comes first gives both candidates the same in the end, and is unsure of them."""

    def biased(one: dict[str, Any]) -> int:
        return 9 if one["candidate"] == 1 else 3

    found = []
    for seed in range(6):
        model = Model(said(GOOD, OTHER), score=biased)
        async with asking(model) as one:
            outcome = await one.suggest(seed=seed)
        first, second = ([shown["title"] for shown in listed(request)] for request in model.judged)
        assert first == second[::-1]
        assert [suggestion.verdict.unsure for suggestion in outcome.suggestions if suggestion.verdict] == [True, True]
        found.append(titles(outcome))
    assert found == [["Good", "Other"]] * 6


class Row:
    def __init__(self, numbers: list[int], reason: str) -> None:
        self.numbers, self.reason = dict(zip(CRITERIA, numbers, strict=True)), reason

    @property
    def total(self) -> int:
        return sum(self.numbers.values())


ROWS = st.lists(
    st.tuples(st.lists(st.integers(1, 10), min_size=5, max_size=5), st.text(max_size=3)), min_size=1, max_size=5
)


@given(ROWS, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_swapped_calls_give_the_same_verdicts(rows: list[tuple[list[int], str]], chance: random.Random) -> None:
    first = [Row(*row) for row in rows]
    second = [Row(chance.sample(numbers, 5), reason[::-1]) for numbers, reason in rows]
    chance.shuffle(second)
    one: list[JudgeVerdict] = judged(first, second)  # type: ignore[arg-type]
    other: list[JudgeVerdict] = judged(second, first)  # type: ignore[arg-type]
    assert one == other
    assert ranking(one) == ranking(other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer", ["Both are fine.", '{"verdicts": []}', said(GOOD), '{"verdicts": [{"candidate": 1, "coherence": 99}]}']
)
async def test_without_usable_scores_the_suggestions_stay_as_they_came(answer: str) -> None:
    def answers(request: Received) -> Step:
        return Reply(answer if is_judging(request) else said(GOOD, OTHER))

    async with asking(answers) as one:
        outcome = await one.suggest()
    assert titles(outcome) == ["Good", "Other"]
    assert [found.verdict for found in outcome.suggestions] == [None, None]
    assert "not judged" in outcome.notices[0]


# Budgets, faults


@pytest.mark.slow
async def test_a_budget_ends_a_session_before_its_next_call() -> None:
    async with asking(Model(said(GOOD, BAD), [said(BAD)])) as one:
        with pytest.raises(BudgetFailure):
            await one.suggest(budget=Budget(tokens=0))
        assert one.server.requests == []
    tokens = 20_000
    dear = Reply(said(GOOD, BAD), usage={"prompt_tokens": tokens, "completion_tokens": 0})
    async with asking(lambda _: dear) as one:
        outcome = await one.suggest(budget=Budget(tokens=tokens))
        assert len(one.server.requests) == 1
        assert titles(outcome) == ["Good"]
        assert "not repaired" in outcome.notices[0]
        assert "not judged" in outcome.notices[1]


async def test_an_endpoint_that_dies_is_one_sentence() -> None:
    async with asking(lambda _: Status(401, "no such key")) as one:
        with pytest.raises(EndpointFailure):
            await one.suggest()

    def dies(request: Received) -> Step:
        return Status(401, "no more money") if is_judging(request) else Reply(said(GOOD))

    async with asking(dies) as one:
        outcome = await one.suggest()
    assert titles(outcome) == ["Good"]
    assert "not judged" in outcome.notices[0]


@pytest.mark.slow
async def test_a_failure_ends_no_other_repair_that_is_paid() -> None:
    worse = candidate({"apply": "nonsense"}, title="Worse")

    def answer(request: Received) -> Step:
        if is_judging(request):
            return Reply(verdicts(request))
        if len(request.body["messages"]) == 2:
            return Reply(said(BAD, worse))
        return Reply(said(OTHER), delay=0.5) if "Worse" in str(request.body["messages"][2:]) else Status(400, "no more")

    async with asking(answer) as one:
        outcome = await one.suggest()
    assert titles(outcome) == ["Other"]
    assert [lost.title for lost in outcome.lost] == ["Bad"]
    assert "not repaired" in outcome.notices[0]


async def test_cancelling_ends_the_call() -> None:
    async with asking(lambda _: Hang()) as one:
        task = asyncio.create_task(one.suggest())
        await one.server.arrived(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(one.server.abandoned.wait(), PATIENCE)


async def test_the_same_question_is_not_paid_twice() -> None:
    model = Model(said(GOOD, BAD), [said(OTHER)])
    async with asking(model) as one:
        first = await one.suggest()
        count = len(model.requests)
        again = await one.suggest()
    assert len(model.requests) == count
    assert [found.to_json() for found in again.suggestions] == [found.to_json() for found in first.suggestions]


async def test_a_full_disk_ends_a_session_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(Model(said(GOOD))) as one:

        def full(*_: object) -> None:
            raise StoreFailure("The disk is full.") from sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(type(one.store.cache.writer), "write", full)
        with pytest.raises(StoreFailure, match="disk is full"):
            await one.suggest()


# What the model is told


async def test_the_model_is_told_what_it_needs() -> None:
    wish = Wish(
        goal="shorter answers",
        failures=(FailedItem("What is 2 + 2?", "4", "It is 5.", "5"),),
        tries=(Try("Removes CHECK", 0.5, 0.75),),
        others=((FLOW.replace("Two voices", "Other"), 0.5),),
    )
    model = Model(said(GOOD))
    async with asking(model) as one:
        await one.suggest(wish=wish)
    text = model.asked[0].prompt
    for part in (
        "shorter answers",
        '"right answer": "4"',
        '"its answer": "It is 5."',
        '"score after": 0.75',
        "title: Other",
        '"name": "ScEnsemble"',
        "flowchart TD",
    ):
        assert part in text, part
    assert text.count("\n<<<") == 6


def counted(outcome: Any, of: Callable[[Any], int]) -> int:
    return sum(of(tally) for tally in outcome.tallies.values())


@given(st.lists(st.sampled_from(["good", "bad", "dear", "prose"]), min_size=1, max_size=4), st.integers(0, 3))
@settings(max_examples=4, deadline=None)
def test_every_candidate_is_counted_once(kinds: list[str], right_at: int) -> None:
    """Whatever passes when: proposed is valid and never valid together, and nothing invalid is offered."""
    made = {"bad": BAD, "dear": BROKEN, "prose": {"title": "P", "reason": "", "moves": [], "workflow": "no"}}
    listed_ = [
        candidate(prompt(f"Do it {n}."), title=f"G{n}") if kind == "good" else made[kind]
        for n, kind in enumerate(kinds)
    ]
    replies = [said(BAD)] * (right_at * 4) + [said(candidate(prompt(f"Again {n}."), title=f"R{n}")) for n in range(12)]

    async def work() -> None:
        async with asking(Model(said(*listed_), replies)) as one:
            outcome = await one.suggest(judge=None)
        assert counted(outcome, lambda tally: tally.proposed) == len(kinds)
        assert counted(outcome, lambda tally: tally.valid) == len(outcome.suggestions)
        assert len(outcome.suggestions) + len(outcome.lost) == len(kinds)
        assert counted(outcome, lambda tally: tally.first) == kinds.count("good")
        assert all(suggestion.to_json()["scores"] is None for suggestion in outcome.suggestions), "nobody judged"

    asyncio.run(work())


def test_counts_are_kept_as_they_were() -> None:
    tally = CandidateTally(9, 4, 2, [1, 0, 1])
    assert CandidateTally.from_json(tally.to_json()) == tally
    assert (tally.to_json()["never"], CandidateTally().to_json()["share_first"]) == (1, None)


BESIDE = FLOW.replace("    A --> VOTE", "    A --> C --> VOTE")


async def test_a_custom_without_a_prompt_is_refused_whoever_made_it_one() -> None:
    for operator in ("Verify", "Custom"):
        text = BESIDE.replace("    VOTE[", f'    C["{operator}<br/>"]:::{operator}Op\n    VOTE[')
        async with asking(Model(said(whole(text, title="Verify the result")))) as one:
            outcome = await one.suggest()
        assert not outcome.suggestions
        assert "C is a Custom without a prompt" in outcome.lost[0].why


async def test_what_a_free_repair_made_different_is_in_the_title() -> None:
    new = """    C["Verify<br/>(prompt: 'Check the result.')"]:::VerifyOp\n    VOTE["""
    async with asking(Model(said(whole(BESIDE.replace("    VOTE[", new), title="Verify")))) as one:
        outcome = await one.suggest()
    assert [suggestion.repaired for suggestion in outcome.suggestions] == [True]
    assert outcome.suggestions[0].title.startswith("Verify (repaired: ")
    assert "Custom" in outcome.suggestions[0].title
