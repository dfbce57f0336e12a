"""Structured answers: what is asked for, and the reader that takes what models write and checks every field."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given as draw
from hypothesis import strategies as st

from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.shapes import ValueShape, is_of, schema_of, shape_of
from merrow_runtime.operators.formats.structured import (
    Field,
    answer_form,
    answer_schema,
    read_fields,
    read_json,
    read_record,
)

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
VALUES: dict[str, tuple[ValueShape, st.SearchStrategy[Any]]] = {
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


FORM = "Answer with one JSON object and nothing else. Its fields, in this order:\n"
OF_TWO = f'{FORM}- "thought": text\n- "answer": a number'
OF_ONE = f'{FORM}- "answer": a number; the number'
OF_TEXT = f'{FORM}- "answer": text'
OF_LIST = f'{FORM}- "items": a list, each item text'
ONE = [Field("answer", NUMBER, "the number")]
SAID = [Field("answer", TEXT)]
ITEMS = [Field("items", shape_of("list[Text]", {}, {}))]
NO_OBJECT = "The answer is no JSON object."
EMPTY = ("Field `answer` of the answer is empty.", "Field `answer` must not be empty.")


@pytest.mark.parametrize(
    ("fields", "text", "value"),
    [
        (FIELDS, '{"thought": "", "answer": 1}', {"thought": "", "answer": 1}),
        (FIELDS, '{"thought": "a", "Thought": "b", " ANSWER ": 2}', {"thought": "a", "answer": 2}),
        (
            FIELDS,
            '{"a": 1} {"thought": "x", "answer": 3} {"thought": "y", "answer": 4}',
            {"thought": "x", "answer": 3},
        ),
        (FIELDS, 'a { b {"thought": "x", "answer": 3} c', {"thought": "x", "answer": 3}),
        (FIELDS, '[{"thought": "x", "answer": 3}]', {"thought": "x", "answer": 3}),
        (FIELDS, "thought: a\nanswer: 3\nthought: b", {"thought": "b", "answer": 3}),
        (FIELDS, "thought: a\nb\n\nanswer = 3", {"thought": "a\nb", "answer": 3}),
        (FIELDS, "> - **answer** : 3\n# _thought_ = c", {"thought": "c", "answer": 3}),
        (FIELDS, "<answer>3</answer><thought>\n\n a \n</thought>", {"thought": "a", "answer": 3}),
        (FIELDS, "</answer><thought >a</thought\n><answer>3</answer>", {"thought": "a", "answer": 3}),
        (
            FIELDS,
            '```json\n{"thought": "x"}\n```\n```\n{"answer": 1, "thought": "b"}\n```',
            {"thought": "b", "answer": 1},
        ),
        (ONE, "answer: 7", {"answer": 7}),
        (ONE, "```\n3\n```", {"answer": 3}),
        (SAID, "said", {"answer": "said"}),
        (SAID, "```\ncode\n```", {"answer": "code"}),
        (SAID, '{"answer": "x"}', {"answer": "x"}),
        ([Field("answer", TEXT, blank=True)], "", {"answer": ""}),
        (ITEMS, '["a", "b"', {"items": ["a", "b"]}),
        (ITEMS, "x [1] y", {"items": ["1"]}),
        *(
            (
                [Field("answer", NUMBER), Field("b", TEXT)],
                "{x} " * bad + '{"answer": 3, "b": "z"}',
                {"answer": 3, "b": "z"},
            )
            for bad in (1, 49, 60)
        ),
    ],
)
def test_the_likeliest_reading_of_an_answer_counts(fields: list[Field], text: str, value: dict[str, Any]) -> None:
    assert read_fields(text, fields) == value
    assert list(read_fields(text, fields)) == [field.name for field in fields]


@pytest.mark.parametrize(
    ("fields", "text", "why", "advice"),
    [
        (FIELDS, "", NO_OBJECT, OF_TWO),
        (FIELDS, "answer: 3", NO_OBJECT, OF_TWO),
        (FIELDS, "<answer>3</answer>", NO_OBJECT, OF_TWO),
        (FIELDS, "<thought>a<answer>3</answer>", NO_OBJECT, OF_TWO),
        (FIELDS, "<thought>a</thought></answer><answer>3", NO_OBJECT, OF_TWO),
        (FIELDS, "<thought>a</thought>3</answer>", NO_OBJECT, OF_TWO),
        (FIELDS, '{"thought": "so"}', "The answer has no field `answer`.", OF_TWO),
        (FIELDS, '{"x": 1}', "The answer has no field `thought`, `answer`.", OF_TWO),
        (FIELDS, '{"thought": "so", "answer": "many"}', "Field `answer` of the answer: `many` is not a number.", None),
        (FIELDS, '{"thought": "so", "answer": null}', "Field `answer` of the answer: `null` is not a number.", None),
        (
            FIELDS,
            '{"x": 1} {"thought": "x", "answer": "y"}',
            "The answer has no field `thought`, `answer`.",
            OF_TWO,
        ),
        (ONE, "", "Field `answer` of the answer: `` is not a number.", f"{OF_ONE}\nField `answer`: Give a number."),
        (
            ONE,
            "```\n3\n```\n```\n4\n```",
            "Field `answer` of the answer: ```` 3 ``` ``` 4 ```` is not a number.",
            f"{OF_ONE}\nField `answer`: Give a number.",
        ),
        (ONE, '{"x": 3}', "The answer has no field `answer`.", OF_ONE),
        (SAID, "", EMPTY[0], f"{OF_TEXT}\n{EMPTY[1]}"),
        (SAID, '{"answer": ""}', *EMPTY),
        (ITEMS, "a, b", "The answer is no JSON.", f"{OF_LIST}\nAnswer with valid JSON and nothing else."),
        (ITEMS, "{}", "The answer has no field `items`.", OF_LIST),
    ],
)
def test_what_is_wrong_with_an_answer_and_what_is_asked_for_instead(
    fields: list[Field], text: str, why: str, advice: str | None
) -> None:
    with pytest.raises(AnswerFailure) as caught:
        read_fields(text, fields)
    assert (str(caught.value), caught.value.advice) == (why, advice or "Field `answer`: Give a number.")


def test_only_so_much_is_repaired_as_takes_no_time() -> None:
    """The bounds are on characters, on characters times the depth of brackets, and times their number."""
    for begin, most in (
        ('{"b": "", "answer": "', 50_000),
        ('{"b": "", "answer": ' + "[" * 9 + '"', 20_000),
        ('{"b": "", "answer": [' + "[]," * 48 + '"', 20_000),
        ('{"b": "}]}]", "answer": ' + "[" * 13 + '"', 20_000),
    ):
        fields = [Field("answer", TEXT if begin.endswith(' "') else JSON), Field("b", TEXT, blank=True)]
        text = begin + "x" * (most - len(begin))
        assert list(read_fields(text, fields)) == ["answer", "b"]
        with pytest.raises(AnswerFailure, match=r"^The answer is no JSON object\.$"):
            read_fields(text + "x", fields)


def test_the_form_of_an_answer_says_each_field_in_words_and_as_a_schema() -> None:
    fields = [Field("a", TEXT, "what is said"), Field('b "c"', NUMBER)]
    assert answer_form(fields) == f'{FORM}- "a": text; what is said\n- "b \\"c\\"": a number'
    made = answer_schema("form", fields)
    assert (made.name, made.schema) == (
        "form",
        {
            "type": "object",
            "properties": {"a": {"type": "string", "description": "what is said"}, 'b "c"': {"type": "number"}},
            "required": ["a", 'b "c"'],
            "additionalProperties": False,
        },
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("null", None),
        ("[]", []),
        ("x [1, 2", [1, 2]),
        ("x {'a': 1} [2]", [{"a": 1}, [2]]),
        ("```\n[1]\n```", [1]),
        ("As said:\n```\nx\n```\n```\n[1]\n```", [1]),
        ('"\\ud83d"', "\ufffd"),
        ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a":1}x', {"a": 1}),
    ],
)
def test_json_is_found_in_an_answer(text: str, value: object) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize("text", ["", "x", "x {} y", "NaN", "{", "x [] y"])
def test_what_holds_no_json_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(AnswerFailure) as caught:
        read_json(text)
    assert (str(caught.value), caught.value.advice) == (
        "The answer is no JSON.",
        "Answer with valid JSON and nothing else.",
    )


PLACE = shape_of("Place", {"Place": "Json"}, {}, {"Place": {"city": "Text", "rank": "Number"}}, {})
OF_PLACE = f'{FORM}- "city": text\n- "rank": a number'


@pytest.mark.parametrize(
    ("text", "why", "advice"),
    [
        ("", NO_OBJECT, ""),
        (
            '{"city": "Rome"}',
            "Field `rank` of the answer is missing.",
            'Give an object with the fields "city" (text), "rank" (a number) and no others; `rank` is missing.\n',
        ),
        (
            '{"city": "Rome", "rank": "x"} {"city": "Rome"}',
            "Field `rank` of the answer is wrong: `x` is not a number.",
            "Field `rank`: Give a number.\n",
        ),
    ],
)
def test_a_record_that_does_not_fit_says_its_field(text: str, why: str, advice: str) -> None:
    with pytest.raises(AnswerFailure) as caught:
        read_record(text, PLACE)
    assert (str(caught.value), caught.value.advice) == (why, f"{advice}{OF_PLACE}")
    assert read_record('{"x": 1} {"city": "Rome", "rank": 1}', PLACE) == {"city": "Rome", "rank": 1}
