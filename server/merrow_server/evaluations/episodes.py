"""What the episodes of an evaluation came to, beside their score."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

from merrow_optimizer.evaluation.metrics.reward import Reward, episode_in
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, output_of


def episodes_of(user: Store, record: EvaluationRecord) -> dict[str, Any]:
    """How many episodes there were, as ``episodes``, how many ended with success, and their mean ``reward`` and ``steps``.

    Empty where another metric scored, or there was none. A run that failed has no episode.
    """
    if record.metric != Reward.name:
        return {}
    scores = user.evaluations.scores(record.id, outputs=True)
    found = [
        (score.value == 1, episode)
        for score in scores
        if score.output is not None and (episode := episode_in(output_of(score.output))) is not None
    ]
    if not found:
        return {}
    count = len(found)
    return {
        "episodes": {
            "count": count,
            "successes": sum(success for success, _ in found),
            "reward": fsum(float(episode["reward"]) for _, episode in found) / count,
            "steps": fsum(int(episode["steps"]) for _, episode in found) / count,
        }
    }


def episodes_text(episodes: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    count, successes = episodes["count"], episodes["successes"]
    return (
        f"{successes:,} of {count:,} {'episode' if count == 1 else 'episodes'} ended with success; mean reward"
        f" {episodes['reward']:.3f}, mean steps {episodes['steps']:.1f}."
    )
