"""API keys that an editor handed over: in memory only, each for one origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merrow_runtime.models.user_settings import UserSettings

_VARIABLE = "MERROW_EDITOR_KEY_{}"


class Keys:
    """The keys by origin. Nothing that is shown of it holds one."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}

    def set(self, address: str, key: str | None) -> str:
        """Keep ``key`` for the origin of ``address``, or forget it where there is none; the origin.

        Raises `UsageFailure` where the address is none.
        """
        from merrow_runtime.models.origins import origin_of

        origin = origin_of(address, "origin")
        if key:
            self._keys[origin] = key
        else:
            self._keys.pop(origin, None)
        return origin

    def grant(self, environment: Mapping[str, str], settings: UserSettings) -> tuple[dict[str, str], UserSettings]:
        """The environment and the user's settings with the keys in them, each where it goes to its own origin alone.

        They are copies: the process's own environment, which child processes have, never holds a key from here.
        """
        variables = {origin: _VARIABLE.format(number) for number, origin in enumerate(self._keys)}
        named = {variables[origin]: key for origin, key in self._keys.items()}
        return {**environment, **named}, replace(settings, api_key_env={**settings.api_key_env, **variables})
