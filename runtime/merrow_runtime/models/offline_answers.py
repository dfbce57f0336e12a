"""What the embedded offline model says: valid JSON where a schema asks for it, code that runs where code is asked for,
otherwise a plain statement that it is no real model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.models.offline_code import program, wanted_function
from merrow_runtime.requests import ModelRequest

NOTICE = "This answer comes from Merrow's embedded offline model, which is not a real model: it was made by rule."
_ASKS_CODE = re.compile(
    r"(?i)\bpython\b[\w ]*\b(block|code|function|program|script|solution)\b|\bwrite\b.{0,60}\bfunction\b"
)
_ASKS_WORKFLOW = re.compile(r"(?i)\banswer with\b.{0,60}```mermaid")
_WORKFLOW = f"""\
{NOTICE}

```mermaid
flowchart TD
    PROBLEM([Problem]) --> ANSWER["Answer the problem."] --> RETURN([Result])
```"""
_ASKS_JSON = re.compile(r"(?i)\banswer with\b[\w ]*\bjson\b")
_SCHEMA_TOLD = re.compile(r"JSON Schema:\s*(\{.*\}|\[.*\])", re.DOTALL)
_LONGEST_ECHO = 160


def answer_to(request: ModelRequest) -> str:
    """The answer to a request."""
    texts = [message.content for message in request.messages]
    if request.schema is not None:
        return json.dumps(_instance(request.schema.schema, request.schema.schema, "", texts), ensure_ascii=False)
    # What asks is the instructions: data further down may speak of code and JSON as it likes.
    instructions = texts[0] if texts else ""
    if _ASKS_WORKFLOW.search(instructions):
        return _WORKFLOW
    if _ASKS_JSON.search(instructions):
        told = _told_schema(instructions)
        value = {"notice": NOTICE} if told is None else _instance(told, told, "", texts)
        return json.dumps(value, ensure_ascii=False)
    if _ASKS_CODE.search(instructions):
        return f"{NOTICE}\n\n```python\n{_program(texts)}\n```"
    question = " ".join(texts[-1].split()) if texts else ""
    if len(question) > _LONGEST_ECHO:
        question = question[:_LONGEST_ECHO].rstrip() + "..."
    return f"{NOTICE} It was asked: {question}"


def _program(texts: Sequence[str]) -> str:
    return program(wanted_function(texts), texts[-1] if texts else "", NOTICE)


def _told_schema(text: str) -> Mapping[str, Any] | None:
    """A JSON Schema that the instructions spell out."""
    found = _SCHEMA_TOLD.search(text)
    if found is None:
        return None
    try:
        schema = json.JSONDecoder().raw_decode(found[1])[0]
    except ValueError:
        return None
    return schema if isinstance(schema, dict) else None


def _instance(schema: object, root: Mapping[str, Any], name: str, texts: Sequence[str], depth: int = 0) -> Any:
    """A value that is valid for a schema of the kinds that answers have. ``name`` is the field it is for."""
    if not isinstance(schema, Mapping) or depth > 20:
        return NOTICE
    if "$ref" in schema:
        return _instance(_resolved(str(schema["$ref"]), root), root, name, texts, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _instance({**schema[key][0]}, root, name, texts, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object" or (kind is None and "properties" in schema):
        properties = schema.get("properties") or {}
        return {key: _instance(inner, root, key, texts, depth + 1) for key, inner in properties.items()}
    if kind == "array":
        count = max(int(schema.get("minItems", 1)), 1) if schema.get("maxItems", 1) > 0 else 0
        return [_instance(schema.get("items", {}), root, name, texts, depth + 1) for _ in range(count)]
    if kind in ("number", "integer"):
        return _number(schema, whole=kind == "integer")
    if kind in ("boolean", "null"):
        return True if kind == "boolean" else None
    return _text(schema, name, texts)


def _text(schema: Mapping[str, Any], name: str, texts: Sequence[str]) -> str:
    about = f"{name} {schema.get('description', '')}"
    is_code = re.search(r"(?i)\b(code|program)\b", about) or any(
        f"{json.dumps(name)}: Python code" in text for text in texts
    )
    text = _program(texts) if is_code else NOTICE
    text = text.ljust(int(schema.get("minLength", 0)), ".")
    return text[: int(schema["maxLength"])] if "maxLength" in schema else text


def _number(schema: Mapping[str, Any], *, whole: bool) -> float | int:
    """0, or the number nearest to it that the bounds allow."""
    step = 1 if whole else 0.5
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + step
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - step
    value: float | int = 0
    if low is not None and value < low:
        value = low
    if high is not None and value > high:
        value = high
    return int(value) if whole else value


def _resolved(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference inside the schema (``#/$defs/Name``) points to."""
    place: object = root
    for part in reference.removeprefix("#").split("/"):
        if part:
            place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
