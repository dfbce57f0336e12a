"""Results, requests and values as plain data: what is journalled can be replayed, what is hashed is canonical."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import json
from typing import Any

import numpy
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.sandbox import Limits, Sandbox, SandboxJob, SandboxResult, TestFailure, TestResult
from merrow_runtime.sandbox.guest.values import decode, encode, function_name

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.complex_numbers(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
)
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=8)
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.sets(HASHABLE, max_size=3)
    ),
    max_leaves=20,
)
TAGS = st.sampled_from(["list", "dict", "int", "set", "type", "range", "decimal", "fraction", "date"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["list", "dict", "int", "set", "type"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=15,
)
WIRE = st.recursive(
    SCALARS.map(encode),
    lambda inner: st.builds(lambda tag, parts: [tag, *parts], TAGS, st.lists(inner, max_size=4)),
    max_leaves=8,
)
"""What is written like encoded data, and is it sometimes."""
RESULTS = st.builds(
    SandboxResult,
    st.sampled_from(["ok", "error", "timeout", "memory", "output", "crashed"]),
    st.none() | st.text(),
    st.text(),
    st.text(),
    st.text(),
    st.text(),
)
OUTCOMES = st.sampled_from(["passed", "failed", "error", "timeout", "memory", "output", "crashed", "no_tests"])
FAILURES = st.builds(TestFailure, st.text(), st.text(), st.text())


def same(one: Any, other: Any) -> bool:
    """Equal, and of exactly the same types all the way down."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, list | tuple):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        return all(same(a, b) for a, b in zip(one.items(), other.items(), strict=True))
    return True


@given(DATA)
def test_plain_data_comes_back_exactly(value: Any) -> None:
    travelled = json.loads(json.dumps(encode(value), allow_nan=False))

    assert same(decode(travelled), value)


PLAIN = (
    *(
        type(None),
        bool,
        int,
        float,
        str,
        bytes,
        bytearray,
        complex,
        range,
        list,
        tuple,
        set,
        frozenset,
        dict,
        type,
        type(...),
    ),
    *(decimal.Decimal, fractions.Fraction, datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
)


def only_plain(value: Any) -> bool:
    if type(value) not in (*PLAIN, type(len)):
        return False
    inside = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return not isinstance(value, list | tuple | set | frozenset | dict) or all(only_plain(item) for item in inside)


def is_decoded(data: Any) -> bool:
    """Whether it means anything; what means nothing is refused with one of these errors and no other."""
    try:
        decode(json.loads(json.dumps(data)))
    except (ValueError, TypeError, KeyError, ArithmeticError):
        return False
    return True


@given(JSON)
def test_whatever_a_solution_sends_is_decoded_or_refused(data: Any) -> None:
    assert not is_decoded(data) or only_plain(decode(json.loads(json.dumps(data))))


@given(st.one_of(DATA.map(encode), WIRE).filter(is_decoded))
def test_whatever_is_decoded_is_plain_data(data: Any) -> None:
    assert only_plain(decode(json.loads(json.dumps(data))))


@pytest.mark.parametrize("value", [object(), print, lambda: 1, iter([]), type("Own", (), {})()])
def test_what_is_no_data_does_not_travel_as_data(value: Any) -> None:
    with pytest.raises(TypeError):
        encode(value)


def test_data_nested_too_deeply_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(ValueError, match="nested"):
        encode(endless)


@given(RESULTS)
def test_a_result_can_be_journalled(result: SandboxResult) -> None:
    assert SandboxResult.from_json(json.loads(json.dumps(result.to_json()))) == result


@given(
    st.builds(
        TestResult,
        st.booleans(),
        st.lists(FAILURES).map(tuple),
        st.sampled_from(["passed", "failed", "error", "no_tests"]),
    )
)
def test_a_test_result_can_be_journalled(result: TestResult) -> None:
    assert TestResult.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_a_request_holds_all_that_a_result_depends_on() -> None:
    sandbox = Sandbox()
    job = SandboxJob("def f(x):\n    return x", "in", "f", (1,))
    requests = [
        sandbox.request_of(job),
        sandbox.request_of(SandboxJob("other", "in", "f", (1,))),
        sandbox.request_of(SandboxJob(job.code, "", "f", (1,))),
        sandbox.request_of(SandboxJob(job.code, "in", None, (1,))),
        sandbox.request_of(SandboxJob(job.code, "in", "f", (2,))),
        sandbox.request_of(SandboxJob(job.code, "in", "f", (1,), 5)),
        Sandbox(limits=Limits(cpu_s=1)).request_of(job),
        sandbox.request_of(solution="s", tests=["a"], entry_point="f"),
        sandbox.request_of(solution="t", tests=["a"], entry_point="f"),
        sandbox.request_of(solution="s", tests=["a", "b"], entry_point="f"),
        sandbox.request_of(solution="s", tests=["a"], entry_point="g"),
    ]
    texts = [json.dumps(request, sort_keys=True) for request in requests]

    assert len(set(texts)) == len(texts)
    assert sandbox.request_of(job) == Sandbox("landlock").request_of(job)
    assert all(request["sandbox"] == 1 for request in requests)


@pytest.mark.parametrize("name", ["wall_s", "cpu_s", "memory_mb", "output_kb", "folder_mb", "open_files", "threads"])
def test_a_limit_must_be_above_zero(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


class Word(str):
    """A text of a class of its own."""


class Number(enum.IntEnum):
    ONE = 1


class Counted(list[int]):
    """A list of a class of its own."""


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (None, None),
        (True, True),
        (2**53 - 1, 2**53 - 1),
        (1 - 2**53, 1 - 2**53),
        (2**53, ["int", "0x20000000000000"]),
        (-(2**53), ["int", "-0x20000000000000"]),
        (0.5, 0.5),
        (float("inf"), ["float", "inf"]),
        (float("nan"), ["float", "nan"]),
        (1 + 2j, ["complex", "1.0", "2.0"]),
        (b"\x00\xff", ["bytes", "00ff"]),
        (bytearray(b"\x01"), ["bytearray", "01"]),
        ([1, (2, "a")], ["list", 1, ["tuple", 2, "a"]]),
        ({1}, ["set", 1]),
        (frozenset({1}), ["frozenset", 1]),
        ({"a": [1], 2: None}, ["dict", ["a", ["list", 1]], [2, None]]),
        (range(1, 9, 2), ["range", "0x1", "0x9", "0x2"]),
        (decimal.Decimal("1.10"), ["decimal", "1.10"]),
        (fractions.Fraction(-1, 3), ["fraction", "-0x1", "0x3"]),
        (datetime.datetime(2024, 1, 2, 3), ["datetime", "2024-01-02T03:00:00"]),
        (datetime.date(2024, 1, 2), ["date", "2024-01-02"]),
        (datetime.time(1, 2), ["time", "01:02:00"]),
        (datetime.timedelta(1, 2, 3), ["timedelta", 1, 2, 3]),
        (..., ["ellipsis"]),
        (int, ["type", "int"]),
        (Word("a"), "a"),
        (Number.ONE, 1),
        (Counted([1]), ["list", 1]),
        (collections.OrderedDict(a=1), ["dict", ["a", 1]]),
        (collections.Counter("a"), ["dict", ["a", 1]]),
        (collections.namedtuple("P", "x")(1), ["tuple", 1]),
        (numpy.int64(3), 3),
        (numpy.float64(0.5), 0.5),
        (numpy.array([[1, 2]]), ["list", ["list", 1, 2]]),
        (numpy.bool_(True), True),
        (sympy.Integer(3), 3),
        (sympy.Rational(1, 3), ["fraction", "0x1", "0x3"]),
    ],
    ids=repr,
)
def test_each_kind_of_data_has_its_form(value: Any, wire: Any) -> None:
    encoded = encode(value)
    assert (encoded, type(encoded)) == (wire, type(wire))
    assert encode(decode(wire)) == wire


@pytest.mark.parametrize("value", [ValueError, type("Own", (), {}), object, numpy.random])
def test_of_types_only_pythons_own_travel_and_no_exception(value: Any) -> None:
    if value is object:
        assert encode(value) == ["type", "object"]
    else:
        with pytest.raises(TypeError, match=f"^a value of type {type(value).__name__} is not plain data$"):
            encode(value)


def test_data_is_nested_up_to_a_limit() -> None:
    assert encode(nested(200))[1][0] == "list"
    for deeper in (nested(201), [Counted(nested(200))], {"a": nested(200)}):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^the data is nested deeper than 200$"):
            encode(deeper)


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        ([], "the data is malformed"),
        ({}, "the data is malformed"),
        ([1], "the data is malformed"),
        (["int", ["int", "0x1"]], "the data is malformed"),
        (["int", 1.5], "the data is malformed"),
        (["what", 1], "unknown kind of value 'what'"),
        (["callback", 1], "unknown kind of value 'callback'"),
    ],
)
def test_what_is_no_data_is_refused(wire: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{problem}$"):
        decode(wire)


def test_what_is_no_data_goes_to_who_knows_it_with_its_depth() -> None:
    seen: list[Any] = []
    assert encode([1, [print]], lambda value, depth: seen.append((value, depth))) == ["list", 1, ["list", None]]
    assert seen == [(print, 2)]
    assert decode(["list", ["what", 1, ["x"]]], lambda tag, items: (tag, items)) == [("what", [1, ["x"]])]


def test_functions_that_judge_nothing_travel_by_name() -> None:
    for function in (len, sorted, repr, abs):
        assert function_name(function) == function.__name__
        assert decode(["function", function.__name__]) is function
    own = type("Own", (), {"__name__": "len"})()
    odd = type("Odd", (), {"__name__": 3})()
    assert [function_name(value) for value in (open, eval, print, own, odd, 3, lambda: 1)] == [None] * 7
    with pytest.raises(KeyError):
        decode(["function", "open"])
    with pytest.raises(KeyError):
        decode(["type", "ValueError"])
