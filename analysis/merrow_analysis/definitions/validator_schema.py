"""What `validators:` in the front matter and the keys of a node that is validated may say: JSON Schema, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Fragment = Mapping[str, Any]

MOST_ATTEMPTS = 20
MOST_VOTES = 25
MOST_GENERATED = 50

_TEXTS: Fragment = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}}]
}

CHECK_KEYS: Mapping[str, Fragment] = {
    "if": {
        "type": "string",
        "minLength": 1,
        "description": "An expression that must hold, such as `len(output) < 200`. It knows `output`, `outputs.PORT` and "
        "`inputs.PORT`.",
    },
    "regex": {
        "type": "string",
        "minLength": 1,
        "description": "A regular expression of Python that must be found in the result.",
    },
    "schema": {
        "type": "object",
        "description": "A JSON Schema that the result must be valid by; a result that is text must be JSON.",
    },
    "python": {
        "type": "string",
        "minLength": 1,
        "description": "Python that defines `check(output, inputs)`, which returns true, or the reason why not; or the path of "
        "a file with it, such as `checks.py`. It runs in the sandbox.",
    },
    "tests": {
        **_TEXTS,
        "description": "Unit tests of a result that is a program: assertions that call its `entry_point`, or `candidate`.",
    },
    "generate": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_GENERATED,
        "description": "How many unit tests a model writes, from what the node is asked, before its first result is tested.",
    },
    "entry_point": {
        "type": "string",
        "minLength": 1,
        "description": "The function of the program that unit tests call.",
    },
    "rubric": {
        "type": "string",
        "minLength": 1,
        "description": "What a model judges the result by: it says whether it passes, why, and what to do better.",
    },
    "votes": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_VOTES,
        "default": 1,
        "description": "How often the model judges by the rubric; more than half of the votes must pass.",
    },
    "model": {
        "type": "string",
        "minLength": 1,
        "description": "The model that judges by the rubric or writes the tests; without it, the node's own.",
    },
}
"""Keys of a check of a validator."""

_CHECK: Fragment = {
    "type": "object",
    "properties": CHECK_KEYS,
    "additionalProperties": False,
    "description": "A check; it has one of `if`, `regex`, `schema`, `python`, `tests` (or `generate`) and `rubric`.",
}

VALIDATORS: Fragment = {
    "type": "object",
    "description": "Validators of this workflow, by name: what results of nodes that say `validate:` must pass.",
    "additionalProperties": {"anyOf": [_CHECK, {"type": "array", "items": _CHECK, "minItems": 1}]},
}

VALIDATION_KEYS: Mapping[str, Fragment] = {
    "validate": {
        **_TEXTS,
        "description": "The validator that the result must pass, one of `validators` in the front matter, or a list of them.",
    },
    "attempts": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ATTEMPTS,
        "default": 3,
        "description": "How often the node tries at most, until its result passes `validate`; each time it knows all earlier "
        "results and what was wrong with them.",
    },
    "on_invalid": {
        "enum": ["fail", "refine", "skip", "accept"],
        "default": "fail",
        "description": "When no attempt passes: the node fails, a revision of the workflow is asked for, the node is skipped, or "
        "the best attempt is used and marked.",
    },
}
"""Keys of a node whose result is validated."""
