"""The forms of questions to people: of a type, as MCP's schema, and the answers that fit them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.definitions.types import BUILT_IN, TypeTable
from merrow_analysis.people.answers import InvalidAnswerError, answer_and_note, parsed, validated
from merrow_analysis.people.forms import LONGEST_TEXT, Form, UnanswerableError, form_of, is_record, read_form

TABLE = TypeTable(
    {
        **BUILT_IN,
        "Route": "Text",
        "Draft": "Text",
        "Score": "Number",
        "Order": "Json",
        "Address": "Json",
        "Parcel": "Json",
        "Empty": "Json",
        "Noted": "Json",
        "Wish": "Json",
        "Either": "Json",
    },
    {"Route": ("math", "code", "Something else")},
    {
        "Order": {"article": "Text", "count": "Number", "express": "Bool", "by": "Route", "also": "list[Route]"},
        "Address": {"street": "Text", "town": "Text"},
        "Parcel": {"article": "Text", "to": "Address"},
        "Empty": {},
        "Noted": {"sure": "Bool", "note": "Text"},
        "Wish": {"answer": "Text"},
    },
    {"Either": ("Order", "Address")},
)
ORDER = {"article": "tea", "count": 3, "express": False, "by": "math", "also": ["code"]}


@pytest.mark.parametrize(
    ("type_", "draft", "kind"),
    [
        ("Text", False, "text"),
        ("Draft", True, "edit"),
        ("Code", True, "edit"),
        ("Bool", False, "approval"),
        ("Bool", True, "approval"),
        ("Route", False, "choice"),
        ("list[Route]", False, "choices"),
        ("Score", False, "number"),
        ("Order", False, "form"),
        ("Wish", True, "text"),
    ],
)
def test_the_kind_of_a_question_follows_from_the_type_and_survives_its_schema(
    type_: str, draft: bool, kind: str
) -> None:
    form = form_of(type_, TABLE, has_draft=draft)
    assert form.kind == kind
    assert read_form(json.loads(json.dumps(form.schema()))) == form


@pytest.mark.parametrize(
    ("type_", "why"),
    [
        ("Parcel", "its field to is not flat: Address is a record"),
        ("Either", "Either is a union"),
        ("Json", "Json can be anything"),
        ("Any", "Any can be anything"),
        ("list[Text]", "list[Text] is a list, and Text is not an enumeration"),
        ("list[list[Route]]", "list[list[Route]] is a list, and list[Route] is not an enumeration"),
        ("Empty", "Empty has no fields"),
    ],
)
def test_what_is_not_flat_has_no_form(type_: str, why: str) -> None:
    with pytest.raises(UnanswerableError) as problem:
        form_of(type_, TABLE)
    assert str(problem.value) == why


def test_a_form_is_written_as_mcp_has_it() -> None:
    assert form_of("Order", TABLE).schema() == {
        "type": "object",
        "properties": {
            "article": {"title": "Article", "type": "string", "maxLength": LONGEST_TEXT},
            "count": {"title": "Count", "type": "number"},
            "express": {"title": "Express", "type": "boolean"},
            "by": {"title": "By", "type": "string", "enum": ["math", "code", "Something else"]},
            "also": {
                "title": "Also",
                "type": "array",
                "items": {"type": "string", "enum": ["math", "code", "Something else"]},
            },
            "note": {"title": "Note", "description": "Optional.", "type": "string", "maxLength": LONGEST_TEXT},
        },
        "required": ["article", "count", "express", "by", "also"],
    }


def test_a_draft_is_what_is_edited() -> None:
    form = form_of("Text", TABLE, has_draft=True).with_draft("Dear all,")
    assert form.kind == "edit"
    assert form.schema()["properties"]["answer"]["default"] == "Dear all,"
    assert read_form(form.schema()) == form
    with pytest.raises(ValueError, match="draft"):
        form_of("Bool", TABLE).with_draft("x")


@pytest.mark.parametrize(
    ("type_", "text", "values"),
    [
        ("Bool", "approve", {"answer": True}),
        ("Bool", " No ", {"answer": False}),
        ("Bool", "rejected", {"answer": False}),
        ("Bool", '{"answer": true, "note": "but shorter"}', {"answer": True, "note": "but shorter"}),
        ("Bool", '{"answer": true, "note": " "}', {"answer": True}),
        ("Route", "MATH", {"answer": "math"}),
        ("Route", "something else", {"answer": "Something else"}),
        ("list[Route]", "code, math, code", {"answer": ["math", "code"]}),
        ("list[Route]", '["code"]', {"answer": ["code"]}),
        ("list[Route]", "", {"answer": []}),
        ("Number", "1,200", {"answer": 1200}),
        ("Text", '{"answer": "as it is"}', {"answer": '{"answer": "as it is"}'}),
        ("Text", "yes", {"answer": "yes"}),
        ("Order", json.dumps(ORDER), ORDER),
        ("Order", json.dumps({**ORDER, "count": "3", "express": "no", "by": "Code"}), {**ORDER, "by": "code"}),
        ("Noted", '{"sure": true, "note": ""}', {"sure": True, "note": ""}),
    ],
)
def test_a_text_on_a_command_line_is_an_answer(type_: str, text: str, values: object) -> None:
    form = form_of(type_, TABLE)
    assert validated(form, parsed(form, text)) == values


@pytest.mark.parametrize(
    ("type_", "text", "said"),
    [
        ("Bool", "perhaps", "`answer` must be yes or no."),
        ("Route", "maths", "`answer` must be one of `math`, `code`, `Something else`."),
        ("list[Route]", "math, x", "`answer` must be a list of words among `math`, `code`, `Something else`."),
        ("Number", "three", "`answer` must be a number."),
        ("Text", "  ", "`answer` must be a text that is not empty."),
        ("Order", "tea", "Write the fields of the form as JSON:"),
        ("Order", '{"article": "tea", "count": 3}', "`express` is missing; it must be yes or no."),
        (
            "Order",
            json.dumps({**ORDER, "x\x1b[31m": 1}),
            r"The form has no field 'x\x1b[31m'; its fields are `article`,",
        ),
        ("Order", json.dumps({**ORDER, "article": 5}), "`article` must be a text."),
        (
            "Bool",
            json.dumps({"answer": True, "note": "x" * (LONGEST_TEXT + 1)}),
            "`note` must be a text of at most 1,000,000",
        ),
        ("Text", "half a \ud83d", "`answer` must be text, and has a character that is none"),
        ("Number", "9" * 400, "`answer` must be a number."),
    ],
)
def test_what_does_not_fit_is_said_by_field(type_: str, text: str, said: str) -> None:
    form = form_of(type_, TABLE)
    with pytest.raises(InvalidAnswerError) as problem:
        validated(form, parsed(form, text))
    assert said in str(problem.value)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidAnswerError) as problem:
        validated(
            form_of("Order", TABLE), {"article": None, "count": True, "express": [], "by": 1, "also": "math", "to": 1}
        )
    assert [one.field for one in problem.value.problems] == ["article", "count", "express", "by", "also", ""]


@pytest.mark.parametrize("content", [None, [], "yes", 1, True])
def test_an_answer_is_an_object(content: object) -> None:
    with pytest.raises(InvalidAnswerError, match="object"):
        validated(form_of("Bool", TABLE), content)


@pytest.mark.parametrize(
    ("type_", "content", "outputs"),
    [
        ("Bool", {"answer": False, "note": "too long"}, (False, "too long")),
        ("Text", {"answer": "x"}, ("x", "")),
        ("Wish", {"answer": "x", "note": "y"}, ({"answer": "x"}, "y")),
        ("Noted", {"sure": True, "note": "y"}, ({"sure": True, "note": "y"}, "")),
    ],
)
def test_an_answer_has_two_outputs(type_: str, content: object, outputs: object) -> None:
    form = form_of(type_, TABLE)
    assert answer_and_note(form, validated(form, content), whole=is_record(type_, TABLE)) == outputs


SERVER = {
    "type": "object",
    "properties": {
        "note": {"type": "string"},
        "when": {"type": "string", "format": "date", "title": "Day"},
        "mail": {"type": "string", "format": "email", "minLength": 3},
        "page": {"type": "string", "format": "uri"},
        "at": {"type": "string", "format": "date-time"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 8, "default": 2},
        "colour": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#00f", "title": "Blue"}]},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
        "extras": {
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [{"const": "a", "title": "Window"}, {"const": "b", "title": "Aisle"}]},
        },
    },
    "required": ["when"],
}


def test_the_form_of_a_server_is_read_and_answered() -> None:
    form = read_form(SERVER)
    assert [field.name for field in form.fields][-1] == "note"
    assert read_form(form.schema()) == form
    content = {
        "when": "2026-12-24",
        "seats": 2.0,
        "colour": "blue",
        "size": "Small",
        "extras": ["Aisle"],
        "mail": "a@b.c",
    }
    expected = {"when": "2026-12-24", "seats": 2, "colour": "#00f", "size": "s", "extras": ["b"], "mail": "a@b.c"}
    assert validated(form, {**content, "page": "https://a.b", "at": "2026-12-24T18:00:00Z"}) == {
        **expected,
        "page": "https://a.b",
        "at": "2026-12-24T18:00:00Z",
    }
    wrong = {"when": "tomorrow", "seats": 9, "colour": "green", "extras": [], "mail": "a", "page": "x", "at": "noon"}
    with pytest.raises(InvalidAnswerError) as problem:
        validated(form, wrong)
    assert {one.field for one in problem.value.problems} == wrong.keys()


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"$ref": "https://a.b"}}},
        {"type": "object", "properties": {"a": 5}},
        {"type": "object", "properties": {str(n): {"type": "string"} for n in range(200)}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [str(n) for n in range(5000)]}}}},
    ],
)
def test_what_is_no_form_is_refused(schema: object) -> None:
    with pytest.raises(UnanswerableError):
        read_form(schema)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(list(ORDER)), inner)
    ),
    max_leaves=8,
)
FORMS = st.sampled_from(
    [form_of(type_, TABLE) for type_ in ("Bool", "Route", "list[Route]", "Number", "Text", "Order", "Noted")]
)


@given(
    form=FORMS,
    content=JSON | st.fixed_dictionaries({}, optional={"answer": JSON, "note": JSON, **dict.fromkeys(ORDER, JSON)}),
)
def test_whatever_is_sent_either_fits_or_is_refused_and_what_fits_stays(form: Form, content: object) -> None:
    try:
        values = validated(form, content)
    except InvalidAnswerError as problem:
        told = problem.problems
        assert all(problem.message.endswith(".") for problem in told)  # noqa: PT017
        return
    assert {field.name for field in form.fields if field.required} <= values.keys()
    assert validated(form, values) == values
    assert json.loads(json.dumps(values, allow_nan=False)) == values


@given(schema=JSON | st.fixed_dictionaries({"properties": st.dictionaries(st.text(max_size=3), JSON)}))
def test_whatever_a_server_sends_is_a_form_or_is_refused(schema: object) -> None:
    try:
        form = read_form(schema)
    except UnanswerableError:
        return
    assert read_form(form.schema()) == form
