"""Searches carried out in this process: interrupted anywhere they come to the same; what held-out items say; what is shown."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zlib import crc32

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.optimizer.evaluation.trials import data_of, numbered, opened, plan_of
from tests.runtime.engine.fakes import FakeEndpoint, Said, workflow

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric
from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.evaluation.scores import Score
from merrow_optimizer.optimization import sessions
from merrow_optimizer.optimization.plan import Bounded, ItemSplit, SearchPlan, check, middle, split_of
from merrow_optimizer.optimization.readings import ASIDE
from merrow_optimizer.optimization.record import RecordedCandidate, RecordedDraw, SearchRecord, load
from merrow_runtime import Store
from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.prices import Price
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.workflow import check_workflow

FLOW = workflow('A@{op: Custom, prompt: "first"}', 'B@{op: Custom, prompt: "second"}', "PROBLEM --> A --> B --> RETURN")


class Yes(BaseMetric):
    """Right where the answer says yes."""

    name = "yes"

    async def score(self, _: Item, output: Any) -> Score:
        return Score(float("yes" in str(output)), str(output)[:20], "")


def said(request: ModelRequest) -> Said:
    """More often yes the more it is told; now and then an endpoint fails for good."""
    text = "".join(message.content for message in request.messages)
    code = crc32(text.encode())
    if code % 53 == 0:
        return EndpointFailure("no answer to this one")
    answer = f"{'yes' if code % 100 < min(95, 20 + len(text) // 6) else 'no'} {text[-12:]}"
    return ModelReply(answer, usage=Usage(len(text) // 4, 3, 1, 0.001))


def plan_for(
    endpoint: FakeEndpoint, count: int = 30, limits: EvaluationLimits | None = None, **given: Any
) -> SearchPlan:
    items = numbered(count)
    bounds = given.pop("bounds", Bounded(evaluations=110))
    split = split_of(data_of(items), (), bounds)
    flow = given.pop("flow", FLOW)
    base = plan_of(endpoint, [*split.searched, *split.held_out], flow, metric=Yes(), limits=limits, default_model="m")
    fields: dict[str, Any] = {
        "strategy": "guided",
        "proposer": "moves",
        "seed": 1,
        "jobs": 1,
        "bounds": bounds,
        **given,
    }
    return SearchPlan(base, split, **fields)


def begin(user: Store, plan: SearchPlan, folder: Path) -> OptimizationRecord:
    again = {
        "begin_with": None,
        "settings": {"objective": plan.bounds.objective},
        "asked": {"dataset": "d"},
        "reader": "own",
    }
    return sessions.begin(user, plan, "hash", "all", again, str(folder))


async def carried_out(user: Store, record: OptimizationRecord, plan: SearchPlan, until: int | None = None) -> None:
    """Work on a search, to its end or until so many answers have come."""
    task: asyncio.Task[Any]
    answers = 0

    def told(event: Any) -> None:
        nonlocal answers
        answers += event["event"] == "answer"
        if answers == until:
            task.cancel()

    task = asyncio.ensure_future(sessions.work(user, user.optimizations.get(record.id), plan, told))
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled():
        task.result()


def shown(found: SearchRecord) -> Any:
    """All that follows from seed, jobs and answers."""
    draws = [
        (
            one.number,
            one.candidate,
            one.places,
            one.outcome,
            one.crown,
            one.told,
            [answer and answer.status for answer in one.answers],
        )
        for one in found.draws
    ]
    candidates = [(one.text, one.parents, one.title, one.told, one.scores, one.cost) for one in found.candidates]
    return draws, candidates, found.held_out, found.search.over


@settings(max_examples=4, deadline=None)
@given(
    st.sampled_from(["guided", "climb", "evolve", "mcts", "random"]),
    st.integers(1, 4),
    st.integers(0, 1000),
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
)
@example("guided", 3, 1, [1, 30, 30])
@example("guided", 3, 660, [24, 29, 2, 29])
@pytest.mark.thinned(32, "killed anywhere")
def test_interrupted_anywhere_it_is_the_same_search(strategy: str, jobs: int, seed: int, stops: list[int]) -> None:
    async def work() -> None:
        found, asked = [], []
        for cuts in ([], stops):
            endpoint = FakeEndpoint(said)
            with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "runs.sqlite") as user:
                plan = plan_for(endpoint, strategy=strategy, jobs=jobs, seed=seed)
                record = begin(user, plan, Path(folder) / "rounds")
                for cut in cuts:
                    await carried_out(user, record, plan_for(endpoint, strategy=strategy, jobs=jobs, seed=seed), cut)
                await carried_out(user, record, plan_for(endpoint, strategy=strategy, jobs=jobs, seed=seed))
                found.append(load(user, record.id))
                asked.append(Counter(str(request.messages) for request in endpoint.seen))
        whole, cut_up = found
        assert whole.search.status == cut_up.search.status == "finished"
        assert shown(whole) == shown(cut_up)
        assert asked[0].keys() == asked[1].keys()

    asyncio.run(work())


def run(plan: Callable[[], SearchPlan], path: Path, *, edit: Callable[[Store], None] = lambda _: None) -> SearchRecord:
    async def work() -> SearchRecord:
        with opened(path / "runs.sqlite") as user:
            edit(user)
            one = plan()
            record = begin(user, one, path / "rounds")
            await carried_out(user, record, one)
            return load(user, record.id)

    return asyncio.run(work())


@pytest.mark.slow
def test_the_record_has_all_of_a_search(tmp_path: Path) -> None:
    found = run(lambda: plan_for(FakeEndpoint(said), strategy="random", bounds=Bounded(evaluations=200)), tmp_path)
    assert found.state == "finished"
    assert found.is_complete
    assert found.answers == sum(len(draw.places) for draw in found.draws) == 180
    start = found.candidates[0]
    assert (start.parents, start.operator, start.text) == ((), "", FLOW.text)
    assert {draw.candidate for draw in found.draws} == set(range(len(found.candidates)))
    for one in found.candidates:
        scores = [
            score
            for draw in found.draws
            if draw.candidate == one.number
            for score in draw.outcome or ()
            if score is not None
        ]
        assert list(one.scores) == scores
        assert one.mean is None or one.mean == pytest.approx(sum(scores) / len(scores))
        assert (tmp_path / "rounds" / one.file).is_file()
    line = found.line_of(found.crown)
    assert (line[0].number, line[-1].number) == (0, found.crown)
    assert found.told == max(one.told for one in found.candidates if one.told is not None and len(one.scores) > 10)
    costs = [one.calls for one in found.front()]
    told = [one.told or 0.0 for one in found.front()]
    assert costs == sorted(costs)
    assert told == sorted(told)
    assert found.usage.calls > 0
    assert found.held_out is not None
    assert (found.held_out.items + found.held_out.left_out, found.held_out.read_before) == (10, 0)
    assert sorted(found.held_out_answers) == [0, found.crown]


@pytest.mark.slow
def test_an_evaluation_of_another_workflow_has_read_what_is_set_aside_one_of_the_start_has_not(tmp_path: Path) -> None:
    from merrow_optimizer.evaluation import sessions as evaluations

    other = workflow('A@{op: Custom, prompt: "yet another"}', "PROBLEM --> A --> RETURN")
    for flow, expected in ((FLOW, 0), (other, 1)):

        def read(user: Store, flow: Any = flow) -> None:
            evaluations.begin(
                user, plan_of(FakeEndpoint(said), numbered(30), flow, default_model="m"), "hash", "all", {}
            )

        place = tmp_path / str(expected)
        place.mkdir()
        found = run(
            lambda: plan_for(FakeEndpoint(said), strategy="random", bounds=Bounded(evaluations=200)), place, edit=read
        )
        assert found.held_out is not None
        assert found.held_out.read_before == expected
        assert (found.held_out.p is None) is bool(expected)


def test_a_start_with_everything_right_ends_it_however_many_items_there_are(tmp_path: Path) -> None:
    endpoint = FakeEndpoint(lambda _: ModelReply("yes", usage=Usage(1, 1, 1, 0.0)))
    found = run(lambda: plan_for(endpoint, count=150, bounds=Bounded(evaluations=500)), tmp_path)
    assert found.search.over == "The start has every item right: nothing can be better on them."
    assert (found.answers, found.crown, len(found.candidates)) == (100, 0, 1)


@pytest.mark.slow
def test_where_all_is_wrong_the_run_of_an_earlier_evaluation_is_named(tmp_path: Path) -> None:
    from merrow_optimizer.evaluation import sessions as evaluations

    endpoint, notes = FakeEndpoint(lambda _: ModelReply("no", usage=Usage(1, 1, 1, 0.0))), []

    async def work() -> str:
        with opened(tmp_path / "runs.sqlite") as user:
            plan = plan_for(endpoint, strategy="random", bounds=Bounded(evaluations=200))
            known = evaluations.begin(user, plan.base, "hash", "all", {})
            await evaluations.work(user, known.id, plan.base, lambda _: None)
            search = begin(user, plan, tmp_path / "it's")
            await sessions.work(
                user, search, plan, lambda event: notes.append(event["text"]) if event["event"] == "note" else None
            )
            return known.id

    known = asyncio.run(work())
    assert f"with: merrow show {known}/" in notes[0]


@pytest.mark.parametrize("name", ["best.mmd", "report.html"])
def test_a_file_of_the_user_is_never_written_over(tmp_path: Path, name: str) -> None:
    folder, elsewhere = tmp_path / "rounds", tmp_path / "elsewhere"
    folder.mkdir()
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(UsageFailure, match=f"{name} is there already; name another folder with --out."):
        run(lambda: plan_for(FakeEndpoint(said), strategy="random"), tmp_path)
    assert not elsewhere.exists()


def test_nothing_is_written_where_a_link_leads(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")

    async def work() -> None:
        with opened(tmp_path / "runs.sqlite") as user:
            plan = plan_for(FakeEndpoint(said), strategy="random", bounds=Bounded(evaluations=110))
            record = begin(user, plan, tmp_path / "rounds")
            (tmp_path / "rounds" / "best.mmd").symlink_to(elsewhere)
            await carried_out(user, record, plan)

    asyncio.run(work())
    assert elsewhere.read_text() == "mine"
    assert "%% Merrow search" in (tmp_path / "rounds" / "best.mmd").read_text()
    assert list((tmp_path / "rounds").glob(".*")) == []


def test_the_notes_of_another_search_are_replaced(tmp_path: Path) -> None:
    before = replace(FLOW, text=f"%% Merrow search abc, round 3: made of round 0\n%% Merrow search: .5\n{FLOW.text}")
    found = run(lambda: plan_for(FakeEndpoint(said), flow=before, strategy="random"), tmp_path)
    for one in found.candidates:
        text = (tmp_path / "rounds" / one.file).read_text()
        notes = [line for line in text.splitlines() if line.startswith("%% Merrow search")]
        assert len(notes) == 2
        assert notes[0].startswith(f"%% Merrow search {found.id}, round {one.number}:")
        assert f" on {len(one.scores)} answers" in notes[1]


def test_notes_stand_below_a_front_matter_however_it_is_indented(tmp_path: Path) -> None:
    text = "  ---\n  title: T\n  ---\n" + FLOW.text[FLOW.text.index("flowchart") :]
    assert text.count("---\n") == 2
    found = run(lambda: plan_for(FakeEndpoint(said), flow=check_workflow(text), strategy="random"), tmp_path)
    for one in found.candidates:
        assert (tmp_path / "rounds" / one.file).read_text().split("%% Merrow search")[0] == "  ---\n  title: T\n  ---\n"


def test_the_cheapest_as_good_costs_less_than_the_best() -> None:
    def one(number: int, calls: int, told: float) -> RecordedCandidate:
        return RecordedCandidate(number, (), "", "", "", "", 3, calls, None, told, [1.0, 0.0] * 20, NOTHING)

    def draw(candidate: int, answers: int) -> RecordedDraw:
        return RecordedDraw(1, candidate, [("q", n) for n in range(answers)], [], [], 1, 0.8)

    candidates = [one(0, 4, 0.5), one(1, 2, 0.8), one(2, 2, 0.82)]
    search = cast(OptimizationRecord, SimpleNamespace(plan={"items": ["q"] * 40}, strategy="climb"))
    record = SearchRecord(search, "finished", candidates, [draw(2, 40), draw(1, 40)], None, {})
    assert record.thrifty() is None
    cheap = replace(record, candidates=[*candidates, one(3, 1, 0.79)])
    # One that was not asked for all items has no estimate that can be compared; `guided` asks half of them.
    for strategy, answers, wanted in (("climb", 39, None), ("climb", 40, 3), ("guided", 19, None), ("guided", 20, 3)):
        search.strategy = strategy  # type: ignore[misc]
        found = replace(cheap, draws=[draw(3, answers), *record.draws]).thrifty()
        assert (None if found is None else found.number) == wanted
        numbers = [front.number for front in replace(cheap, draws=[draw(3, answers), *record.draws]).front()]
        assert numbers == ([2] if wanted is None else [3, 2])


class Priced(FakeEndpoint):
    """A call has a price."""

    def price(self, _: str) -> Price:
        return Price(5.0, 15.0)


@pytest.mark.slow
def test_candidates_that_cost_too_much_for_an_item_are_not_scored(tmp_path: Path) -> None:
    first = plan_for(Priced(said))
    most = 1.6 * (middle(first.forecast.cost_usd) or 0.0)
    for bound in (None, most):
        place = tmp_path / str(bound)
        place.mkdir()
        bounds = Bounded(evaluations=200, max_cost=bound)
        found = run(lambda bounds=bounds: plan_for(Priced(said), strategy="random", bounds=bounds), place)  # type: ignore[misc]
        costs = [one.cost for one in found.candidates]
        assert len(costs) > 5
        assert all(cost is not None for cost in costs)
        assert (max(cost or 0.0 for cost in costs) <= most) is (bound is not None)


def test_a_workflow_with_other_inputs_is_no_candidate() -> None:
    plan = plan_for(FakeEndpoint(said))
    assert plan.moves.given(FLOW.text.replace("second", "third"), "round 2").parents == (0,)
    for text in (FLOW.text.replace("PROBLEM", "QUESTION"), "flowchart TD\n    A --> B\n", "no workflow"):
        with pytest.raises(UsageFailure, match="round 2 can't be a candidate: it "):
            plan.moves.given(text, "round 2")


def test_a_budget_of_money_is_kept_with_the_held_out_items_in_it(tmp_path: Path) -> None:
    limits = EvaluationLimits(usd=0.25)
    found = run(lambda: plan_for(Priced(said), limits=limits, bounds=Bounded(), strategy="random"), tmp_path)
    assert "US dollars is used up, except for what the held-out items need" in (found.search.over or "")
    assert found.search.status == "finished"
    assert 0.1 < (found.usage.cost_usd or 0.0) <= 0.252
    assert found.crown == 0 or found.held_out is not None


def test_a_third_is_set_aside_the_same_in_each_search() -> None:
    first, second = (split_of(data_of(numbered(60)), (), Bounded()) for _ in range(2))
    assert (len(first.searched), len(first.held_out), first.part) == (40, 20, ASIDE)
    assert first == second
    part = replace(data_of(numbered(20)), part="validate")
    test = [Item(f"t{n}", {"problem": "?"}, "") for n in range(400)]
    split = split_of(part, test, Bounded(held_out=50))
    assert (len(split.searched), len(split.held_out), split.part) == (20, 50, "test")
    assert split_of(data_of(numbered(5)), (), Bounded(small=True)) == ItemSplit(tuple(numbered(5)), (), None)
    with pytest.raises(UsageFailure, match="19 items are too few"):
        split_of(data_of(numbered(19)), (), Bounded())


def test_a_workflow_at_its_greatest_size_is_refused() -> None:
    with pytest.raises(UsageFailure, match="has 4 nodes and may have 4"):
        check(plan_for(FakeEndpoint(said), bounds=Bounded(max_nodes=4)))
