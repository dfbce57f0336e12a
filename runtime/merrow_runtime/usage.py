"""What calls cost: tokens, calls and money, as the endpoint counted them or as they were estimated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_runtime.records import record


@record(frozen=True, slots=True)
class Usage:
    """Tokens, calls made and money spent (US dollars).

    ``cost_usd`` is None where a price is not known: it is never taken for nothing. ``estimated`` tells that some of
    it was not counted by an endpoint, since a call was cancelled or the endpoint doesn't say.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cost_usd: float | None = 0.0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            self.estimated or other.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields that events and the journal show; ``estimated`` only where it is true."""
        shown: dict[str, Any] = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "calls": self.calls,
            "cost_usd": self.cost_usd,
        }
        if self.estimated:
            shown["estimated"] = True
        return shown

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> Usage:
        """The inverse of `to_json`."""
        return cls(
            shown["prompt_tokens"],
            shown["completion_tokens"],
            shown["calls"],
            shown["cost_usd"],
            shown.get("estimated", False),
        )


NOTHING = Usage()
"""No call, no token, no money."""
