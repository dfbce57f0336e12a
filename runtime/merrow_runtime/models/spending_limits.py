"""What the user's own settings allow all runs together: calls and tokens a minute at an endpoint, money a month."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from merrow_runtime.models.origins import origin_of
from merrow_runtime.models.prices import dollars

_A_MINUTE = ("requests_per_minute", "tokens_per_minute")


@dataclass(frozen=True, slots=True)
class MinuteLimits:
    """How many requests and tokens (of prompts and answers) an endpoint gets within any 60 seconds; None is without a limit."""

    requests: int | None = None
    tokens: int | None = None

    def __str__(self) -> str:
        parts = [f"{self.requests} requests"] if self.requests is not None else []
        parts += [f"{self.tokens} tokens"] if self.tokens is not None else []
        return f"{' and '.join(parts)} a minute"


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """``month_usd`` is what all runs of a calendar month (UTC) may cost in US dollars; ``endpoints`` are limits by origin."""

    month_usd: float | None = None
    endpoints: Mapping[str, MinuteLimits] = field(default_factory=dict)


def read_limits(value: object, name: str) -> SpendingLimits:
    """The table ``[limits]`` of the user's settings. Raises `ValueError` with what is wrong in it."""
    if not isinstance(value, dict):
        raise ValueError(f"`[{name}]` is a table with `month_usd`, and tables by origin")
    month: float | None = None
    endpoints: dict[str, MinuteLimits] = {}
    for key, setting in value.items():
        if key == "month_usd":
            month = dollars(setting, f"{name}.month_usd")
        elif isinstance(setting, dict):
            endpoints[origin_of(key, f"origin in `{name}`")] = _of_minute(setting, f'{name}."{key}"')
        else:
            raise ValueError(
                f'`{name}` has no `{key}`; it has `month_usd` and tables such as `[{name}."https://host"]`'
            )
    return SpendingLimits(month, endpoints)


def _of_minute(table: Mapping[str, object], name: str) -> MinuteLimits:
    for key in table:
        if key not in _A_MINUTE:
            raise ValueError(f"`[{name}]` has no `{key}`; it has {' and '.join(f'`{known}`' for known in _A_MINUTE)}")
    limits = {key: whole(value, f"{name}.{key}") for key, value in table.items()}
    return MinuteLimits(*map(limits.get, _A_MINUTE))


def whole(value: object, name: str) -> int:
    """What a setting says as a whole number from 1 on. Raises `ValueError` where it is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"`{name}` is not a whole number, 1 or more")
    return value
