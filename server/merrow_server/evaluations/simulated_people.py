"""Evaluations and searches in which a model answered in the place of people: said wherever their results are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.unattended import SIMULATED_PERSON


def person_of(plan: Plan) -> dict[str, Any]:
    """Who answers in the place of people, as plain data (``person``); empty if no model does."""
    model = plan.options.person
    return {} if model is None else {"person": {"model": model, "simulated": True}}


def person_shown(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The same from what the journal has of an evaluation or a search."""
    return {"person": plan["person"]} if "person" in plan else {}


def person_mark(shown: Mapping[str, Any]) -> str:
    """What is put behind a result; empty if no model answers in the place of people."""
    return f", {SIMULATED_PERSON}" if "person" in shown else ""


def person_text(shown: Mapping[str, Any]) -> str:
    """Who answered, as a sentence; empty likewise."""
    return (
        f"{SIMULATED_PERSON}: the model {shown['person']['model']} answers in the place of people."
        if "person" in shown
        else ""
    )
