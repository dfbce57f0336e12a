"""What an episode of an environment came to: success is its end with a reward above 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, right, wrong
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.operators.environment import Environment
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.contract import NodeRecord

EPISODE = "episode"


class Reward(BaseMetric):
    """1 where the episode that ended last is done with a reward above 0, else 0."""

    name = "reward"
    needs_gold = False
    of_episode = True

    async def score(self, item: Item, output: Any) -> Score:
        del item
        episode = episode_in(output)
        if episode is None:
            raise InvalidItemError("The run acted in no environment, so there is no reward.")
        reward, steps = episode["reward"], episode["steps"]
        read = f"reward {reward:g} after {steps:,} {'step' if steps == 1 else 'steps'}"
        if not episode["done"]:
            return wrong(read, "the episode is not over")
        return right(read, "the episode is over with a reward") if reward > 0 else wrong(read, "there is no reward")


def with_episode(result: RunResult, output: Any) -> dict[str, Any]:
    """An answer together with the episode that it comes from: that of the Environment that acted last."""
    records = {id(record): record for record in result.nodes.values()}.values()
    acts = [record for record in records if _acted(record)]
    if not acts:
        return {"output": output, EPISODE: None}
    last = max(acts, key=lambda record: (record.ended, record.number))
    told = last.outputs or {}
    own = [record for record in acts if record.node == last.node and _loop(record) == _loop(last)]
    episode = {"done": told["done"], "reward": told["reward"], "steps": len(own) - 1}
    return {"output": output, EPISODE: episode}


def episode_in(output: Any) -> Mapping[str, Any] | None:
    """The episode that goes with an answer; None where there is none."""
    episode = output.get(EPISODE) if isinstance(output, dict) else None
    return episode if isinstance(episode, dict) else None


def _acted(record: NodeRecord) -> bool:
    return (
        record.definition is not None
        and record.definition.get("operator") == Environment.name
        and record.outputs is not None
    )


def _loop(record: NodeRecord) -> str:
    """The visit of the Loop around a record's node."""
    return record.path.rpartition("[")[0]
