"""The metrics regex and json-schema: patterns and schemas that are wrong, hostile, or right."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.optimizer.evaluation.scoring import INVALID, differing, item, scores, values

from merrow_optimizer.evaluation.data import DataError
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.scores import InvalidItemError

Row = tuple[Any, Any, float | str, str]

PATTERNS: list[Row] = [
    (r"\d{4}", "in 1984", 1.0, "found"),
    (r"^\d{4}$", "in 1984", 0.0, "not all of it"),
    (r"(?i)sorry", "SORRY", 1.0, "flags"),
    (["a", "b"], "b", 1.0, "one of two"),
    ("x", "y" * 1_000_001, 0.0, "too long"),
    (r"(a+)+$", "a" * 60 + "b", INVALID, "takes forever"),
    (r"(x+x+)+y", "x" * 60, INVALID, "takes forever"),
    ("a", "a", 1.0, "the next item is scored"),
    ("a", "\ud800a\x00", 1.0, "odd characters"),
]


@pytest.mark.slow
def test_patterns() -> None:
    assert differing("regex", PATTERNS) == []


@pytest.mark.slow
def test_a_pattern_for_all_items() -> None:
    assert values("regex", [(None, "7"), (None, "x")], pattern=r"\d") == [1.0, 0.0]
    [score] = scores("regex", [(item(None), "a" * 50 + "b")], pattern="(a+)+$")
    assert isinstance(score, InvalidItemError)
    assert str(score) == "the comparison took longer than 2 s"


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(" * 5000, r"\\" * 3 + "\\", "a{2,1}", 5])
def test_bad_patterns_are_data_errors(pattern: Any) -> None:
    with pytest.raises(DataError, match="The pattern is wrong"):
        metric("regex", pattern=pattern)
    assert str(metric("regex").fault(item(pattern))).startswith("the gold pattern is wrong")


@pytest.mark.slow
def test_what_is_still_asked_when_an_item_hangs_is_cancelled_and_leaves_no_process() -> None:
    async def main() -> None:
        scored_by = metric("regex", pattern="(a+)+$")
        outputs = ["a" * 50 + "b" if number == 3 else "b" for number in range(8)]
        try:
            await asyncio.gather(*(scored_by.score(item(None), output) for output in outputs))
        finally:
            await scored_by.close()

    with pytest.raises(InvalidItemError):
        asyncio.run(main())


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SCHEMAS: list[Row] = [
    (SCHEMA, '{"n": 1}', 1.0, "met"),
    (SCHEMA, {"n": 1}, 1.0, "a value"),
    (SCHEMA, 'Here:\n```json\n{"n": 1}\n```', 1.0, "in a fence"),
    (SCHEMA, "{'n': 1}", 0.0, "not JSON"),
    (SCHEMA, '{"n": "1"}', 0.0, "another type"),
    (SCHEMA, "{}", 0.0, "missing"),
    (SCHEMA, '{"n": NaN}', 0.0, "not JSON"),
    (SCHEMA, "[" * 500_000, 0.0, "deep"),
    (SCHEMA, '{"n":' * 900 + "1" + "}" * 900, 0.0, "deep"),
    (SCHEMA, "", 0.0, "nothing"),
    ({"type": "string", "pattern": "^(a+)+$"}, json.dumps("a" * 60 + "b"), INVALID, "a pattern that takes forever"),
    ({"type": "array", "uniqueItems": True}, json.dumps([{"a": n} for n in range(20_000)]), INVALID, "quadratic"),
    (SCHEMA, '{"n": 2}', 1.0, "the next item is scored"),
]


@pytest.mark.slow
def test_schemas() -> None:
    assert differing("json-schema", SCHEMAS) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"$ref": "https://example.org/x.json"},
        {"properties": {"a": {"$ref": "x.json"}}},
        {"minimum": "a"},
    ],
)
def test_bad_schemas_are_data_errors(tmp_path: Path, schema: Any) -> None:
    with pytest.raises(DataError, match="The schema is wrong"):
        metric("json-schema", schema=schema)
    assert str(metric("json-schema").fault(item(schema))).startswith("the gold schema is wrong")
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(schema))
    with pytest.raises(DataError, match="The schema is wrong"):
        metric("json-schema", schema=file)


def test_a_schema_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    assert values("json-schema", [(None, '{"n": 1}'), (None, "{}")], schema=str(file)) == [1.0, 0.0]
    file.write_text("{\n]")
    with pytest.raises(DataError, match=r"schema\.json:2: `schema`: The schema isn't JSON"):
        metric("json-schema", schema=file)
    with pytest.raises(DataError, match="can't be read: No such file"):
        metric("json-schema", schema=tmp_path / "none.json")
    assert metric("json-schema").fault(item([])) == "the gold schema is wrong: it must be an object"
