"""Named sets of inputs: ``NAME.inputs.yaml`` beside a workflow, a mapping of each set's name to the values of inputs."""

from __future__ import annotations

import json
from typing import Any

from merrow_analysis.definitions.yaml.yaml_text import YamlResult, read_bounded_yaml

Json = dict[str, Any]


class _WrongSetError(Exception):
    """A sentence, and the offset (code points) of the place that it is about."""


def read_input_sets(text: str) -> Json:
    """``{sets: [{name, line, inputs}], problem}``: lines from 0, ``inputs`` by name ``{text}`` or ``{file}``, a path as written.

    ``problem`` is ``{line, message}``, or None; with one there are no sets.
    """
    result = read_bounded_yaml(text)
    if result.error is not None:
        return _refused(text, result.error.message, result.error.offset)
    if result.value is None:
        return {"sets": [], "problem": None}
    try:
        return {"sets": _sets(text, result), "problem": None}
    except _WrongSetError as problem:
        return _refused(text, *problem.args)


def _refused(text: str, message: str, offset: int) -> Json:
    return {"sets": [], "problem": {"line": text.count("\n", 0, offset), "message": message}}


def _sets(text: str, result: YamlResult) -> list[Json]:
    sets: list[Json] = []
    for name, values in _entries(
        result.value, "The file must name sets of inputs, such as `first: {PROBLEM: ...}`.", 0
    ):
        at = _start(result, result.value, name)
        wrong = f"The set {name} must give inputs by name, such as `PROBLEM: What is 6 times 7?`."
        inputs = {key: _value(key, value, _start(result, values, key)) for key, value in _entries(values, wrong, at)}
        sets.append({"name": name, "line": text.count("\n", 0, at), "inputs": inputs})
    return sets


def _entries(value: object, wrong: str, at: int) -> list[tuple[str, object]]:
    if not isinstance(value, dict):
        raise _WrongSetError(wrong, at)
    return [(str(key), entry) for key, entry in value.items()]


def _start(result: YamlResult, container: object, key: str) -> int:
    place = result.place(container, key)
    return 0 if place is None else place[0][0]


def _value(name: str, value: object, at: int) -> Json:
    match value:
        case None:
            return {"text": ""}
        case str():
            return {"text": value}
        case bool() | int() | float():
            return {"text": json.dumps(value)}
        case {"file": str(path), **rest} if not rest:
            return {"file": path}
    message = f"The value of {name} must be text, a number, true or false, or a file such as `{{file: letter.txt}}`."
    raise _WrongSetError(message, at)
