"""Values and failures as people and hashes know them: fields, lists, names of who answered, sentences."""

from __future__ import annotations

import math

import pytest

from merrow_runtime.errors import NodeFailure
from merrow_runtime.provenance import (
    OFFLINE_ORIGIN,
    PERSON_ORIGIN,
    REPLAY_ORIGIN,
    UNKNOWN_ORIGIN,
    ForeignResults,
    Provenance,
    answered_by,
    listed,
    plain,
)
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import as_text, canonical, list_apart, number_text, output_at, part_of
from merrow_runtime.visit import is_called


def test_fields_of_outputs_are_found_by_their_whole_name_first() -> None:
    outputs = {"response": {"place": {"city": "Bern"}, "list": [1]}, "response.place": "whole", "x": None}
    assert output_at(outputs, "response.place") == "whole"
    assert output_at(outputs, "response.place.city") == "Bern"
    assert (output_at(outputs, "x"), output_at(outputs, "response.list")) == (None, [1])
    for name in ("y", "response.none", "x.city", "response.list.0"):
        with pytest.raises(LookupError):
            output_at(outputs, name)
    assert part_of(3, ()) == 3


def test_the_first_list_on_the_way_to_a_field_is_taken_apart() -> None:
    books = [{"title": "t"}]
    assert list_apart({"shelf": {"books": books}}, ("shelf", "books", "title")) == (books, ("title",))
    assert list_apart(books, ("title",)) == (books, ("title",))
    assert list_apart({"shelf": books}, ("shelf",)) == (books, ())
    assert list_apart(books, ()) == (books, ())
    assert list_apart({"shelf": {}}, ("shelf", "books", "title")) == (None, ("title",))
    assert list_apart("text", ("a", "b")) == ("text", ("a", "b"))


def test_equal_values_have_one_text_and_are_shown_as_people_read_them() -> None:
    assert canonical({"b": [1, 2.0, None], "a": "é\n"}) == '{"a":"é\\n","b":[1,2.0,null]}'
    assert canonical({"a": True}) != canonical({"a": 1})
    for problem, value in ((ValueError, math.nan), (ValueError, math.inf), (TypeError, {1})):
        with pytest.raises(problem):
            canonical(value)
    assert [number_text(one) for one in (1, 2.5, math.inf, -math.inf, math.nan)] == [
        "1.0", "2.5", "Infinity", "-Infinity", "NaN",
    ]  # fmt: skip
    assert [as_text(one) for one in ("text é", 1, True, None, ["é"], {"a": 1})] == [
        "text é", "1", "true", "null", '[\n  "é"\n]', '{\n  "a": 1\n}',
    ]  # fmt: skip


def test_what_is_not_known_of_usage_stays_unknown_in_a_sum() -> None:
    known, unknown, guessed = Usage(1, 2, 3, 0.5), Usage(10, 20, 30, None), Usage(100, 200, 300, 1.0, estimated=True)
    assert known + unknown == unknown + known == Usage(11, 22, 33, None)
    assert known + guessed == guessed + known == Usage(101, 202, 303, 1.5, estimated=True)
    assert (known + NOTHING, known.tokens, unknown.tokens) == (known, 3, 30)
    shown = {"prompt_tokens": 1, "completion_tokens": 2, "calls": 3, "cost_usd": 0.5}
    assert known.to_json() == shown
    assert guessed.to_json() == {
        "prompt_tokens": 100, "completion_tokens": 200, "calls": 300, "cost_usd": 1.0, "estimated": True,
    }  # fmt: skip
    for one in (known, unknown, guessed, NOTHING):
        assert Usage.from_json(one.to_json()) == one


def test_who_answered_is_said_in_words() -> None:
    sources = [
        Provenance("https://api.test/v1", "m"), Provenance("https://api.test", ""), Provenance("local", "m"),
        Provenance("local", ""), *(Provenance(origin, "m") for origin in (OFFLINE_ORIGIN, REPLAY_ORIGIN, PERSON_ORIGIN,
        UNKNOWN_ORIGIN)), Provenance("https://api.test/v2", "m"),
    ]  # fmt: skip
    assert answered_by(sources) == (
        "m @ api.test, api.test, m @ local, local, embedded model, recording, a person, unknown endpoint"
    )
    assert answered_by(()) == ""
    assert plain(sources[:2]) == [
        {"endpoint": "https://api.test/v1", "model": "m"}, {"endpoint": "https://api.test", "model": ""},
    ]  # fmt: skip
    assert [listed("ABCDEFGH"[:count]) for count in (1, 2, 5, 6, 8)] == [
        "A", "A and B", "A, B, C, D and E", "A, B, C, D, E and 1 more", "A, B, C, D, E and 3 more",
    ]  # fmt: skip
    one = ForeignResults("r", ["A"], ["https://a.test"] * 2, OFFLINE_ORIGIN)
    assert str(one) == (
        "In run r, A was answered by https://a.test, but the embedded offline model answers now. Choose --reuse same to run"
        " them again, or --reuse any to keep their results."
    )
    assert (one.nodes, one.endpoints, one.endpoint, one.run) == (("A",), ("https://a.test",), OFFLINE_ORIGIN, "r")
    several = ForeignResults("r", ["A", "B"], [REPLAY_ORIGIN, PERSON_ORIGIN, UNKNOWN_ORIGIN], "https://b.test")
    assert several.situation == (
        "In run r, A and B were answered by a recording and a person and an endpoint that an older Merrow did not note, but"
        " https://b.test answers now."
    )


def test_a_failure_names_its_node_once_with_the_turn_that_it_is_in() -> None:
    of = NodeFailure.of("A", "it is out.")
    plain_one, named = NodeFailure("it is out."), NodeFailure("Output A stays empty.", node="A")
    assert (of.node, of.reason, str(of), of.sentence) == ("A", "it is out.", "Node A: it is out.", "Node A: it is out.")
    assert (plain_one.node, plain_one.reason, plain_one.sentence) == (None, "it is out.", "it is out.")
    met = [one.at("B", "L[2]") for one in (of, plain_one, named)]
    assert [one.sentence for one in met] == [
        "Node L[2]/A: it is out.", "Node L[2]/B: it is out.", "In L[2]: Output A stays empty.",
    ]  # fmt: skip
    assert [one.at("C", "").sentence for one in (of, plain_one, named)] == [
        "Node A: it is out.", "Node C: it is out.", "Output A stays empty.",
    ]  # fmt: skip
    # It was met already, inside: it stays there. The failure itself is as it was.
    assert met[1].at("CALL", "X[1]") is met[1]
    assert (plain_one.node, plain_one.path, of.path) == (None, "", "")
    code = NodeFailure.code
    assert [one.fields() for one in (plain_one, met[0])] == [
        {"code": code},
        {"code": code, "node": "A", "path": "L[2]"},
    ]
    remedied = NodeFailure("no key", remedy="key")
    assert (remedied.fields(), remedied.at("A", "").remedy) == ({"code": code, "remedy": "key"}, "key")


def test_a_path_is_that_of_a_called_file_where_a_part_has_no_number() -> None:
    called = [is_called(path) for path in ("", "L[1]", "L[1]/M[2]", "CALL", "L[1]/CALL", "CALL/L[1]", "CALL!2")]
    assert called == [False, False, False, True, True, True, True]
