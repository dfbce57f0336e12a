"""A model of a validator's own: it judges and writes tests, and the node's model answers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analysis.test_validators import flow, found, node
from tests.runtime.validation.judged import ADD, Model, judged, run, verdict

from merrow_runtime import RunOptions, UsageFailure, dry_run
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.models.prices import Price
from merrow_runtime.operators.formats.planned import load_planned

RUBRIC = {"rubric": "It rhymes.", "model": "judge"}
WRITTEN = {"generate": 1, "entry_point": "add", "model": "tester"}
TESTS = '{"tests": ["assert add(1, 1) == 2"]}'


class Priced(Model):
    """A model that charges dollars for a million tokens, by the names of models."""

    def __init__(self, **prices: float) -> None:
        super().__init__(["abc"], [verdict(True)])
        self._prices = prices

    def price(self, model: str) -> Price | None:
        """See `merrow_runtime.models.prices.PricedEndpoint`."""
        dollars = self._prices.get(model)
        return None if dollars is None else Price(dollars, dollars)


async def test_each_question_goes_to_the_model_that_is_named_for_it() -> None:
    model = Model(["def add(a, b): return 3", ADD], [verdict(False), verdict(True)], [TESTS])
    result = await run(judged([RUBRIC, {"rubric": "Good"}, WRITTEN], ", attempts: 3"), model)
    assert result.outputs == {"RETURN": ADD}
    asked = [(Model.kind(one), one.model) for one in model.seen]
    judges = [("merrow_verdict", "judge"), ("merrow_verdict", "m")]
    assert asked == [("", "m"), ("merrow_tests", "tester"), ("", "m"), judges[0], ("", "m"), *judges]


def test_the_dry_run_names_it_and_counts_with_its_price() -> None:
    costs = []
    for check in ({"rubric": "It rhymes."}, RUBRIC):
        planned = dry_run(judged(check), {"problem": "x"}, endpoint=Priced(m=1, judge=1000))
        costs.append(planned.cost_usd.most or 0)
        (asked,) = [one for one in planned.to_json()["nodes"][1]["questions"] if one["step"] == "validate"]
        assert asked.get("model") == check.get("model")
    assert costs[1] > 100 * costs[0]


def test_a_price_that_is_not_known_is_told_before_the_run() -> None:
    assert dry_run(judged(RUBRIC), {"problem": "x"}, endpoint=Priced(m=1)).cost_usd.most is None


async def test_a_budget_in_dollars_needs_its_price() -> None:
    with pytest.raises(UsageFailure, match="judge"):
        await run(judged(RUBRIC), Priced(m=1), options=RunOptions(budget_usd=1.0))


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("{rubric: Good, model: judge}", False),
        ("{generate: 2, entry_point: f, model: judge}", False),
        ("{tests: ['assert f(1)'], generate: 2, entry_point: f, model: judge}", False),
        ("{tests: ['assert f(1)'], entry_point: f, model: judge}", True),
        ("{regex: a, model: judge}", True),
    ],
)
def test_a_model_goes_with_what_asks_one(body: str, wrong: bool) -> None:
    messages = [one.message for one in found(flow(f"v: {body}", node("v")), "MW333")]
    assert all("`model` changes nothing" in one and "`rubric` and `generate`" in one for one in messages)
    assert bool(messages) == wrong


def test_a_planned_workflow_chooses_no_judge() -> None:
    text: Any = flow("v: {rubric: Good, model: judge}", node("v"))
    with pytest.raises(AnswerFailure, match="`model` of the validator v is not for it to say"):
        load_planned(text)
