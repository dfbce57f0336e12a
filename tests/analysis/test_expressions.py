"""Expressions of workflows: their values are Python's, and none keeps a process at work."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.bounded.allowance import TooMuchError
from merrow_analysis.bounded.expressions import FUNCTIONS, WRONG, evaluate
from merrow_analysis.definitions.if_expressions import read_expression

NAMES = {"score": 4, "text": "seven 7", "words": ["a", "b"], "done": True, "part": {"size": 3, "inner": {"name": "x"}}}
PYTHON = {"__builtins__": {}, **{name: __builtins__[name] for name in FUNCTIONS}}  # type: ignore[index]
ATOMS = st.sampled_from(
    ["score", "text", "words", "done", "part['size']", "part['inner']['name']", "words[0]", "3", "0", "-2", "2.5", "'seven'",
     "True", "None", "len(words)", "int('7')", "int('ff', base=16)", "str(score)", "str(part)", "float(score)", "missing",
     "words[1:]", "text[::-1]", "f'{score}'", "f'{score:>6}|{text!r}'", "'%05d' % score", "text.upper()", "text.split()",
     "text.replace('e', 'xyz')", "text.strip('7 ')", "'-'.join(words)", "text.rfind('e')", "text.startswith('sev')",
     "part.get('size')", "words.count('a')", "'x'.zfill(4)", "'é'.center(7, '*')", "text.partition(' ')[2]"]
)  # fmt: skip
SIGNS = [
    "<",
    ">",
    "<=",
    ">=",
    "==",
    "!=",
    "+",
    "-",
    "*",
    "and",
    "or",
    "in",
    "/",
    "//",
    "%",
    "**",
    "<<",
    "&",
    "|",
    "^",
    "is",
]
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(SIGNS), inner).map(lambda three: f"({three[0]} {three[1]} {three[2]})"),
        inner.map(lambda one: f"(not {one})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} if {three[1]} else {three[2]})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} < {three[1]} < {three[2]})"),
    ),
    max_leaves=4,
)
HOSTILE = {
    "powers": "3999999**3999999 > 1",
    "powers that undo each other": "5**3999998 // 3**2600000",
    "products": "**".join(["9"] * 3),
    "a product of many": "*".join(["(10**4000)"] * 150),
    "shifts": "1 << 999999999",
    "a wide f-string": "f'{x:>999999999}'",
    "a wide f-string, nested": "f'{x:>{n}}'",
    "a wide percent": "'%99999999d' % 1",
    "a precise percent": "'%.99999999f' % 1",
    "repeats": "'x' * 999999999",
    "repeats of repeats": "'x' * 5000 * 5000 * 5000",
    "a doubled text": " + ".join(["text"] * 60),
    "padding": "x.ljust(999999999)",
    "zeros": "x.zfill(999999999)",
    "replacing nothing": "text.replace('', text)",
    "joining": "text.join(text)",
    "looking from behind": "text.rfind(half)",
    "stripping": "text.strip(text)",
    "a long number": "int(digits)",
    "a long float": "float(digits)",
    "a list of repeats": "text.split('a') * 1000",
    "percents": "percents % text",
    "shared parts": "str(shared)",
    "equal shared parts": "shared == other",
    "deep": "-" * 1900 + "1",
    "deep attributes": "x" + ".a" * 900,
    "deep sums": "+".join(["1"] * 900),
    "deep words": "not " * 400 + "x",
    "long": "x" * 5000,
}


def shared(levels: int = 40) -> object:
    """A value that is small in memory and has two to the power of ``levels`` parts."""
    value: object = "x"
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize("expression", HOSTILE.values(), ids=HOSTILE)
def test_an_expression_ends_whatever_it_asks_for(expression: str) -> None:
    text = "a" * 300_000
    names = {"x": "y", "n": 999_999_999, "text": text, "half": "b" + text[:150_000], "digits": "7" * 4_000_000,
             "percents": "%s" * 100_000, "shared": shared(), "other": shared()}  # fmt: skip
    before = time.process_time()
    with pytest.raises(TooMuchError) as caught:
        evaluate(expression, names)
    assert time.process_time() - before < 10  # some 0.1 s; without bounds minutes, or for good
    assert 20 < len(str(caught.value)) < 120


@pytest.mark.parametrize(
    "expression",
    [
        "3999999**3999999 > 1",
        "x > 5**3999998 // 3**2600000",
        "f'{x:>999999999}'",
        "'%99999999d' % x",
        "len('a' * 10**12) > x",
    ],
)
def test_what_takes_too_much_in_any_case_is_found_before_a_run(expression: str) -> None:
    problem = read_expression(expression).problem
    assert problem is not None
    assert "can't be used" in problem


def python_value(expression: str) -> object:
    try:
        return eval(expression, PYTHON, NAMES)  # noqa: S307 (made here)
    except Exception as problem:  # noqa: BLE001 (which one is what is compared)
        return None if isinstance(problem, NameError) else type(problem)


def own_value(expression: str) -> object:
    try:
        return evaluate(expression, NAMES)
    except WRONG as problem:
        return None if "is not defined" in str(problem) else type(problem)


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS)
def test_the_value_of_an_expression_is_pythons(expression: str) -> None:
    found = own_value(expression)
    if found is not TooMuchError:
        assert read_expression(expression).problem is None
        assert found == python_value(expression)


def test_a_field_of_a_record_is_reached_by_a_dot() -> None:
    assert evaluate("part.inner.name == 'x' and part.size + 1 == score", NAMES) is True
    assert evaluate("part.items", {"part": {"items": 3}}) == 3


@pytest.mark.parametrize(
    "expression",
    ["text.__class__", "words.append(1)", "part.pop('size')", "text.format(1)", "text.encode()", "len.x", "(lambda: 1)()",
     "[a for a in words]", "open('x')", "text.translate({})", "b'%99d' % 1", "b'%.99f' % 1.5", "b'x' == 1", "2j", "..."],
)  # fmt: skip
def test_what_is_not_allowed_has_no_value(expression: str) -> None:
    with pytest.raises(WRONG):
        evaluate(expression, NAMES)
    assert NAMES["words"] == ["a", "b"]
