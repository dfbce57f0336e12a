"""What is done in environments: kept like any call, with what was seen. A session is opened only where that is not known."""

from __future__ import annotations

import hashlib
import time

from merrow_analysis.visible import plain
from merrow_runtime.calls.account import NodeAccount
from merrow_runtime.calls.effects import Effects
from merrow_runtime.environments.episodes import BEGINNING, EpisodePlace
from merrow_runtime.environments.interface import EnvironmentSession, EnvironmentStep, EpisodeError
from merrow_runtime.errors import NodeFailure, ToolFailure
from merrow_runtime.requests import CallKey, EnvironmentAction
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.store.rows import storable_json, text_of
from merrow_runtime.usage import NOTHING
from merrow_runtime.values import canonical


class EnvironmentUse:
    """One act of a visit at its ``place``. Calls that began before ``since`` are another visit's."""

    def __init__(
        self, effects: Effects, account: NodeAccount, place: EpisodePlace, action: EnvironmentAction, since: float = 0.0
    ) -> None:
        self._effects, self._account, self._place, self._action = effects, account, place, action
        self._since = since
        self._before = [] if action.action is None else effects.episodes.before(place)

    @property
    def name(self) -> str:
        """The step of its call: the number of the action in its episode, 0 for the reset."""
        return f"act {len(self._before)}"

    async def step(self, key: CallKey) -> EnvironmentStep:
        """What is seen after it. Raises `NodeFailure`."""
        if self._action.action is not None and not self._before:
            raise NodeFailure.of(
                key.node,
                "an action arrived before its episode began. In the first turn of its Loop nothing may arrive at `action`, so"
                " that it begins with the `task`.",
            )
        effects = self._effects
        after = self._before[-1].digest if self._before else BEGINNING
        content = canonical({**self._action.to_json(), "after": after})
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        content = content if content.isascii() else storable_json(content)
        record = (
            await effects.recall(key, digest, self._account, model=False, since=self._since) if effects.knows else None
        )
        if record is None:
            started = time.time()
            step = await self._made(key)
            result = text_of(step.to_json())
            made = CallRecord(key, "act", digest, content, result, NOTHING, True, "act", started, time.time() - started)
            record = await effects.commit(made, self._account)
        try:
            return EnvironmentStep.from_json(record.result)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise NodeFailure.of(key.node, "what its environment said is damaged in the journal.") from None

    async def _made(self, key: CallKey) -> EnvironmentStep:
        effects, action = self._effects, self._action

        async def opened() -> EnvironmentSession:
            assert effects.open_environment is not None  # noqa: S101 (every run has it)
            return await effects.open_environment(action)

        effects.moved(self._account, "begins")
        try:
            return await effects.episodes.act(self._place, action.action, action.task, opened)
        except (EpisodeError, ToolFailure) as failure:
            raise NodeFailure.of(key.node, plain(str(failure))) from None
        finally:
            effects.moved(self._account, "ends")
