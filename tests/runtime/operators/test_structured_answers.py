"""Structured answers: what is asked for, and the reader that takes what models write and checks every field."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given as draw
from hypothesis import strategies as st

from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.shapes import Shape, is_of, schema_of, shape_of
from merrow_runtime.operators.formats.structured import Field, answer_schema, read_fields, read_json

WORDS = {"Route": ("math", "code", "other")}
TEXT, NUMBER, BOOL, ROUTE, LIST, JSON = (
    shape_of(type_, {}, WORDS) for type_ in ("Text", "Number", "Bool", "Route", "list[Number]", "Json")
)

PLAIN = st.characters(codec="utf-8", exclude_characters="\x00")
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | FINITE | st.text(PLAIN, max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(PLAIN, max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
VALUES: dict[str, tuple[Shape, st.SearchStrategy[Any]]] = {
    "text": (TEXT, st.text(PLAIN, min_size=1).map(str.strip).filter(bool)),
    "number": (NUMBER, st.integers(-(10**15), 10**15) | FINITE),
    "flag": (BOOL, st.booleans()),
    "route": (ROUTE, st.sampled_from(WORDS["Route"])),
    "numbers": (LIST, st.lists(st.integers(-99, 99), max_size=4)),
    "data": (JSON, JSON_VALUES),
}


@st.composite
def answers(draw_: st.DrawFn) -> tuple[list[Field], dict[str, Any]]:
    names = draw_(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, unique=True))
    return [Field(name, VALUES[name][0]) for name in names], {name: draw_(VALUES[name][1]) for name in names}


@draw(answers(), st.sampled_from(["bare", "indented", "fenced", "told"]), st.booleans())
def test_what_is_valid_by_the_schema_is_read_back_as_it_was(
    drawn: tuple[list[Field], dict[str, Any]], way: str, ascii_only: bool
) -> None:
    fields, value = drawn
    jsonschema.validate(value, answer_schema("answer", fields).schema)
    text = json.dumps(value, ensure_ascii=ascii_only, indent=2 if way == "indented" else None)
    if way == "fenced":
        text = f"Here it is:\n```json\n{text}\n```\nI hope this helps!"
    elif way == "told":
        text = f"Here it is: {text}"
    assert read_fields(text, fields) == value


@draw(st.one_of(st.text(), JSON_VALUES.map(json.dumps)), answers())
def test_any_answer_is_read_into_valid_values_or_refused_with_a_remedy(
    text: str, drawn: tuple[list[Field], dict[str, Any]]
) -> None:
    fields, _ = drawn
    try:
        found = read_fields(text, fields)
    except AnswerFailure as failure:
        found, said = None, (str(failure), failure.advice)
    if found is None:
        assert all(said)
        return
    assert list(found) == [field.name for field in fields]
    assert all(is_of(found[field.name], field.shape) for field in fields)
    jsonschema.validate(found, answer_schema("answer", fields).schema)


FIELDS = [Field("thought", TEXT, blank=True), Field("answer", NUMBER)]


@pytest.mark.parametrize(
    "text",
    [
        '{"thought": "so", "answer": 1200}',
        '{"Thought": "so", "Answer": "1,200"}',
        "{'thought': 'so', 'answer': 1200,}",
        '{"thought": "so", "answer": 1200',
        '{"thought": "so", "answer": 1200} That is it.',
        'First {x}. Then:\n```\n{"thought": "so", "answer": 1200}\n```',
        "<thought>so</thought>\n<answer> 1200 </answer>",
        "<THOUGHT>so</THOUGHT><Answer>+1200.0</Answer>",
        "thought: so\nanswer: 1200",
        "**Thought:** so\n**Answer:** 1,200",
        '```json\n{"other": 1}\n```\n```json\n{"thought": "so", "answer": 1200}\n```',
    ],
)
def test_answers_as_models_write_them(text: str) -> None:
    assert read_fields(text, FIELDS) == {"thought": "so", "answer": 1200}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("The answer is 4.", "no JSON object"),
        ('{"thought": "so"}', "no field `answer`"),
        ('{"thought": "so", "answer": "many"}', "is not a number"),
        ('{"thought": "so", "answer": null}', "is not a number"),
        ('{"thought": "so", "answer": true}', "is not a number"),
        ('{"thought": "so", "answer": NaN}', "not a number|no field"),
        ('{"thought": "so", "answer": 1e999}', "not a number|does not have"),
        ('{"thought": "so", "answer": [1]}', "is not a number"),
    ],
)
def test_unusable_answers_say_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(AnswerFailure, match=why) as caught:
        read_fields(text, FIELDS)
    assert "answer" in caught.value.advice


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("Route", "Math.", "math"),
        ("Route", '"CODE"', "code"),
        ("Bool", "Yes", True),
        ("Bool", "**failed**", False),
        ("Number", "-1,234.5", -1234.5),
        ("Number", "`7`", 7),
        ("list[Number]", "[1, 2]", [1, 2]),
        ("list[Number]", "```json\n[1, 2]\n```", [1, 2]),
    ],
)
def test_a_single_field_may_come_bare(type_: str, text: str, value: object) -> None:
    assert read_fields(text, [Field("response", shape_of(type_, {}, WORDS))]) == {"response": value}


def test_half_a_character_never_gets_through() -> None:
    found = read_fields('{"thought": "\\ud83d", "answer": 1}', FIELDS)
    assert found["thought"] == "\ufffd"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{" * 40_000,
        "</answer>" + "<answer>" * 20_000,
        '{"a":' * 50_000,
        "9" * 10_000,
        '{"answer": ' + "1" * 6000 + "}",
    ],
)
def test_hostile_answers_are_refused_not_crashed_on(text: str) -> None:
    with pytest.raises(AnswerFailure):
        read_fields(text, FIELDS)


@draw(JSON_VALUES)
def test_json_answers_round_trip(value: object) -> None:
    for text in (json.dumps(value), f"```json\n{json.dumps(value, indent=1)}\n```"):
        assert read_json(text) == value


def test_an_answer_without_json_is_refused() -> None:
    with pytest.raises(AnswerFailure, match="no JSON"):
        read_json("I can't do that.")


@pytest.mark.parametrize("type_", ["Text", "Code", "Bool", "Number", "Route", "list[Route]", "Json"])
def test_every_schema_is_one(type_: str) -> None:
    jsonschema.Draft202012Validator.check_schema(dict(schema_of(shape_of(type_, {}, WORDS))))
