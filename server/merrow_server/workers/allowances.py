"""The money and the tokens of an evaluation, shared out to the chunks that are on their way."""

from __future__ import annotations

from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_runtime.usage import Usage
from merrow_server.workers.terms import ChunkAllowance


class Allowances:
    """What chunks may use, together never more than ``limits``; ``spent`` was used before.

    A chunk gets an equal share of what is left. Where a share was too small for its next call, chunks are sent one by one, each
    with all that is left (`is_tight`).
    """

    def __init__(self, limits: EvaluationLimits, spent: Usage) -> None:
        self._limits = limits
        self._usd, self._tokens = spent.cost_usd or 0.0, spent.tokens
        self._held: dict[str, tuple[float, int]] = {}
        self.is_tight = False

    def grant(self, chunk: str, others: int) -> ChunkAllowance:
        """Let a chunk use a share; as many ``others`` may still be sent beside it."""
        limits = self._limits
        if limits.usd is None and limits.tokens is None:
            return ChunkAllowance()
        held_usd, held_tokens = (
            (sum(each) for each in zip(*self._held.values(), strict=True)) if self._held else (0.0, 0)
        )
        usd = 0.0 if limits.usd is None else max(0.0, limits.usd - self._usd - held_usd) / (others + 1)
        tokens = 0 if limits.tokens is None else max(0, limits.tokens - self._tokens - int(held_tokens)) // (others + 1)
        self._held[chunk] = usd, tokens
        return ChunkAllowance(
            limits.usd,
            limits.tokens,
            0.0 if limits.usd is None else limits.usd - usd,
            0 if limits.tokens is None else limits.tokens - tokens,
        )

    def settle(self, chunk: str) -> None:
        """A chunk has ended: what it has used was counted, the rest of its share is free."""
        self._held.pop(chunk, None)

    def count(self, usage: Usage, before: Usage | None) -> None:
        """An answer has used so much; ``before`` was counted for it already."""
        self._usd += (usage.cost_usd or 0.0) - (0.0 if before is None else before.cost_usd or 0.0)
        self._tokens += usage.tokens - (0 if before is None else before.tokens)
