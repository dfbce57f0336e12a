"""Files of named input sets: values, places, and what is wrong in one sentence."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from merrow_server.input_sets import read_input_sets

TEXT = """\
# Letters to try
late:
  LETTER: |
    Dear team,
    where is my lamp?
  POLICY: {file: inputs/policy.txt}
short: {LETTER: 42, POLICY: true, NOTE: }
"""


def test_sets_have_names_places_and_values() -> None:
    late = {"LETTER": {"text": "Dear team,\nwhere is my lamp?\n"}, "POLICY": {"file": "inputs/policy.txt"}}
    short = {"LETTER": {"text": "42"}, "POLICY": {"text": "true"}, "NOTE": {"text": ""}}
    assert read_input_sets(TEXT) == {
        "sets": [{"name": "late", "line": 1, "inputs": late}, {"name": "short", "line": 6, "inputs": short}],
        "problem": None,
    }
    assert read_input_sets("# nothing yet\n") == {"sets": [], "problem": None}


def problem(text: str) -> tuple[int, str]:
    found = read_input_sets(text)
    assert found["sets"] == []
    return found["problem"]["line"], found["problem"]["message"]


def test_what_is_wrong_is_said_at_its_line() -> None:
    assert problem("late:\n  - LETTER\n")[0] == 0
    assert "The set late must give inputs by name" in problem("late:\n  - LETTER\n")[1]
    line, message = problem("late:\n  LETTER: x\n  POLICY: [a, b]\n")
    assert (line, "The value of POLICY must be text" in message) == (2, True)
    assert problem("late: {LETTER: 'x'\nmore: {}\n")[0] >= 0
    assert "must name sets" in problem("- a\n")[1]
    assert problem("late: &a {LETTER: *a}\n")[1]


@given(st.dictionaries(st.text(min_size=1), st.dictionaries(st.text(min_size=1), st.text())))
def test_every_text_comes_back(sets: dict[str, dict[str, str]]) -> None:
    found = read_input_sets(json.dumps(sets))
    assert found["problem"] is None
    read = {one["name"]: {name: value["text"] for name, value in one["inputs"].items()} for one in found["sets"]}
    assert read == sets


@given(st.text(alphabet="ab:{}[]&*!|>-'\"#\n\t ,"))
def test_any_text_is_sets_or_a_sentence(text: str) -> None:
    found = read_input_sets(text)
    assert (found["problem"] is None) or (found["sets"] == [] and found["problem"]["message"].endswith((".", "?")))
