"""The episodes of a run: what was done in each, so that every action stands on those before it.

An episode is that of a visit of the innermost Loop around its nodes, and of one environment: a reset, then actions. What an
action leads to is no function of its node's inputs, but of these and of all that was done before: `Episodes.stands_on` has that
in a node's key. A session with an environment is worth nothing once its process is gone: a new one is given the actions again,
and has to say the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from merrow_analysis.graph.boxes.composites import Composites
from merrow_runtime.environments.interface import EnvironmentSession, EnvironmentStep, EpisodeError
from merrow_runtime.models.redaction import quoted
from merrow_runtime.values import canonical
from merrow_runtime.visit import Visit, read_segment

BEGINNING = ""
"""What the first reset of an episode stands on."""

Open = Callable[[], Awaitable[EnvironmentSession]]


class EpisodePlace(NamedTuple):
    """Where a node acts: the visit of the Loop, the environment, the turn (0 outside of Loops), and the node."""

    episode: str
    env: str
    turn: int
    node: str


class Act(NamedTuple):
    """What was done and seen: a reset with a ``task`` where ``action`` is None. ``digest`` stands for it and all before it."""

    turn: int
    node: str
    action: str | None
    task: Any
    step: EnvironmentStep
    digest: str


def place_of(visit: Visit, env: str, composites: Composites) -> EpisodePlace:
    """Where a visit acts. ``composites`` are those of its node's graph."""
    box = composites.inside.get(visit.node)
    if box is None or composites.boxes[box].kind != "loop":
        return EpisodePlace(str(visit), env, 0, visit.node)
    around, _, own = visit.path.rpartition("/")
    turn = read_segment(own)[3] or 0
    loop = own.rpartition("[")[0]
    return EpisodePlace(f"{around}/{loop}" if around else loop, env, turn, visit.node)


class Episodes:
    """The episodes of one run, in this process; a run that is resumed learns them from the visits that it has finished."""

    def __init__(self) -> None:
        self._acts: dict[tuple[str, str], list[Act]] = {}
        self._sessions: dict[tuple[str, str], tuple[str, EnvironmentSession]] = {}
        """By episode and environment, the session that is open, and the act that it has made last."""

    def before(self, place: EpisodePlace) -> list[Act]:
        """What was done before a visit acts, from the last reset on."""
        acts = self._acts.get(place[:2], [])
        at = self._position(acts, place)
        begin = next((number for number in range(at - 1, -1, -1) if acts[number].action is None), 0)
        return acts[begin:at]

    def stands_on(self, place: EpisodePlace, key: str, *, resets: bool) -> str:
        """A node's key, with what was done before; a reset stands on nothing."""
        acts = [] if resets else self.before(place)
        return hashlib.sha256(f"{key}:{acts[-1].digest}".encode()).hexdigest() if acts else key

    def add(self, place: EpisodePlace, action: str | None, task: Any, step: EnvironmentStep) -> None:
        """Note what was done by a visit. Where its node has done something else in this turn before, that and all that followed
        it no longer counts.
        """
        before = self.before(place)
        on = BEGINNING if action is None or not before else before[-1].digest
        act = Act(place.turn, place.node, action, task, step, _digest(on, action, task, step.observation))
        acts = self._acts.setdefault(place[:2], [])
        at = self._position(acts, place)
        if acts[at : at + 1] != [act]:
            acts[at:] = [act]

    async def act(self, place: EpisodePlace, action: str | None, task: Any, open_session: Open) -> EnvironmentStep:
        """Reset, where ``action`` is None, or step. An action after the end changes nothing. Raises `EpisodeError`."""
        acts = [] if action is None else self.before(place)
        if acts and acts[-1].step.done:
            return acts[-1].step
        on = acts[-1].digest if acts else BEGINNING
        known = self._sessions.pop(place[:2], None)
        if known is not None and known[0] != on:
            await known[1].close()
            known = None
        session = await open_session() if known is None else known[1]
        try:
            if known is None:
                for number, act in enumerate(acts):
                    await _again(session, number, act)
            step = await (session.reset(task) if action is None else session.step(action))
        except BaseException:
            await session.close()
            raise
        if step.done:
            await session.close()
        else:
            self._sessions[place[:2]] = _digest(on, action, task, step.observation), session
        return step

    async def close(self) -> None:
        """Close all sessions."""
        sessions, self._sessions = self._sessions, {}
        for _, session in sessions.values():
            await session.close()

    def _position(self, acts: list[Act], place: EpisodePlace) -> int:
        """Where a visit's own act is, or would be, among the acts of its episode."""
        for number in range(len(acts) - 1, -1, -1):
            act = acts[number]
            if act.turn == place.turn and act.node == place.node:
                return number
            if act.turn < place.turn:
                return next(
                    (later for later in range(number + 1, len(acts)) if acts[later].turn > place.turn), len(acts)
                )
        return next((number for number, act in enumerate(acts) if act.turn > place.turn), len(acts))


async def _again(session: EnvironmentSession, number: int, act: Act) -> None:
    """Have a new session do what was done before. Raises `EpisodeError` where it says something else."""
    step = await (session.reset(act.task) if act.action is None else session.step(act.action))
    if step.observation == act.step.observation:
        return
    done = "the reset" if act.action is None else f"action {number}, {quoted(act.action)},"
    raise EpisodeError(
        f"Its environment does not do the same again: {done} led to {quoted(act.step.observation)} before, and to"
        f" {quoted(step.observation)} now, so the episode can't continue."
    )


def _digest(on: str, action: str | None, task: Any, observation: str) -> str:
    told = canonical({"on": on, "action": action, "task": task if action is None else None, "observation": observation})
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
