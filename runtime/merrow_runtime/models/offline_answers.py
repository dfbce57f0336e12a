"""What the embedded offline model says: valid JSON where a schema asks for it, code that runs where code is asked for, the
result of a calculation, otherwise a placeholder. That it is not a real model is said by who answered, not in the answers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.models.offline_code import program, wanted_function
from merrow_runtime.models.offline_sums import calculation, result
from merrow_runtime.requests import ModelRequest

PLACEHOLDER = "Placeholder for an answer"
"""What every text begins with that is no result of a calculation."""
_ASKS_CODE = re.compile(
    r"(?i)\bpython\b[\w ]*\b(block|code|function|program|script|solution)\b|\bwrite\b.{0,60}\bfunction\b"
)
_ASKS_WORKFLOW = re.compile(r"(?i)\banswer with\b.{0,60}```mermaid")
_WORKFLOW = """\
```mermaid
flowchart TD
    PROBLEM([Problem]) --> ANSWER["Answer the problem."] --> RETURN([Result])
```"""
_PLAN = {
    "agents": [{"id": "worker", "role": "Worker", "prompt": ""}],
    "tasks": [
        {"id": "draft", "objective": "Do the task.", "agent": "worker", "output_format": "", "after": []},
        {"id": "check", "objective": "Correct the draft.", "agent": "worker", "output_format": "", "after": ["draft"]},
    ],
}
_ASKS_JSON = re.compile(r"(?i)\banswer with\b[\w ]*\bjson\b")
_SCHEMA_TOLD = re.compile(r"JSON Schema:\s*(\{.*\}|\[.*\])", re.DOTALL)
_LONGEST_ECHO = 160
_BLOCK = re.compile(r"(?ms)^(`{3,})\w*\n(.*?)\n\1$")
_RESULT = re.compile(r"-?\d{1,40}(\.\d{1,40})?")
_WORD = re.compile(r"\w+")
_VERDICT = re.compile(
    r"(?i)\b(?P<denied>(?:not|never|no|isn't|doesn't|don't|can't)\s+(?:\w+\s+)?)?"
    r"(?:(?P<good>yes|true|good|right|correct|fine|passe[sd]|valid|polite|accept\w*|approv\w*|agree\w*)"
    r"|no|false|bad|wrong|incorrect|fail\w*|invalid|rude|impolite|reject\w*|torn|broken|mistaken?|errors?|unsafe)\b"
)
_SUMS = re.compile(r"\bmath\w*|\bcalculat\w*|\barithmetic\b|\bnumbers?\b|\bsums?\b")
_REST = re.compile(r"other\w*|else|none|unknown|general|any")


def answer_to(request: ModelRequest) -> str:
    """The answer to a request."""
    texts = [message.content for message in request.messages]
    if request.schema is not None and request.schema.name == "merrow_plan":
        return json.dumps(_PLAN)
    if request.schema is not None:
        return json.dumps(_instance(request.schema.schema, request.schema.schema, "", texts), ensure_ascii=False)
    # What asks is the instructions: data further down may speak of code and JSON as it likes.
    instructions = texts[0] if texts else ""
    if _ASKS_WORKFLOW.search(instructions):
        return _WORKFLOW
    if _ASKS_JSON.search(instructions):
        told = _told_schema(instructions)
        value = {"answer": _words(texts)} if told is None else _instance(told, told, "", texts)
        return json.dumps(value, ensure_ascii=False)
    if _ASKS_CODE.search(instructions):
        return f"```python\n{_program(texts)}\n```"
    return _words(texts)


def _data(texts: Sequence[str]) -> str:
    """What a question is about: the fenced blocks of its last message, else all of that."""
    last = texts[-1] if texts else ""
    return "\n".join(block for _, block in _BLOCK.findall(last)) or last


def _words(texts: Sequence[str]) -> str:
    """The result of the calculation that is asked for, or that another node has found; else a placeholder that names the
    question.
    """
    data = _data(texts)
    if _RESULT.fullmatch(data.strip()):
        return data.strip()
    expression = calculation(data)
    if expression is not None:
        return result(expression)
    question = " ".join(data.split())
    if len(question) > _LONGEST_ECHO:
        question = question[:_LONGEST_ECHO].rstrip() + "..."
    return f"{PLACEHOLDER} to: {question}" if question else f"{PLACEHOLDER}."


def _choice(options: Sequence[Any], texts: Sequence[str]) -> Any:
    """The option whose words the data has first; one about calculations where there is one to do; else the one for everything
    else; else the first.
    """
    data = _data(texts).casefold()
    places: list[tuple[int, int]] = []
    for number, option in enumerate(options):
        words = _WORD.findall(option.casefold()) if isinstance(option, str) else []
        matches = [re.search(rf"\b{re.escape(word)}\b", data) for word in words if len(word) > 1]
        at = [match.start() for match in matches if match is not None]
        if at:
            places.append((min(at), number))
    if places:
        return options[min(places)[1]]
    folded = [str(option).casefold() for option in options]
    if calculation(data) is not None:
        wanted = next((number for number, folded_text in enumerate(folded) if _SUMS.search(folded_text)), None)
    else:
        wanted = next((number for number, folded_text in enumerate(folded) if _REST.fullmatch(folded_text)), None)
    return options[wanted or 0]


def _verdict(texts: Sequence[str]) -> bool:
    """Yes, unless the last word of praise or blame in the data is one of blame, or a praise that is denied (``not good``)."""
    verdict = True
    for match in _VERDICT.finditer(_data(texts)):
        verdict = (match["good"] is not None) != (match["denied"] is not None)
    return verdict


def _program(texts: Sequence[str]) -> str:
    return program(wanted_function(texts), texts[-1] if texts else "")


def _told_schema(text: str) -> Mapping[str, Any] | None:
    """A JSON Schema that the instructions spell out."""
    match = _SCHEMA_TOLD.search(text)
    if match is None:
        return None
    try:
        schema = json.JSONDecoder().raw_decode(match[1])[0]
    except ValueError:
        return None
    return schema if isinstance(schema, dict) else None


def _instance(schema: object, root: Mapping[str, Any], name: str, texts: Sequence[str], depth: int = 0) -> Any:
    """A value that is valid for a schema of the kinds that answers have. ``name`` is the field it is for."""
    if not isinstance(schema, Mapping) or depth > 20:
        return _words(texts)
    if "$ref" in schema:
        return _instance(_resolved(str(schema["$ref"]), root), root, name, texts, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return _choice(schema["enum"], texts)
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
        count = int(schema.get("minItems") or 1) if schema.get("maxItems") != 0 else 0
        return [_instance(schema.get("items", {}), root, name, texts, depth + 1) for _ in range(count)]
    if kind in ("number", "integer"):
        return _number(schema, whole=kind == "integer")
    if kind in ("boolean", "null"):
        return _verdict(texts) if kind == "boolean" else None
    return _text(schema, name, texts)


def _text(schema: Mapping[str, Any], name: str, texts: Sequence[str]) -> str:
    about = f"{name} {schema.get('description', '')}"
    is_code = re.search(r"(?i)\b(code|program)\b", about) or any(
        f"{json.dumps(name)}: Python code" in text for text in texts
    )
    text = _program(texts) if is_code else _words(texts)
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
    if low is not None:
        value = max(value, math.ceil(low) if whole else low)
    if high is not None:
        value = min(value, math.floor(high) if whole else high)
    return value


def _resolved(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference inside the schema (``#/$defs/Name``) points to."""
    place: object = root
    for part in reference.removeprefix("#").split("/"):
        if part:
            place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
