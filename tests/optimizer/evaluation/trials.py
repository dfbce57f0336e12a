"""Small data sets, metrics and workflows to evaluate in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.runtime.engine.fakes import FakeEndpoint, workflow

from merrow_optimizer.evaluation import sessions
from merrow_optimizer.evaluation.data import DataSet
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric
from merrow_optimizer.evaluation.plan import EvaluationLimits, Plan, make_plan
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime import RunOptions, Store, Workflow
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.outside.user_servers import UserServers
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord
from merrow_runtime.usage import NOTHING, Usage

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
        tools=UserServers(lambda: None),
    )


@dataclass(frozen=True)
class Found:
    """An evaluation that ended: why before its end, and the scores in the journal, in the order they came."""

    id: str
    stopped_by: str | None
    scores: dict[tuple[str, int], ScoreRecord]

    @property
    def spent(self) -> Usage:
        return sum((score.usage for score in self.scores.values()), NOTHING)


async def evaluated(user: Store, plan: Plan, begun: EvaluationRecord | None = None, **told: Any) -> Found:
    record = begun or sessions.begin(user, plan, "hash", "all", {"golds": {}})
    evaluator = await sessions.work(user, record.id, plan, **told)
    scores = user.evaluations.scores(record.id)
    return Found(record.id, evaluator.stopped_by, {(score.item, score.repeat): score for score in scores})


def statuses(found: Found) -> dict[str, str]:
    return {item: str(one.status) for (item, repeat), one in sorted(found.scores.items()) if repeat == 0}


def failing(when: Callable[[str], Exception | None]) -> FakeEndpoint:
    """Answers with what it was asked about, but for what ``when`` gives a failure."""

    def answer(request: ModelRequest) -> str | Exception:
        return when(asked_about(request)) or f"I say {asked_about(request)}"

    return FakeEndpoint(answer)


def opened(path: Path) -> Any:
    return closing(Store.open(path))
