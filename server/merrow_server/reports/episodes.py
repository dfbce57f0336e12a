"""The episodes of a run, turn by turn, from the records of its Environments: what was done, what was seen, what it was worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from merrow_analysis.definitions.operators import ENVIRONMENT
from merrow_runtime.operators.environment import ACTION, ENV, TASK
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.values import as_text
from merrow_runtime.visit import read_segment
from merrow_server.reports.given import given_value

LONGEST_SHOWN = 2000
"""Characters of an action or an observation in an episode; the whole is at its node."""

Json = dict[str, Any]


def episodes_of(ended: Mapping[str, NodeRecord], node: str | None = None) -> list[Json]:
    """The episodes of a run in the order in which they began. ``ended`` are all its visits by name, in the order in which they
    ended. With ``node`` only those in which that visit acted, or that were in a Loop with that id.

    Each is `{episode, env, task, turns, steps, reward, done}`: where it was (the visit of its Loop, or of the node where nothing
    else tells it from others), how many actions were taken, the sum of the rewards, and whether it is over. A turn is
    `{turn, node, action, observation, reward, done}`, with `error` where the node failed; ``action`` is None for the reset.
    """
    acts: dict[tuple[str, str], list[tuple[int, NodeRecord]]] = {}
    for record in ended.values():
        definition = record.definition or {}
        if definition.get("operator") != ENVIRONMENT.name or record.status == "skipped":
            continue
        around, turn = _frame(record.path)
        env = str(definition.get("parameters", {}).get(ENV, ""))
        acts.setdefault((around, env), []).append((turn, record))
    found: list[Json] = []
    for (around, env), several in acts.items():
        parts: list[list[tuple[int, NodeRecord]]] = []
        for turn, record in sorted(several, key=lambda one: one[0]):
            if not parts or ACTION not in (record.inputs or {}):
                parts.append([])
            parts[-1].append((turn, record))
        for part in parts:
            alone = len(parts) == 1 and around
            name = around if alone else part[0][1].visit.name
            if node is None or any(record.visit.name == node for _, record in part) or _is_in(around, node):
                found.append(_episode(name, env, part, ended))
    return found


def _frame(path: str) -> tuple[str, int]:
    """The visit of the Loop or Map that a frame is of, and which turn or item of it the frame is; 0 outside of them."""
    around, _, own = path.rpartition("/")
    loop, bracket, _ = own.rpartition("[")
    if not bracket:
        return path, 0
    return (f"{around}/{loop}" if around else loop), read_segment(own)[3] or 0


def _is_in(around: str, loop: str) -> bool:
    own = around.rpartition("/")[2]
    return bool(own) and loop in (around, read_segment(own)[0])


def _episode(name: str, env: str, acts: Sequence[tuple[int, NodeRecord]], ended: Mapping[str, NodeRecord]) -> Json:
    turns = [_turn(turn, record, ended) for turn, record in acts]
    begun = acts[0][1]
    return {
        "episode": name,
        "env": env,
        "task": _cut(_input(begun, TASK, ended) or ""),
        "turns": turns,
        "steps": sum(turn["action"] is not None for turn in turns),
        "reward": sum(turn["reward"] for turn in turns),
        "done": any(turn["done"] for turn in turns),
    }


def _turn(turn: int, record: NodeRecord, ended: Mapping[str, NodeRecord]) -> Json:
    outputs = record.outputs or {}
    action = _input(record, ACTION, ended)
    reward = outputs.get("reward", 0.0)
    return {
        "turn": turn,
        "node": record.visit.name,
        "action": None if action is None else _cut(action),
        "observation": _cut(as_text(outputs.get("observation", ""))),
        "reward": float(reward) if isinstance(reward, int | float) and isfinite(reward) else 0.0,
        "done": outputs.get("done") is True,
        **({"error": record.error} if record.error else {}),
    }


def _input(record: NodeRecord, port: str, ended: Mapping[str, NodeRecord]) -> str | None:
    """What arrived at a port, as text; None where nothing did. What the journal no longer has is empty."""
    given = (record.inputs or {}).get(port)
    return as_text(given_value(given[0], record, ended).get("value", "")) if given else None


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
