"""Whether values are valid by a JSON Schema (draft 2020-12) that somebody wrote, in a bounded number of steps.

Nothing is fetched, no pattern is searched for without a bound, and what is wrong is put into words only once it is known. The
words are those of the package `jsonschema`, which models and people know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from merrow_analysis.bounded.allowance import Allowance, TooMuchError
from merrow_analysis.bounded.patterns import PatternError
from merrow_analysis.bounded.schema_check import STEP, Path, SchemaCheck, SchemaRefusedError
from merrow_analysis.bounded.schema_keywords import KEYWORDS
from merrow_analysis.bounded.schema_words import cut

MOST_STEPS = 100_000
"""Some 0.3 s, for which whatever else the process serves may have to wait."""


class SchemaFault(NamedTuple):
    """What is wrong with a value: where in it, and in words."""

    path: Path
    message: str

    @property
    def place(self) -> str:
        """Where it is, such as ``names/0``; empty for the whole value."""
        return "/".join(str(part) for part in self.path)


def first_fault(schema: Mapping[str, Any], value: object, steps: int = MOST_STEPS) -> SchemaFault | None:
    """What is wrong first with a value; None where it is valid by a schema that `problem_of_schema` has nothing against.

    Raises `SchemaRefusedError` where the schema can't be worked through in so many ``steps``.
    """
    allowance = Allowance(steps * STEP, f"takes more than {steps:,} steps; write a simpler one")
    try:
        fault = SchemaCheck(schema, KEYWORDS, allowance).fault(schema, value, ())
        return None if fault is None else SchemaFault(fault.path, cut(fault.words()))
    except TooMuchError as problem:
        raise SchemaRefusedError(str(problem)) from None
    except PatternError as problem:
        raise SchemaRefusedError(f"has a `pattern` that can't be used: {problem}") from None
