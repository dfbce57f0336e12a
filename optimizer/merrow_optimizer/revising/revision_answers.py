"""What a reviser answers: a list of changes, or a whole plan in a planner's form.

An answer comes from a model, and perhaps from what it has read. Nothing in it is believed: what comes out of here is a
list of known changes with texts for fields, and whether they can be made is for others to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_optimizer.planning.json_objects import JsonObject, json_objects
from merrow_optimizer.planning.plan_reader import PlanBounds, read_plan
from merrow_optimizer.planning.task_graph import TaskGraph
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.requests import AnswerSchema

MOST_CHANGES = 100
_LONGEST = 1_000_000
_TEXT = {"type": "string"}
_IDS = {"type": "array", "items": _TEXT}
_PART: Mapping[str, Any] = {"id": _TEXT, "objective": _TEXT, "agent": _TEXT, "format": _TEXT, "after": _IDS}

FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "add": (("id", "objective"), ("agent", "format", "after", "before")),
    "edit": (("id",), ("objective", "agent", "format", "after")),
    "remove": (("id",), ()),
    "bypass": (("id",), ()),
    "redo": (("id",), ()),
    "reassign": (("id", "agent"), ()),
    "split": (("id", "into"), ()),
    "rename": (("id", "to"), ()),
    "link": (("from", "to"), ()),
    "unlink": (("from", "to"), ()),
}
"""The kinds of changes, each with the fields that it must have, and those that it may have."""

REVISION = AnswerSchema(
    "merrow_revision",
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "description": "why, in a sentence"},
            "changes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "do": {"enum": list(FIELDS)},
                        **_PART,
                        "before": _IDS,
                        "into": {
                            "type": "array",
                            "items": {"type": "object", "properties": dict(_PART), "required": ["id", "objective"]},
                        },
                        "to": _TEXT,
                        "from": _TEXT,
                    },
                    "required": ["do"],
                },
            },
        },
        "required": ["reason", "changes"],
    },
)


@dataclass(frozen=True, slots=True)
class RevisionChange:
    """One change. ``do`` is its kind, `FIELDS` says what it has; ``into`` are the parts of a node that is split, as
    changes that add.
    """

    do: str
    id: str = ""
    objective: str | None = None
    agent: str | None = None
    format: str | None = None
    after: tuple[str, ...] | None = None
    before: tuple[str, ...] = ()
    into: tuple[RevisionChange, ...] = ()
    to: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class RevisionAnswer:
    """What is to be changed: ``changes`` one after the other, or a whole ``plan`` of what the workflow is to be."""

    reason: str = ""
    changes: tuple[RevisionChange, ...] = ()
    plan: TaskGraph | None = field(default=None)


def read_answer(text: str, max_nodes: int) -> RevisionAnswer:
    """The first JSON object of an answer, with anything around it. Raises `AnswerFailure` with a sentence for who wrote it."""
    if len(text) > _LONGEST:
        raise AnswerFailure(f"It has {len(text):,} characters; at most {_LONGEST:,} are read.")
    parsed = next(iter(json_objects(text)), None)
    if parsed is None:
        raise AnswerFailure("It has no JSON object; answer {} where nothing is to be changed.")
    if not isinstance(parsed, JsonObject):
        raise AnswerFailure(parsed.why)
    data = parsed.value
    if parsed.repeated:
        raise AnswerFailure(f"The key `{parsed.repeated[0]}` occurs twice in one object.")
    if not data:
        return RevisionAnswer()
    reason = data.get("reason")
    reason = " ".join(reason.split())[:500] if isinstance(reason, str) else ""
    if "changes" in data:
        return RevisionAnswer(reason, _changes(data["changes"]))
    reading = read_plan(text, PlanBounds(max_nodes=max_nodes, needs_agents=False))
    if reading.graph is None:
        raise AnswerFailure(" ".join(reading.problems))
    return RevisionAnswer(reason or "The workflow is planned again.", plan=reading.graph)


def _changes(listed: object) -> tuple[RevisionChange, ...]:
    if not isinstance(listed, list):
        raise AnswerFailure("`changes` must be a list.")
    if len(listed) > MOST_CHANGES:
        raise AnswerFailure(f"It has {len(listed)} changes; write at most {MOST_CHANGES}.")
    return tuple(_change(entry, number) for number, entry in enumerate(listed, 1))


def _change(entry: object, number: int) -> RevisionChange:
    where = f"Change {number}"
    if not isinstance(entry, dict):
        raise AnswerFailure(f"{where} must be an object.")
    do = entry.get("do")
    if not isinstance(do, str) or do not in FIELDS:
        raise AnswerFailure(f"{where}: `do` must be one of {', '.join(FIELDS)}.")
    needed, _ = FIELDS[do]
    for key in needed:
        if entry.get(key) in (None, "", []):
            raise AnswerFailure(f"{where} ({do}) needs `{key}`.")
    return _part(do, entry, f"{where} ({do})")


def _part(do: str, entry: Mapping[str, object], where: str) -> RevisionChange:
    needed, allowed = FIELDS[do]
    texts = {key: _text(entry, key, where) for key in ("id", "objective", "agent", "format", "to", "from")}
    known = {key: value for key, value in texts.items() if key in (*needed, *allowed) and value is not None}
    into: tuple[RevisionChange, ...] = ()
    if do == "split":
        parts = entry.get("into")
        if not isinstance(parts, list) or len(parts) > MOST_CHANGES:
            raise AnswerFailure(f"{where}: `into` must be a list of parts.")
        into = tuple(_added(part, where) for part in parts)
    return RevisionChange(
        do,
        known.get("id", ""),
        known.get("objective"),
        known.get("agent"),
        known.get("format"),
        _ids(entry, "after", where) if "after" in allowed else None,
        (_ids(entry, "before", where) or ()) if "before" in allowed else (),
        into,
        known.get("to", ""),
        known.get("from", ""),
    )


def _added(part: object, where: str) -> RevisionChange:
    if not isinstance(part, dict) or not part.get("id") or not part.get("objective"):
        raise AnswerFailure(f"{where}: each part needs `id` and `objective`.")
    return _part("add", part, where)


def _text(entry: Mapping[str, object], key: str, where: str) -> str | None:
    value = entry.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise AnswerFailure(f"{where}: `{key}` must be a text.")
    return value if key in ("objective", "format") else value.strip()


def _ids(entry: Mapping[str, object], key: str, where: str) -> tuple[str, ...] | None:
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise AnswerFailure(f"{where}: `{key}` must be a list of ids.")
    return tuple(dict.fromkeys(name.strip() for name in value))
