"""Results, requests and values as plain data: what is journalled can be replayed, what is hashed is canonical."""

from __future__ import annotations

import datetime
import decimal
import fractions
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.sandbox import Limits, Sandbox, SandboxJob, SandboxResult, TestFailure, TestResult
from merrow_runtime.sandbox.guest.values import decode, encode

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
