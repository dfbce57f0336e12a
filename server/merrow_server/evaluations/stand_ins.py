"""Evaluations and searches in which a model answered in the place of people, or something else in the place of tools: said
wherever their results are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.unattended import SIMULATED_PERSON

FAKE_TOOLS, REPLAYED_TOOLS = "FAKE TOOLS", "REPLAYED TOOLS"
"""What is written beside every result for which no tool was called."""


def stand_ins_of(plan: Plan) -> dict[str, Any]:
    """Who answers in the place of people (``person``) and what stands in for tools (``tools``), as plain data; empty where these
    are real, or there are none.
    """
    model = plan.options.person
    shown: dict[str, Any] = {} if model is None else {"person": {"model": model, "simulated": True}}
    if plan.tools_in_place is not None:
        shown["tools"] = dict(plan.tools_in_place)
    return shown


def stand_ins_shown(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The same from what the journal has of an evaluation or a search."""
    return {key: plan[key] for key in ("person", "tools") if key in plan}


def stand_ins_mark(shown: Mapping[str, Any]) -> str:
    """What is put behind a result; empty if nothing stands in."""
    marks = [SIMULATED_PERSON] if "person" in shown else []
    if "tools" in shown:
        marks.append(FAKE_TOOLS if "fake" in shown["tools"] else REPLAYED_TOOLS)
    return "".join(f", {mark}" for mark in marks)


def stand_ins_text(shown: Mapping[str, Any]) -> str:
    """What stands in, in a sentence for each; empty likewise."""
    sentences = []
    if "person" in shown:
        sentences.append(f"{SIMULATED_PERSON}: the model {shown['person']['model']} answers in the place of people.")
    if "tools" in shown:
        file = shown["tools"].get("fake")
        sentences.append(
            f"{REPLAYED_TOOLS}: results of earlier runs are used, and no tool is called."
            if file is None
            else f"{FAKE_TOOLS}: functions of {file} are called in the place of tools."
        )
    return " ".join(sentences)
