"""Metadata ``@{ }`` says what Mermaid reads in it, and its short cut for simple bodies says the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.definitions.labels.metadata import parse_metadata, read_fully

KEYS = st.sampled_from(["op", "role", "shape", "a-b", "x1", "null", "True", "constructor"])
VALUES = st.sampled_from(
    ["Custom", "1", "0.5", "-3", "1e3", "true", "null", "~", "a b", "a.b/c", "01", "0x1F", '"text"', '""', '"a: b, c"',
     '"\\n"', "'q'", "{a: b}", "[1, 2]", "a:b", "a #c", "+1", "a_b", "é", "2024-01-01", "3)", "x (y)", ".5", ""]
)  # fmt: skip
PAIRS = st.tuples(KEYS, st.sampled_from([": ", ":", ":  ", " : "]), VALUES).map("".join)
BODIES = st.tuples(
    st.sampled_from(["", " ", "\t"]),
    st.lists(PAIRS, max_size=4).flatmap(
        lambda pairs: st.sampled_from([", ", ",", " , "]).map(lambda sep: sep.join(pairs))
    ),
    st.sampled_from(["", " ", ",", ", ", " ,,"]),
).map("".join)


LINES = st.tuples(
    st.sampled_from(["\n", " \n", "\n\n", "x: y\n", "\t\n"]),
    st.lists(st.tuples(st.sampled_from(["  ", "  ", "  ", "   ", ""]), PAIRS).map("".join), max_size=4).map("\n".join),
    st.sampled_from(["", "\n", "\n  ", " \n", "\n\t", "\n # c", "\r\n"]),
).map("".join)


@given(st.one_of(BODIES, LINES))
def test_the_short_cut_says_what_the_full_reader_says(body: str) -> None:
    quick, full = parse_metadata(body), read_fully(body)
    assert repr(quick.values) == repr(full.values)
    assert (quick.error, quick.value, quick.is_empty) == (full.error, full.value, full.is_empty)
    assert quick.key_spans == full.key_spans
    assert quick.value_spans == full.value_spans


@given(st.text(max_size=50))
def test_any_body_is_answered_with_spans_inside_it(body: str) -> None:
    doc = parse_metadata(body)
    spans = [*doc.key_spans.values(), *doc.value_spans.values()]
    assert all(0 <= start <= end <= len(body) for start, end in spans)
    assert doc.error is None or 0 <= doc.error.offset <= len(body)


@pytest.mark.parametrize("body", ["a: b^: {", "a: 1, a: 2", "a: b\n c: d", 'a: "b', "\n\ta: b"])
def test_what_mermaid_refuses_has_an_error(body: str) -> None:
    assert parse_metadata(body).error is not None


def test_places_of_keys_values_and_parts() -> None:
    body = '\n  op: Custom\n  memory:\n    last: 3\n  label: "x y"\n'
    doc = parse_metadata(body)
    assert body[slice(*doc.value_span("label"))] == '"x y"'
    assert body[slice(*doc.key_span("op"))] == "op"
    assert body[slice(*doc.places("memory", "last")[1])] == "3"
    assert doc.key_span("nothing") == (0, len(body))
