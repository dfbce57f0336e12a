"""Types: what fits where, closest common kinds, and declarations of new ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.definitions.declared_types import declare_types
from merrow_analysis.definitions.types import (
    BUILT_IN_TYPES,
    TypeExpressionError,
    item_of,
    list_of,
)

TABLE, _ = declare_types({"Draft": "Text", "Essay": "Draft", "Route": ["math", "code"], "Verdict": "Bool"})
TYPES = st.recursive(st.sampled_from(sorted(TABLE.parents)), lambda inner: inner.map(list_of), max_leaves=3)


@pytest.mark.parametrize(
    ("given_type", "wanted", "fits"),
    [
        ("Code", "Text", True),
        ("Text", "Code", False),
        ("Problem", "Any", True),
        ("Any", "Text", False),
        ("Essay", "Text", True),
        ("Route", "Text", True),
        ("Verdict", "Bool", True),
        ("Bool", "Text", False),
        ("list[Code]", "list[Text]", True),
        ("list[Code]", "Text", False),
        ("list[Code]", "Any", True),
    ],
)
def test_a_type_fits_where_it_is_a_kind_of_what_is_wanted(given_type: str, wanted: str, fits: bool) -> None:
    assert TABLE.fits(given_type, wanted) is fits


@pytest.mark.parametrize(
    ("types", "common"),
    [
        (["Code", "Code"], "Code"),
        (["Code", "Text"], "Text"),
        (["Answer", "Code"], "Text"),
        (["Essay", "Draft"], "Draft"),
        (["Bool", "Text"], "Any"),
        (["list[Code]", "list[Plan]"], "list[Text]"),
        (["list[Code]", "Code"], "Any"),
        ([], "Any"),
    ],
)
def test_the_closest_common_kind(types: list[str], common: str) -> None:
    assert TABLE.common(types) == common


@given(st.lists(TYPES, min_size=1, max_size=4), TYPES)
def test_all_fit_their_common_kind_and_nothing_nearer(types: list[str], other: str) -> None:
    common = TABLE.common(types)
    assert all(TABLE.fits(type_, common) for type_ in types)
    if all(TABLE.fits(type_, other) for type_ in types):
        assert TABLE.fits(common, other)


@given(TYPES, TYPES, TYPES)
def test_fitting_is_an_order(a: str, b: str, c: str) -> None:
    assert TABLE.fits(a, a)
    if TABLE.fits(a, b) and TABLE.fits(b, c):
        assert TABLE.fits(a, c)
    if TABLE.fits(a, b) and TABLE.fits(b, a):
        assert a == b


@given(TYPES)
def test_expressions_are_read_back(type_: str) -> None:
    assert TABLE.parse(type_) == type_
    assert TABLE.parse(f" {type_.replace('[', ' [ ').replace(']', ' ] ')}") == type_
    assert item_of(list_of(type_)) == type_


@given(st.text(max_size=40))
def test_any_text_is_a_type_or_a_sentence(text: str) -> None:
    try:
        assert TABLE.fits(TABLE.parse(text), "Any")
    except TypeExpressionError as error:
        assert str(error).endswith((".", "?"))  # noqa: PT017 (either outcome is right)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("Cod", "did you mean `Code`?"), ("list", "list[Text]"), ("", "missing"), ("list[Text", "not closed")],
)
def test_a_wrong_expression_says_what_to_do(text: str, hint: str) -> None:
    with pytest.raises(TypeExpressionError, match=hint.replace("[", r"\[").replace("?", r"\?")):
        BUILT_IN_TYPES.parse(text)


@pytest.mark.parametrize(
    ("declared", "name", "word"),
    [
        ({"Code": "Text"}, "Code", "built-in"),
        ({"Draft": "Txet"}, "Draft", "Text"),
        ({"One": "Two", "Two": "One"}, "One", "One -> Two -> One"),
        ({"Route": ["a", "A"]}, "Route", "twice"),
        ({"Route": [True, False]}, "Route", "quotes"),
        ({"Route": []}, "Route", "no words"),
        ({"Draft": 3}, "Draft", "kind of"),
        ({"list": "Text"}, "list", "can't name a type"),
    ],
)
def test_a_wrong_declaration_is_told_at_its_name(declared: dict[str, object], name: str, word: str) -> None:
    _, problems = declare_types(declared)
    assert [problem.path for problem in problems] == [("types", name)]
    assert word in problems[0].message
