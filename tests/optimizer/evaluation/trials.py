"""Small data sets, metrics and workflows to evaluate in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.runtime.engine.fakes import FakeEndpoint, workflow

from merrow_optimizer.evaluation import sessions
from merrow_optimizer.evaluation.data import DataSet
from merrow_optimizer.evaluation.evaluator import Evaluator
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric
from merrow_optimizer.evaluation.plan import EvaluationLimits, Plan, make_plan
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime import RunOptions, Store, Workflow
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.evaluations import EvaluationRecord

FLOW = workflow('A@{op: Custom, prompt: "first"}', "PROBLEM --> A --> RETURN")


class Ends(BaseMetric):
    """Right where the answer ends with the gold."""

    name = "ends"

    async def score(self, item: Item, output: Any) -> Score:
        right = str(output).endswith(item.gold)
        return Score(float(right), str(output), "ends so" if right else f"does not end with {item.gold}")


def data_of(items: Sequence[Item], name: str = "d.jsonl") -> DataSet:
    return DataSet(Path(name), tuple(items), "all", "hash", False, "own", "ends", {}, len(items))


def numbered(count: int) -> list[Item]:
    return [Item(f"q{n}", {"problem": f"problem {n}"}, f"problem {n}") for n in range(count)]


def asked_about(request: ModelRequest) -> str:
    return request.messages[-1].content


def plan_of(
    endpoint: FakeEndpoint,
    items: Sequence[Item],
    flow: Workflow = FLOW,
    *,
    metric: BaseMetric | None = None,
    concurrency: int = 4,
    repeats: int = 1,
    limits: EvaluationLimits | None = None,
    **options: Any,
) -> Plan:
    return make_plan(
        flow,
        data_of(items),
        metric or Ends(),
        ChosenEndpoint(endpoint, None, concurrency),
        RunOptions(retry=RetryPolicy(retries=0), **options),
        repeats=repeats,
        limits=limits,
    )


async def evaluated(user: Store, plan: Plan, begun: EvaluationRecord | None = None, **told: Any) -> Evaluator:
    record = begun or sessions.begin(user, plan, "hash", "all", {"golds": {}})
    return await sessions.work(user, record.id, plan, **told)


def statuses(evaluator: Evaluator) -> dict[str, str]:
    return {item: str(one.status) for (item, repeat), one in sorted(evaluator.scores.items()) if repeat == 0}


def failing(when: Callable[[str], Exception | None]) -> FakeEndpoint:
    """Answers with what it was asked about, but for what ``when`` gives a failure."""

    def answer(request: ModelRequest) -> str | Exception:
        return when(asked_about(request)) or f"I say {asked_about(request)}"

    return FakeEndpoint(answer)


def opened(path: Path) -> Any:
    return closing(Store.open(path))
