"""The constants that a Tool gives parameters: `with: 'limit: 3, grade: used'`, a YAML mapping without its braces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from merrow_analysis.bounded.schema_check import SchemaRefusedError
from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_analysis.bounded.schemas import first_fault
from merrow_analysis.definitions.plain_values import is_json
from merrow_analysis.definitions.yaml.yaml_text import read_bounded_yaml
from merrow_analysis.text import Span
from merrow_analysis.tools.pins import PinnedTool

_LONGEST = 10_000
"""Characters of constants."""
_MOST_STEPS = 3_000
"""Steps for one constant, some 10 ms: a workflow may have hundreds of them."""
_MOST_ANSWERS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """Constants by the parameters that they are for. ``keys`` and ``spans`` are the places of the names and of the values in the
    text. ``problem`` is the end of a sentence about the place ``at``: why there are none. Shared: don't change it.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Span] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)
    problem: str | None = None
    at: Span = (0, 0)


@lru_cache(maxsize=256)
def read_constants(text: str) -> Constants:
    """Read the text of a ``with``. Never raises."""
    whole = 0, len(text)
    if len(text) > _LONGEST:
        return Constants(problem=f"has more than {_LONGEST:,} characters; let an edge bring what is long", at=whole)
    result = read_bounded_yaml(f"{{{text}\n}}")
    if result.error is not None:
        start = max(0, min(result.error.offset - 1, len(text)))
        return Constants(problem="can't be read; write `name: value, other: value`", at=(start, len(text)))
    values = result.value
    if not isinstance(values, dict) or not is_json(values):
        return Constants(problem="is not a list of `name: value`", at=whole)
    places = {key: places for key in values if (places := result.place(values, key)) is not None}
    nothing = next((key for key in values if key not in places or places[key][1][0] == places[key][1][1]), None)
    if nothing is not None:
        (start, end), _ = places.get(nothing, ((1, len(text) + 1), whole))
        return Constants(problem=f"gives `{nothing}` no value; write `{nothing}: value`", at=(start - 1, end - 1))
    return Constants(
        values,
        {key: (start - 1, end - 1) for key, ((start, end), _) in places.items()},
        {key: (start - 1, end - 1) for key, (_, (start, end)) in places.items()},
    )


class ConstantCheck:
    """Whether constants fit the parameters of a tool. What was asked before is known: each keystroke asks again."""

    def __init__(self, tool: PinnedTool) -> None:
        self._schema = {**tool.input_schema, "required": []}
        self._answers: dict[tuple[str, str], str | None] = {}

    @cached_property
    def _is_schema(self) -> bool:
        return problem_of_schema(self._schema) is None

    def why_not(self, name: str, value: object) -> str | None:
        """Why the schema does not allow a value for a parameter, as the end of a sentence; None where it does, and where it can't
        be worked through.
        """
        key = name, json.dumps(value, sort_keys=True)
        if key not in self._answers:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            self._answers[key] = self._find(name, value)
        return self._answers[key]

    def _find(self, name: str, value: object) -> str | None:
        if not self._is_schema:
            return None
        try:
            fault = first_fault(self._schema, {name: value}, _MOST_STEPS)
        except SchemaRefusedError:
            return None
        return None if fault is None else fault.message
