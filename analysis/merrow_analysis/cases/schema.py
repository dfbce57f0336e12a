"""What a cases file may say: JSON Schema, draft 2020-12, as data; and the metrics that a case can expect something by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_analysis.definitions.schema import DRAFT, Fragment

NOT = "not-"
DEFAULT_METRIC = "contains"
JUDGE_AT_LEAST = 0.7
MOST_REPEATS = 100


@dataclass(frozen=True, slots=True)
class CaseMetric:
    """A metric as cases name it. ``value`` is the schema of what follows its name; ``option`` the metric's option that this
    is, None where it is the expected answer. ``options`` are further keys of the expectation.
    """

    summary: str
    value: Fragment
    option: str | None = None
    options: tuple[str, ...] = ()


_TEXTS: Fragment = {
    "anyOf": [
        {"type": ["string", "number", "boolean"]},
        {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 1},
    ]
}
_ANY: Fragment = {}

CASE_METRICS: Mapping[str, CaseMetric] = {
    "contains": CaseMetric(
        "The words are in the output, one after the other and as whole words, in upper or lower case; of a list, any of them.",
        _TEXTS,
    ),
    "exact": CaseMetric(
        "The whole output is this, but for space around it. What isn't a text is compared as JSON.", _ANY
    ),
    "numeric": CaseMetric("The last number of the output is this one.", _TEXTS, None, ("tolerance",)),
    "regex": CaseMetric(
        "The output has a text that the pattern matches (Python's re).", {"type": "string", "minLength": 1}
    ),
    "json-schema": CaseMetric(
        "The output is JSON, alone or in one fence, that meets the schema: a mapping, or the path of a JSON file.",
        {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}]},
    ),
    "f1": CaseMetric(
        "How many words the output shares with this text: token F1, from 0 to 1.", _TEXTS, None, ("separator",)
    ),
    "choice": CaseMetric("The output chooses this option: a letter.", _TEXTS, None, ("letters",)),
    "math": CaseMetric("The answer in the last \\boxed{} equals this one as mathematics.", _TEXTS),
    "gsm8k": CaseMetric("The last number of the output is that of this text, as GSM8K is scored.", _TEXTS),
    "python": CaseMetric(
        "What score(inputs, gold, output) in a Python file returns, from 0 to 1; it runs in the sandbox.",
        {"type": "string", "minLength": 1},
        "file",
        ("gold",),
    ),
    "judge": CaseMetric(
        "A model scores the output by this rubric, from 0 to 1; its calls count, and are recorded.",
        {"type": "string", "minLength": 1},
        "rubric",
        ("gold",),
    ),
}
"""The metrics, the commonest first. ``not-`` in front of a name expects the contrary."""

_OPTIONS: Mapping[str, Fragment] = {
    "tolerance": {
        "type": "number",
        "minimum": 0,
        "description": "numeric: the largest difference that counts as equal.",
    },
    "separator": {
        "type": "string",
        "minLength": 1,
        "description": "f1: divides the text and the output into parts, of which the best pair decides.",
    },
    "letters": {"type": "integer", "minimum": 2, "maximum": 26, "description": "choice: how many options there are."},
    "gold": {"description": "python, judge: an answer that is right, to compare with."},
}
_COMMON: Mapping[str, Fragment] = {
    "at_least": {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": f"The score from which the output is good, from 0 to 1; 1 without it, {JUDGE_AT_LEAST:g} for judge.",
    },
    "output": {
        "type": "string",
        "minLength": 1,
        "description": "The output node that is looked at, where a workflow has several.",
    },
}

EXPECTATION_KEYS: Mapping[str, Fragment] = {
    **{name: {**metric.value, "description": metric.summary} for name, metric in CASE_METRICS.items()},
    **{
        f"{NOT}{name}": {**metric.value, "description": f"Not: {metric.summary}"}
        for name, metric in CASE_METRICS.items()
    },
    **_OPTIONS,
    **_COMMON,
}
"""The keys of an expectation: one metric, and what belongs to it."""

_EXPECTATION: Fragment = {
    "anyOf": [
        {"type": ["string", "number", "boolean"]},
        {
            "type": "object",
            "properties": EXPECTATION_KEYS,
            "additionalProperties": {
                "description": "A field of the output and its right value, compared as its type is; of a list, any of them. Or an"
                " expectation of it, such as `{contains: sorry}`.",
                "anyOf": [
                    {"type": ["string", "number", "boolean", "array"]},
                    {"type": "object", "properties": EXPECTATION_KEYS},
                ],
            },
            "minProperties": 1,
        },
    ]
}
_FILE: Fragment = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "minLength": 1, "description": "A text file, from the folder of the cases file."}
    },
    "required": ["file"],
    "additionalProperties": False,
}
_INPUTS: Fragment = {
    "type": "object",
    "description": "A value for each input of the workflow, by the id of its node: a text, `{file: PATH}`, or any value.",
    "additionalProperties": {"anyOf": [_FILE, {}]},
}
_WORDS: Fragment = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}}]
}
_ANSWERS: Fragment = {
    "type": "object",
    "description": "What people answer, by the id of the Human that asks: a word, yes or no, a number, a text, or a mapping with"
    " the fields of a form.",
}
_SHARED: Mapping[str, Fragment] = {
    "inputs": _INPUTS,
    "answers": _ANSWERS,
    "repeat": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_REPEATS,
        "default": 1,
        "description": "How many times the workflow answers.",
    },
    "min_pass": {
        "type": "integer",
        "minimum": 1,
        "description": "How many of the repeats must pass; all of them without it.",
    },
    "tags": {**_WORDS, "description": "Words by which `merrow test --tag` selects cases."},
    "max_cost": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "US dollars that one answer may cost; a case that needs more fails. A recording costs nothing.",
    },
    "max_seconds": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "Seconds that one answer may take; a case that needs longer fails.",
    },
}
DEFAULT_KEYS: Mapping[str, Fragment] = {
    "metric": {
        "enum": list(CASE_METRICS),
        "default": DEFAULT_METRIC,
        "description": "The metric of an expectation that is a text alone.",
    },
    **_SHARED,
}
CASE_KEYS: Mapping[str, Fragment] = {
    "id": {
        "type": ["string", "integer"],
        "minLength": 1,
        "description": "The name of the case, of its own in this file.",
    },
    "inputs": _INPUTS,
    "answers": _ANSWERS,
    "expect": {
        "description": "What the output must be. All of a list must hold; without any, the workflow must only finish.",
        "anyOf": [*_EXPECTATION["anyOf"], {"type": "array", "items": _EXPECTATION}],
    },
    **{key: fragment for key, fragment in _SHARED.items() if key not in ("inputs", "answers")},
    "xfail": {
        "type": ["string", "boolean"],
        "description": "Why the case is known to fail: it then fails no test, and passing is reported.",
    },
}
CASES: Fragment = {
    "type": "object",
    "properties": {
        "defaults": {
            "type": "object",
            "description": "What applies to all cases that don't say otherwise.",
            "properties": DEFAULT_KEYS,
            "additionalProperties": False,
        },
        "cases": {
            "type": "array",
            "description": "The cases of the workflow beside this file.",
            "items": {
                "type": "object",
                "properties": CASE_KEYS,
                "required": ["id"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["cases"],
    "additionalProperties": False,
}


def cases_schema() -> dict[str, Any]:
    """The JSON Schema of a cases file, as dicts."""
    return {"$schema": DRAFT, "title": "Cases of a Merrow workflow", **_plain(CASES)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value
