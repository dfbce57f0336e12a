"""What a job continues with that may differ from what it was begun with: limits, an endpoint, whose answers count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_runtime.provenance import OFFLINE_ORIGIN, Reuse, named
from merrow_runtime.store.listed import Listed
from merrow_server.errors import InputError


@dataclass(frozen=True, slots=True)
class ResumeChanges:
    """What is given for the rest of a job; None: as it was. ``reuse`` says whether answers of another endpoint than the one that
    would answer now are kept (``any``) or had again (``same``).
    """

    limits: EvaluationLimits = field(default_factory=EvaluationLimits)
    base_url: str | None = None
    concurrency: int | None = None
    reuse: Reuse | None = None

    def limits_after(self, before: EvaluationLimits) -> EvaluationLimits:
        """The limits where those ``before`` were others."""
        now = self.limits
        return EvaluationLimits(
            before.usd if now.usd is None else now.usd,
            before.tokens if now.tokens is None else now.tokens,
            before.seconds if now.seconds is None else now.seconds,
        )


def changed_by(given: Mapping[str, Any], limits: Mapping[str, Any] | None = None) -> ResumeChanges:
    """What options say, by their names; or an editor, whose ``limits`` are ``{usd, tokens, seconds}``."""
    if limits is None:
        limits = {name: given[f"budget_{name}"] for name in ("usd", "tokens", "seconds")}
    return ResumeChanges(
        EvaluationLimits(**limits), given.get("base_url"), given.get("concurrency"), given.get("reuse")
    )


def refuse_same(changed: ResumeChanges, kept: Listed[Any], identity: str) -> None:
    """Raise `InputError` where all answers are wanted of one endpoint, of a job that goes by those that it has."""
    if changed.reuse == "same":
        raise InputError(
            f"{kept.word.capitalize()} {identity} goes by the answers that it has; choose --reuse any to keep them, or"
            f" {kept.damaged}."
        )


def answered_by_another(kept: Listed[Any], identity: str, before: str, now: str) -> str:
    """The sentence where another endpoint (by its origin) answered ``before`` than would ``now``."""
    again = "use --base-url offline" if before == OFFLINE_ORIGIN else "set the environment as it was"
    return (
        f"{kept.word.capitalize()} {identity} was answered by {named(before)}, but {named(now)} would answer now. To continue"
        f" with that, {again}. Else choose --reuse any to keep its answers, or --reuse same to have all of {named(now)}."
    )
