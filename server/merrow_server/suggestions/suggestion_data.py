"""What came of suggestions, as plain data."""

from __future__ import annotations

from typing import Any

from merrow_optimizer.suggestions.session import SuggestionOutcome, SuggestionSession, price_of
from merrow_optimizer.suggestions.tallies import CandidateTally
from merrow_runtime.models.endpoint import Endpoint


def tally_of(outcome: SuggestionOutcome) -> CandidateTally:
    """The counts of both forms together."""
    return sum(outcome.tallies.values(), CandidateTally())


def report(session: SuggestionSession, outcome: SuggestionOutcome, endpoint: Endpoint) -> dict[str, Any]:
    """A session as it ended; the texts of its suggestions are those of the diagram. ``endpoint`` has the prices."""
    ground = session.ground
    now = price_of(ground, ground.text, endpoint)  # what a run of the workflow uses as it is
    return {
        "workflow": ground.workflow.name,
        "optimizer_model": session.models.optimizer,
        "judge_model": session.models.judge,
        "endpoint": endpoint.origin,
        "run": None if now is None else now.to_json(),
        "suggestions": [{**suggestion.to_json(), "text": suggestion.text} for suggestion in outcome.suggestions],
        "refused": [
            {"title": refused.title, "form": refused.form, "stage": refused.stage, "why": refused.why}
            for refused in outcome.lost
        ],
        "valid": {
            **tally_of(outcome).to_json(),
            "forms": {form: tally.to_json() for form, tally in outcome.tallies.items()},
        },
    }
