"""Adds a case to the text of a cases file, in the file's own habits and with everything else as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from merrow_analysis.cases.cases_reader import read_cases
from merrow_analysis.definitions.yaml.yaml_text import read_bounded_yaml
from merrow_analysis.edits.yaml_write import block_text, flow, quoted, word
from merrow_analysis.text import line_ending, split_lines

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_MOST_WORDS = 6


class UnwritableCaseError(Exception):
    """The text can't take another case; the sentence says why."""


def new_id(text: str, inputs: Mapping[str, Any]) -> str:
    """An id for a case with these inputs that no other case of the file has: their first words."""
    first = next((value for value in inputs.values() if isinstance(value, str) and value.strip()), "case")
    words = [match[0].casefold() for match in _WORD.finditer(first[:200])][:_MOST_WORDS]
    base = "-".join(words)[:60] or "case"
    taken = {case.id for case in read_cases(text).cases}
    names = (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def with_case(text: str, case_id: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> str:
    """The text with another case at its end, which expects exactly ``outputs``.

    Raises `UnwritableCaseError`.
    """
    lines = split_lines(text)
    ending = line_ending(lines)
    result = read_bounded_yaml(text)
    if result.error is not None:
        raise UnwritableCaseError("it is not valid YAML")
    value = result.value
    if value is None:
        body = "\n".join(["cases:", *_case(case_id, inputs, outputs, "  ", "    "), ""])
        return _joined(text, len(text), body, ending)
    if not isinstance(value, dict) or (value.get("cases") is not None and not isinstance(value["cases"], list)):
        raise UnwritableCaseError("it has no list `cases:`")
    listed = value.get("cases")
    if not listed:
        if listed == [] or "cases" in value:
            raise UnwritableCaseError("its `cases:` has no item to put another one behind; write the first one by hand")
        body = "\n".join(["cases:", *_case(case_id, inputs, outputs, "  ", "    "), ""])
        return _joined(text, len(text), body, ending)
    dash, inside, end = _habits(text, result.places(("cases", len(listed) - 1)))
    gap = [""] if _has_gaps(text, result.places(("cases", len(listed) - 1))) else []
    body = "\n".join([*gap, *_case(case_id, inputs, outputs, dash, inside), ""])
    changed = _joined(text, end, body, ending)
    before, after = read_bounded_yaml(text), read_bounded_yaml(changed)
    same = isinstance(after.value, dict) and isinstance(after.value.get("cases"), list)
    if not same or after.value["cases"][: len(listed)] != before.value["cases"]:  # type: ignore[index]
        raise UnwritableCaseError("a case behind its last one would change that one")
    return changed


def _joined(text: str, at: int, body: str, ending: str) -> str:
    front = text[:at]
    if front and not front.endswith(("\n", "\r")):
        front += ending
    return front + body.replace("\n", ending) + text[at:]


def _habits(text: str, places: tuple[tuple[int, int], tuple[int, int]] | None) -> tuple[str, str, int]:
    """How the last item is indented (its dash, and what is in it), and the offset of the line behind it."""
    if places is None:
        raise UnwritableCaseError("its last case has no place of its own")
    start, end = places[1]
    line = text.rfind("\n", 0, start) + 1
    head = text[line:start]
    match = re.fullmatch(r"([ ]*)-([ ]+)", head)
    if match is None:
        raise UnwritableCaseError("its cases are not a list with a line for each `- id:`")
    last = len(text[:end].rstrip())
    behind = text.find("\n", last)
    return match[1], " " * len(head), len(text) if behind < 0 else behind + 1


def _has_gaps(text: str, places: tuple[tuple[int, int], tuple[int, int]] | None) -> bool:
    """Whether a blank line is above the last case."""
    if places is None:
        return False
    above = text[: text.rfind("\n", 0, places[1][0]) + 1].splitlines()
    return bool(above) and not above[-1].strip()


def _case(case_id: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], dash: str, inside: str) -> list[str]:
    mark = dash + "-" + inside[len(dash) + 1 :]
    lines = [f"{mark}id: {word(case_id) or quoted(case_id)}"]
    if inputs:
        lines.append(f"{inside}inputs:")
        lines += [
            f"{inside}  {word(name) or quoted(name)}: {_value(value, inside + '    ')}"
            for name, value in inputs.items()
        ]
    if outputs:
        lines.append(f"{inside}expect:")
        for name, value in outputs.items():
            lines.append(f"{inside}  - exact: {_value(value, inside + '      ')}")
            if len(outputs) > 1:
                lines.append(f"{inside}    output: {word(name) or quoted(name)}")
    return lines


def _value(value: Any, indent: str) -> str:
    if isinstance(value, str):
        return block_text(value, indent) or _line(value)
    written = flow(value)
    if value is None or written is None:
        raise UnwritableCaseError("a value of the run can't be written as YAML")
    return written


def _line(text: str) -> str:
    plain = word(text)
    return plain if plain is not None and not plain.startswith('"') else quoted(text)
