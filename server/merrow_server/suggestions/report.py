"""What came of suggestions, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merrow_optimizer.suggestions.session import CandidateTally, RunPrice, SuggestionOutcome
from merrow_runtime.usage import Usage
from merrow_server.suggestions.preparing import PreparedSuggestions


def tally_of(outcome: SuggestionOutcome) -> CandidateTally:
    """The counts of both forms together."""
    return sum(outcome.tallies.values(), CandidateTally())


def report(
    prepared: PreparedSuggestions,
    outcome: SuggestionOutcome,
    usage: Usage,
    now: RunPrice | None,
    suggestions: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """A session as it ended. ``suggestions`` are those of the outcome with texts and places as the caller has them; ``now`` is
    what a run of the workflow uses as it is.
    """
    models = prepared.session.models
    return {
        "workflow": prepared.session.ground.workflow.name,
        "optimizer_model": models.optimizer,
        "judge_model": models.judge,
        "endpoint": prepared.chosen.endpoint.origin,
        "run": None if now is None else now.to_json(),
        "suggestions": list(suggestions),
        "refused": [{"title": one.title, "form": one.form, "stage": one.stage, "why": one.why} for one in outcome.lost],
        "valid": {
            **tally_of(outcome).to_json(),
            "forms": {form: tally.to_json() for form, tally in outcome.tallies.items()},
        },
        "usage": usage.to_json(),
        "notices": [*prepared.notices, *outcome.notices],
    }
