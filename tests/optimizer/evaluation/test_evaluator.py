"""Evaluations in this process: five statuses that never mix, keys, stop rules, budgets, resumes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.optimizer.evaluation.trials import (
    Ends,
    asked_about,
    evaluated,
    failing,
    numbered,
    plan_of,
    statuses,
)
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import FakeEndpoint, workflow

from merrow_optimizer.evaluation import sessions
from merrow_optimizer.evaluation.data import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import EvaluationLimits, forecast
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_optimizer.evaluation.summary import summary_of
from merrow_runtime import Store, UsageFailure
from merrow_runtime.errors import EndpointFailure, StoreFailure
from merrow_runtime.jobs import life
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.writer import Writer
from merrow_runtime.usage import Usage


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    with closing(Store.open()) as store:
        yield store


class Picky(Ends):
    """Raises for some items, as metrics may."""

    async def score(self, item: Item, output: Any) -> Score:
        if item.id == "q2":
            raise InvalidItemError("the gold is no number")
        if item.id == "q3":
            raise ZeroDivisionError("division by zero")
        if item.id == "q4":
            return Score(1.5, "read", "too much")
        return await super().score(item, output)


async def test_a_result_that_is_not_valid_fails_and_a_validator_that_breaks_says_nothing(user: Store) -> None:
    flow = workflow(
        'A@{op: Custom, prompt: "first", validate: v, attempts: 1}',
        "PROBLEM --> A --> RETURN",
        front="{validators: {v: {if: \"int(output[-1]) > 0 and '2' not in output\"}}}",
    )
    items = [*numbered(3), Item("q3", {"problem": "problem x"}, "problem x")]
    plan = plan_of(failing(lambda _: None), items, flow)
    found = await evaluated(user, plan)
    assert statuses(found) == {"q0": "failed", "q1": "right", "q2": "failed", "q3": "invalid"}


async def test_no_item_is_begun_while_the_journal_is_away(user: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    there, waiting = asyncio.Event(), asyncio.Event()

    async def off_loop(writer: Writer, work: Callable[[Writer], Any]) -> Any:
        waiting.set()
        await there.wait()
        return work(writer)

    monkeypatch.setattr(Writer, "off_loop", off_loop)
    endpoint = failing(lambda _: None)
    evaluating = asyncio.ensure_future(evaluated(user, plan_of(endpoint, numbered(3))))
    async with asyncio.timeout(PATIENCE):
        await waiting.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert endpoint.seen == []
    there.set()
    assert set(statuses(await evaluating).values()) == {"right"}


async def test_the_five_statuses(user: Store) -> None:
    def when(asked: str) -> Exception | None:
        if asked.endswith(" 0"):
            return EndpointFailure("Too many requests.", transient=True)
        return None

    def refused(request: ModelRequest) -> bool:
        return any(message.content.startswith("problem 5") for message in request.messages)

    def answer(request: ModelRequest) -> Any:
        asked = asked_about(request)
        return when(asked) or (
            "nonsense" if asked.endswith(" 1") else ModelReply("", "refusal") if refused(request) else asked
        )

    found = await evaluated(user, plan_of(FakeEndpoint(answer), numbered(7), metric=Picky()))
    assert statuses(found) == {
        "q0": "unanswered",
        "q1": "wrong",
        "q2": "invalid",
        "q3": "invalid",
        "q4": "invalid",
        "q5": "failed",
        "q6": "right",
    }
    reasons = {item: one.reason for (item, _), one in found.scores.items()}
    assert "Too many requests." in reasons["q0"]
    assert reasons["q2"] == "the gold is no number"
    assert "ZeroDivisionError" in reasons["q3"]
    assert "1.5" in reasons["q4"]
    summary = summary_of(list(found.scores.values()), 7, 1)
    assert (summary.score, summary.counted, summary.left_out, summary.missing) == (1 / 3, 3, 4, 0)
    assert found.stopped_by is None


async def test_a_rate_limit_is_no_wrong_answer_where_the_workflow_goes_on(user: Store) -> None:
    flow = workflow('A@{op: Custom, prompt: "first", on_error: default, default: "none"}', "PROBLEM --> A --> RETURN")
    limited = [EndpointFailure("Too many requests.", transient=True)]
    endpoint = failing(lambda asked: limited[0] if limited and asked.endswith(" 1") else None)
    plan = plan_of(endpoint, numbered(3), flow)
    begun = sessions.begin(user, plan, "hash", "all", {})
    assert statuses(await evaluated(user, plan, begun)) == {"q0": "right", "q1": "unanswered", "q2": "right"}
    limited.clear()
    asked = len(endpoint.seen)
    assert statuses(await evaluated(user, plan, begun)) == {"q0": "right", "q1": "right", "q2": "right"}
    assert len(endpoint.seen) == asked + 1


async def test_nothing_is_asked_again_and_another_metric_asks_nothing(user: Store) -> None:
    endpoint = failing(lambda _: None)
    first = await evaluated(user, plan_of(endpoint, numbered(9)))
    assert len(endpoint.seen) == 9
    renamed = workflow(
        '%% a comment\nNODE@{op: Custom, prompt: "first"}',
        "PROBLEM --> NODE",
        "NODE --> RETURN",
        "style NODE fill:#fff",
    )
    again = await evaluated(user, plan_of(endpoint, numbered(9)[::-1], renamed))
    assert statuses(again) == statuses(first)
    assert {one.run for one in again.scores.values()} == {one.run for one in first.scores.values()}
    assert again.spent.calls == 0

    class Other(Ends):
        name = "other"

        async def score(self, item: Item, output: Any) -> Score:
            return Score(0.5, str(output), f"half of {item.id}")

    other = await evaluated(user, plan_of(endpoint, numbered(9), metric=Other()))
    assert {one.value for one in other.scores.values()} == {0.5}
    assert len(endpoint.seen) == 9
    changed = workflow('A@{op: Custom, prompt: "second"}', "PROBLEM --> A --> RETURN")
    await evaluated(user, plan_of(endpoint, numbered(9), changed))
    assert len(endpoint.seen) == 18
    await evaluated(user, plan_of(endpoint, numbered(9), fresh=True))
    assert len(endpoint.seen) == 27


async def test_another_gold_is_another_score_of_the_same_answer(user: Store) -> None:
    endpoint = failing(lambda _: None)
    await evaluated(user, plan_of(endpoint, numbered(2)))
    items = [replace(item, gold="something else") for item in numbered(2)]
    assert statuses(await evaluated(user, plan_of(endpoint, items))) == {"q0": "wrong", "q1": "wrong"}
    assert len(endpoint.seen) == 2


async def test_repeats_are_answered_anew_above_temperature_0(user: Store) -> None:
    for temperature, calls in ((0, 3), (1, 9)):
        endpoint = failing(lambda _: None)
        endpoint.origin = f"http://t{temperature}.test"
        flow = workflow(f'A@{{op: Custom, prompt: "first", temperature: {temperature}}}', "PROBLEM --> A --> RETURN")
        plan = plan_of(endpoint, numbered(3), flow, repeats=3)
        found = await evaluated(user, plan)
        assert (len(found.scores), len(endpoint.seen), plan.varies) == (9, calls, temperature > 0)
        assert forecast(plan, lambda _: []).calls.most == calls


@pytest.mark.parametrize("concurrency", [1, 50])
async def test_twenty_errors_of_one_kind_at_the_start_stop_it(user: Store, concurrency: int) -> None:
    endpoint = failing(lambda asked: EndpointFailure(f"No answer to {asked}: code 503.", transient=True))
    found = await evaluated(user, plan_of(endpoint, numbered(200), concurrency=concurrency))
    assert "503" in (found.stopped_by or "")
    # Each of the tasks at work may have begun another one by then.
    assert 20 <= len(found.scores) < 2 * concurrency + 20
    record = user.evaluations.newest()[0]
    assert (record.status, record.error) == ("stopped", found.stopped_by)


async def test_a_third_of_the_first_fifty_stops_it_and_different_reasons_do_not(user: Store) -> None:
    class Unable(Ends):
        reasons = ("no gold",)

        async def score(self, item: Item, output: Any) -> Score:
            number = int(item.id[1:])
            if number % 3 == 0:
                raise InvalidItemError("because of " + "abcdefghijklmnopqrstuvwxyz"[number % len(self.reasons)])
            return await super().score(item, output)

    found = await evaluated(user, plan_of(failing(lambda _: None), numbered(120), metric=Unable()))
    assert "because of a" in (found.stopped_by or "")
    assert len(found.scores) < 60

    class Variously(Unable):
        name = "variously"
        reasons = ("a", "b", "c", "d")

    found = await evaluated(user, plan_of(failing(lambda _: None), numbered(120), metric=Variously()))
    assert (found.stopped_by, len(found.scores)) == (None, 120)


async def test_an_endpoint_that_dies_pauses_it_and_a_resume_goes_on(user: Store) -> None:
    dead: list[bool] = []

    def when(asked: str) -> Exception | None:
        if asked.endswith(" 60"):
            dead.append(True)
        return EndpointFailure("The connection was refused.", transient=True, sent=False) if dead else None

    endpoint = failing(when)
    plan = plan_of(endpoint, numbered(150))
    begun = sessions.begin(user, plan, "hash", "all", {})
    found = await evaluated(user, plan, begun)
    assert "refused" in (found.stopped_by or "")
    assert len(found.scores) < 100
    answered = {item for (item, _), one in found.scores.items() if one.status == "right"}
    endpoint = failing(lambda _: None)
    found = await evaluated(user, plan_of(endpoint, numbered(150)), begun)
    assert set(statuses(found).values()) == {"right"}
    assert len(found.scores) == 150
    assert len(endpoint.seen) == 150 - len(answered)
    assert user.evaluations.get(begun.id).status == "finished"


async def test_a_failure_that_no_call_survives_stops_it_at_once(user: Store) -> None:
    endpoint = failing(lambda asked: EndpointFailure("The key is refused.", fatal=True) if asked[-1] == "5" else None)
    found = await evaluated(user, plan_of(endpoint, numbered(90), concurrency=2))
    assert "The key is refused." in (found.stopped_by or "")
    assert len(found.scores) < 12


def priced(request: ModelRequest) -> ModelReply:
    return ModelReply(asked_about(request), usage=Usage(60, 40, 1, 0.01))


async def test_a_budget_holds_over_all_runs_and_a_resume_with_more_goes_on(user: Store) -> None:
    endpoint = FakeEndpoint(priced)
    plan = plan_of(endpoint, numbered(40), limits=EvaluationLimits(tokens=2_000), concurrency=1)
    begun = sessions.begin(user, plan, "hash", "all", {})
    found = await evaluated(user, plan, begun)
    assert "2000 tokens is used up" in (found.stopped_by or "")
    assert found.spent.tokens == 2_000
    assert statuses(found)["q20"] == "unanswered"
    found = await evaluated(user, plan_of(endpoint, numbered(40), limits=EvaluationLimits(tokens=1_000_000)), begun)
    assert (found.stopped_by, len(endpoint.seen), found.spent.tokens) == (None, 40, 4_000)


async def test_time_is_a_budget(user: Store) -> None:
    endpoint = failing(lambda _: None)
    endpoint.gate = asyncio.Event()
    found = await evaluated(user, plan_of(endpoint, numbered(5), limits=EvaluationLimits(seconds=0.2)))
    assert "0.2 seconds is over" in (found.stopped_by or "")
    # The call that was cut off may be paid: it is counted.
    assert set(statuses(found).values()) == {"unanswered"}
    assert (found.spent.calls, found.spent.estimated) == (len(endpoint.seen), True)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (EvaluationLimits(tokens=1), "not enough for one item"),
        (EvaluationLimits(tokens=0), "not enough for one item"),
        (EvaluationLimits(usd=1.0), "The price of .* is not known"),
        (EvaluationLimits(seconds=0), "not enough for one item"),
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused_before_the_first_call(limits: EvaluationLimits, sentence: str) -> None:
    with pytest.raises(UsageFailure, match=sentence):
        plan_of(failing(lambda _: None), numbered(3), limits=limits)


def test_a_workflow_that_no_field_feeds_is_refused() -> None:
    with pytest.raises(DataError, match="No field feeds the input PROBLEM"):
        plan_of(failing(lambda _: None), [Item("a", {"question": "x"}, "x")])


async def test_cancelled_it_keeps_what_is_finished(user: Store) -> None:
    endpoint = failing(lambda _: None)
    plan = plan_of(endpoint, numbered(30), concurrency=2)
    begun = sessions.begin(user, plan, "hash", "all", {})
    kept: list[str] = []
    task = asyncio.ensure_future(
        evaluated(user, plan, begun, told=lambda one: kept.append(one.item) or (len(kept) == 8 and task.cancel()))
    )
    with pytest.raises(asyncio.CancelledError):
        await task
    assert user.evaluations.get(begun.id).status == "cancelled"
    assert len(list(user.evaluations.scores(begun.id))) >= 8
    asked = len(endpoint.seen)
    found = await evaluated(user, plan, begun)
    assert len(found.scores) == 30
    assert len(endpoint.seen) <= asked + 30 - len(kept)
    assert len({asked_about(request) for request in endpoint.seen}) == 30


async def test_one_process_works_on_it_at_a_time(user: Store) -> None:
    endpoint = failing(lambda _: None)
    endpoint.gate = asyncio.Event()
    plan = plan_of(endpoint, numbered(3))
    begun = sessions.begin(user, plan, "hash", "all", {})
    first = asyncio.ensure_future(evaluated(user, plan, begun))
    await endpoint.until_asked(3)
    assert life.state_of(user, user.evaluations.get(begun.id)) == "running"
    with pytest.raises(StoreFailure, match=f"Evaluation {begun.id} can't continue.*process"):
        await evaluated(user, plan, begun)
    endpoint.gate.set()
    assert set(statuses(await first).values()) == {"right"}


@pytest.mark.slow
async def test_the_order_of_the_data_changes_nothing(user: Store) -> None:
    def answer(request: ModelRequest) -> str:
        return "nonsense" if asked_about(request)[-1] in "37" else asked_about(request)

    found = []
    for concurrency, items in ((1, numbered(40)), (50, numbered(40)[::-1])):
        plan = plan_of(FakeEndpoint(answer, f"http://{concurrency}.test"), items, concurrency=concurrency)
        found.append(statuses(await evaluated(user, plan)))
    assert found[0] == found[1]


async def test_items_wait_ready_while_as_many_as_may_be_are_asked(user: Store) -> None:
    endpoint = FakeEndpoint()
    endpoint.gate = asyncio.Event()
    plan = plan_of(endpoint, numbered(20), concurrency=3)
    begun = sessions.begin(user, plan, "hash", "all", {"golds": {}})
    first = asyncio.ensure_future(evaluated(user, plan, begun))
    await endpoint.until_asked(3)
    await asyncio.sleep(0.2)  # what is begun is in the journal by now
    with user.looking_into(begun.id) as looking:
        assert looking is not None
        assert [one.status for one in looking.runs()] == ["running"] * 5
    assert endpoint.in_flight == 3
    endpoint.gate.set()
    assert set(statuses(await first).values()) == {"right"}
    assert endpoint.most_flying == 3


async def test_odd_ids_have_runs_of_their_own(user: Store) -> None:
    names = ["a/b", "a b", "ä\n\x1b[31m", "x" * 500, "plain-7", "x" + "0" * 24]
    items = [Item(name, {"problem": f"p{n}"}, f"p{n}") for n, name in enumerate(names)]
    found = await evaluated(user, plan_of(failing(lambda _: None), items))
    assert set(statuses(found).values()) == {"right"}
    assert len({one.run for one in found.scores.values()}) == len(names)
    assert user.evaluations.score(found.id, names[2], 0) is not None


async def test_a_run_that_went_on_without_an_answer_stays_unanswered_after_its_process_died(user: Store) -> None:
    flow = workflow('A@{op: Custom, prompt: "first", on_error: default, default: "none"}', "PROBLEM --> A --> RETURN")
    limited = [EndpointFailure("Too many requests.", transient=True)]
    endpoint = failing(lambda asked: limited[0] if limited and asked.endswith(" 1") else None)
    plan = plan_of(endpoint, numbered(3), flow)
    begun = sessions.begin(user, plan, "hash", "all", {})
    await evaluated(user, plan, begun)
    # As after a kill between the end of the run and its score.
    user._writer.now(lambda database: database.execute("DELETE FROM scores WHERE item = 'q1'"))
    assert statuses(await evaluated(user, plan, begun))["q1"] == "unanswered"
    limited.clear()
    assert statuses(await evaluated(user, plan, begun)) == {"q0": "right", "q1": "right", "q2": "right"}


async def test_answers_are_told_and_are_in_the_journal(user: Store) -> None:
    told: list[str | None] = []
    plan = plan_of(failing(lambda _: None), numbered(3))
    begun = sessions.begin(user, plan, "hash", "all", {})
    found = await evaluated(user, plan, begun, told=lambda score: told.append(score.output))
    assert [score.output for score in found.scores.values()] == [None] * 3
    assert len(told) == 3
    assert None not in told
    assert sorted(map(str, told)) == sorted(
        str(each.output) for each in user.evaluations.scores(begun.id, outputs=True)
    )
