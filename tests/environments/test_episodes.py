"""What counts of what was done in an episode, and how its end is scored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.environments.play import REACT

from merrow_analysis.check import analyse
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.reward import Reward
from merrow_optimizer.evaluation.scores import InvalidItemError
from merrow_runtime.environments.episodes import EpisodePlace, Episodes, place_of
from merrow_runtime.environments.interface import EnvironmentStep
from merrow_runtime.visit import Visit


def place(turn: int, node: str = "GAME") -> EpisodePlace:
    return EpisodePlace("EPISODE", "textcraft", turn, node)


def done(episodes: Episodes, turn: int, action: str | None, node: str = "GAME") -> None:
    episodes.add(place(turn, node), action, 7, EnvironmentStep(f"{action} was done"))


def before(episodes: Episodes, turn: int, node: str = "GAME") -> list[str | None]:
    return [act.action for act in episodes.before(place(turn, node))]


def test_what_is_done_again_in_a_turn_takes_all_that_followed_with_it() -> None:
    episodes = Episodes()
    for turn, action in enumerate((None, "a", "b", "c"), 1):
        done(episodes, turn, action)
    assert before(episodes, 5) == [None, "a", "b", "c"]
    assert before(episodes, 3) == [None, "a"]
    done(episodes, 2, "a")  # the same, found again
    assert before(episodes, 5) == [None, "a", "b", "c"]
    done(episodes, 2, "x")
    assert before(episodes, 5) == [None, "x"]


def test_nodes_of_a_turn_act_one_after_the_other() -> None:
    episodes = Episodes()
    done(episodes, 1, None, "FIRST")
    done(episodes, 1, "a", "SECOND")
    done(episodes, 2, "b", "FIRST")
    assert before(episodes, 2, "SECOND") == [None, "a", "b"]
    done(episodes, 2, "c", "SECOND")
    assert before(episodes, 2, "FIRST") == [None, "a"]
    assert before(episodes, 3, "FIRST") == [None, "a", "b", "c"]
    assert before(episodes, 1, "SECOND") == [None]


def test_a_reset_begins_again_and_stands_on_nothing() -> None:
    episodes = Episodes()
    for turn, action in enumerate((None, "a", None, "b"), 1):
        done(episodes, turn, action)
    assert before(episodes, 5) == [None, "b"]
    assert episodes.stands_on(place(3), "key", resets=True) == "key"
    assert (
        episodes.stands_on(place(5), "key", resets=False) != episodes.stands_on(place(4), "key", resets=False) != "key"
    )
    other = Episodes()
    done(other, 1, None)
    done(other, 2, "b")
    # What was done counts, not when.
    assert other.stands_on(place(3), "key", resets=False) == episodes.stands_on(place(5), "key", resets=False)


def test_episodes_are_told_apart_by_the_visit_of_the_loop() -> None:
    graph = analyse(REACT).typed
    assert graph is not None

    def of(node: str, path: str) -> EpisodePlace:
        return place_of(Visit(node, path), "textcraft", graph.composites)

    assert of("GAME", "EPISODE[3]") == ("EPISODE", "textcraft", 3, "GAME")
    assert of("GAME", "PARTS[2]/EPISODE!1[3]") == ("PARTS[2]/EPISODE!1", "textcraft", 3, "GAME")
    assert of("SHOW", "") == ("SHOW", "textcraft", 0, "SHOW")
    assert of("SHOW", "CALL") == ("CALL/SHOW", "textcraft", 0, "SHOW")


@pytest.mark.parametrize(
    ("episode", "value"),
    [
        ({"done": True, "reward": 1.0, "steps": 3}, 1),
        ({"done": True, "reward": 0.1, "steps": 3}, 1),
        ({"done": True, "reward": 0.0, "steps": 3}, 0),
        ({"done": True, "reward": -1.0, "steps": 3}, 0),
        ({"done": False, "reward": 1.0, "steps": 3}, 0),
        (None, None),
        ("no episode", None),
    ],
)
def test_success_is_an_end_with_a_reward_above_0(episode: Any, value: float | None) -> None:
    scoring = Reward().score(Item("a", {}, None), {"output": "x", "episode": episode})
    if value is None:
        with pytest.raises(InvalidItemError):
            asyncio.run(scoring)
    else:
        assert asyncio.run(scoring).value == value
