"""Cases files: what is read, what is found wrong and where, and that no text breaks the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.analysis.rule_page import GivenFiles

from merrow_analysis.cases.case_insertion import UnwritableCaseError, new_id, with_case
from merrow_analysis.cases.cases_reader import CasesFile, read_cases
from merrow_analysis.cases.checking import CasesContext, check_cases
from merrow_analysis.cases.schema import CASE_KEYS, DEFAULT_KEYS, EXPECTATION_KEYS, cases_schema
from merrow_analysis.definitions.yaml.yaml_text import read_yaml
from merrow_analysis.text import apply_edits, split_lines

BESIDE = CasesContext("flow.mmd", {"PROBLEM": False, "HINT": True}, ("RETURN",), GivenFiles({"a.txt": "A"}))
SCHEMA = jsonschema.Draft202012Validator(cases_schema())

WHOLE = """\
defaults:
  metric: exact
  repeat: 3
  tags: [all]
  inputs: {HINT: none}
cases:
  - id: first
    inputs:
      problem: {file: a.txt}
      hint: |
        two
        lines
    expect: [eight, {not-contains: six}, {f1: eight legs, at_least: 0.5, separator: ";"}]
    repeat: 5
    min_pass: 4
    tags: [smoke]
    xfail: 'known: #41'
    max_cost: 0.01
    max_seconds: 30
  - id: 2
    inputs: {PROBLEM: 3}
    expect: {numeric: 4, tolerance: 0.1, output: RETURN}
"""


def test_everything_of_a_case_is_read() -> None:
    file = read_cases(WHOLE)
    assert check_cases(file, BESIDE) == []
    first, second = file.cases
    assert (first.id, first.repeat, first.min_pass, first.tags, first.xfail) == (
        "first",
        5,
        4,
        ("smoke",),
        "known: #41",
    )
    assert (first.max_cost, first.max_seconds) == (0.01, 30)
    assert [(one.name, one.value, one.file) for one in first.inputs] == [
        ("problem", None, "a.txt"),
        ("hint", "two\nlines\n", None),
    ]
    assert [(one.name, one.value, one.at_least) for one in first.expect] == [
        ("exact", "eight", 1),
        ("not-contains", "six", 1),
        ("f1", "eight legs", 0.5),
    ]
    assert first.expect[2].options == {"separator": ";"}
    assert (second.id, second.repeat, second.min_pass, second.tags) == ("2", 3, 3, ("all",))
    assert {one.name: one.value for one in second.inputs} == {"PROBLEM": 3, "HINT": "none"}
    assert (second.expect[0].options, second.expect[0].output) == ({"tolerance": 0.1}, "RETURN")
    assert file.range(second.expect[0].span).start.line == 21


def case(line: str) -> str:
    return f"cases:\n  - id: a\n    inputs: {{PROBLEM: x}}\n    {line}\n"


MISTAKES = {
    "": (0, "The file has no cases"),
    "- a": (0, "must be a mapping with `cases:`"),
    "cass: []": (0, "did you mean `cases`?"),
    "cases: {a: b}": (0, "`cases` must be a list"),
    "cases: [a: b": (0, "not valid YAML"),
    "cases: [x]": (0, "A case must be a mapping with an `id:`."),
    "cases: [{inputs: {PROBLEM: x}}]": (0, "A case must be a mapping with an `id:`."),
    case("repat: 3"): (3, "did you mean `repeat`?"),
    case("repeat: 0"): (3, "`repeat` must be a whole number from 1 to 100"),
    case("min_pass: 2"): (3, "`min_pass` is 2, but the case is repeated 1 times"),
    case("repeat: 101"): (3, "`repeat` must be a whole number from 1 to 100"),
    case("min_pass: 0"): (3, "`min_pass` must be"),
    case("expect: {f1: x, at_least: -0.1}"): (3, "`at_least` must be"),
    case("expect: {numeric: 1, tolerance: -0.1}"): (3, "`tolerance` must be"),
    case("expect: {choice: A, letters: 1}"): (3, "`letters` must be"),
    case("expect: {choice: A, letters: 27}"): (3, "`letters` must be"),
    case("max_cost: 0"): (3, "`max_cost` must be a number above 0"),
    case("expect: {contians: x}"): (3, "did you mean `contains`?"),
    case("expect: {contains: x, exact: y}"): (3, "names 2 metrics"),
    case("expect: {at_least: 0.5}"): (3, "names no metric"),
    case("expect: {contains: x, tolerance: 1}"): (3, "The metric contains has no option `tolerance`"),
    case("expect: {f1: x, at_least: 3}"): (3, "`at_least` must be a number from 0 to 1"),
    case("expect: {exact: x, output: RETRN}"): (3, "did you mean `RETURN`?"),
    case("expect: {python: score.py}"): (3, "There is no file score.py."),
    case("tags: {a: b}"): (3, "`tags` must be"),
    "cases:\n- id: a\n  inputs: {PROBLM: x}\n": (2, "did you mean `PROBLEM`?"),
    "cases:\n- id: a\n": (1, "the input PROBLEM has no value"),
    "cases:\n- id: a\n  inputs: {PROBLEM: {file: b.txt}}\n": (2, "There is no file b.txt."),
    "cases:\n- id: a\n  inputs: {PROBLEM: {file: /etc/passwd}}\n": (2, "is an absolute path"),
    "cases:\n- {id: a, inputs: {PROBLEM: x}}\n- {id: a, inputs: {PROBLEM: x}}\n": (2, "another case `a` above"),
    "defaults: {metric: contians}\ncases: []\n": (0, "did you mean `contains`?"),
}


@pytest.mark.parametrize(("text", "wanted"), MISTAKES.items())
def test_each_mistake_has_its_line_and_a_remedy(text: str, wanted: tuple[int, str]) -> None:
    found = check_cases(read_cases(text), BESIDE)
    assert any(one.range.start.line == wanted[0] and wanted[1] in one.message for one in found), found


@pytest.mark.parametrize("text", [text for text, (_, words) in MISTAKES.items() if "did you mean" in words])
def test_what_was_probably_meant_is_a_fix(text: str) -> None:
    found = check_cases(read_cases(text), BESIDE)
    one = next(each for each in found if "did you mean" in each.message)
    edited = apply_edits(text, one.fixes[0].edits)
    assert one.message not in [each.message for each in check_cases(read_cases(edited), BESIDE)]


def well_placed(file: CasesFile) -> None:
    lines = split_lines(file.text) or [""]
    for one in check_cases(file, BESIDE):
        start, end = one.range
        assert start <= end
        assert end.line <= len(lines)
        assert one.message.endswith((".", "?"))
        _ = list(one.fixes)


KEYS = st.sampled_from([*CASE_KEYS, *DEFAULT_KEYS, *EXPECTATION_KEYS, "cases", "defaults", "file", "PROBLEM", "x"])
SCALARS = st.one_of(
    st.sampled_from(
        ["", "contains", "eight", "~", "null", "[]", "{}", "1", "-1", "1e999", ".nan", "yes", "*a", "&a b", "!!int x"]
    ),
    st.text(max_size=6),
    st.integers().map(str),
)


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(part)}" for key, part in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]" if isinstance(value, list) else str(value)


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
FILES = st.one_of(
    st.text(max_size=80),
    VALUES.map(flow),
    st.lists(VALUES, max_size=3).map(lambda cases: f"cases: {flow(cases)}"),
    st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=3).map(
        lambda cases: f"cases: {flow([{'id': 'a', **one} for one in cases])}"
    ),
)


@given(FILES)
@example("cases: [{id: a, tags: [[], 0, x]}]")
@example("cases: &a [*a]")
@example("cases:\n- &a {id: x, inputs: &b {P: *a}}\n- *a")
@example("cases: [{id: a, expect: &e [*e]}]")
@example("cases: [{id: .nan, repeat: 1.0, min_pass: 1.0}]")
@example("\ufeffcases:\r\n- id: a\r\n  repat: 1\r\n")
@example("cases:\n- id: a\n  expect: {exact: &a [[[[]]]], exact2: *a}\n")
def test_any_text_gives_cases_or_findings(text: str) -> None:
    file = read_cases(text)
    well_placed(file)
    assert len({one.id for one in file.cases}) == len(file.cases)
    for one in file.cases:
        assert one.repeat >= 1
        assert all(isinstance(tag, str) for tag in one.tags)


@given(FILES)
def test_the_schema_accepts_what_the_reader_has_nothing_against(text: str) -> None:
    file = read_cases(text)
    if file.problems:
        return
    result = read_yaml(text)
    if "*" not in text:  # aliases can be endless
        SCHEMA.validate(result.value)


def test_values_that_aliases_blow_up_are_refused() -> None:
    lines = "\n".join(f"    i{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9))
    text = f"cases:\n- id: a\n  inputs:\n    i0: &a0 [1]\n{lines}\n"
    assert any("too large" in one.message for one in read_cases(text).problems)


STYLES = {
    "two": "# head\ncases:\n  - id: a\n    inputs: {PROBLEM: x}  # one\n    expect: y\n# tail\n",
    "flush": "cases:\n- id: a\n  inputs:\n    PROBLEM: |\n      x\n\n- id: b\n  inputs: {PROBLEM: z}",
    "crlf": "cases:\r\n  - id: a\r\n    inputs: {PROBLEM: x}\r\n",
    "none": "",
    "defaults": "defaults: {repeat: 2}\n",
}
TEXTS = st.one_of(
    st.text(max_size=30), st.sampled_from(["a\nb", "a\n", "- x: y", "# c", "it's", " lead", "\t", "yes", "3"])
)


@given(st.sampled_from(list(STYLES)), st.dictionaries(st.sampled_from(["PROBLEM", "HINT"]), TEXTS), TEXTS)
def test_a_case_is_added_and_all_else_stays(style: str, inputs: dict[str, str], output: str) -> None:
    text = STYLES[style]
    identity = new_id(text, inputs)
    changed = with_case(text, identity, inputs, {"RETURN": output})
    before, after = read_cases(text), read_cases(changed)
    assert [one.id for one in after.cases] == [*(one.id for one in before.cases), identity]
    added = after.cases[-1]
    assert {one.name: one.value for one in added.inputs} == inputs
    assert [(one.name, one.value) for one in added.expect] == [("exact", output)]
    kept = iter(split_lines(changed))
    assert all(any(line.rstrip("\r\n") == other.rstrip("\r\n") for other in kept) for line in split_lines(text))
    if style == "crlf":
        assert changed.count("\n") == changed.count("\r\n")


def test_a_file_in_brackets_takes_no_case() -> None:
    with pytest.raises(UnwritableCaseError):
        with_case("cases: [{id: a}]\n", "b", {}, {"RETURN": "x"})


def test_every_metric_of_cases_is_a_metric_with_these_options() -> None:
    from merrow_analysis.cases.schema import CASE_METRICS
    from merrow_optimizer.evaluation.cases.expectations import refusal

    values: dict[str, Any] = {"json-schema": {"type": "object"}, "math": "1", "numeric": 3, "gsm8k": "3", "choice": "B"}
    options: dict[str, Any] = {"tolerance": 1, "separator": '";"', "letters": 4, "gold": "x"}
    folder = Path(__file__).parent
    for name, metric in CASE_METRICS.items():
        if name == "python":
            continue
        said = {name: values.get(name, "x"), **{option: options[option] for option in metric.options}}
        (one,) = read_cases(case(f"expect: {flow(said)}")).cases
        assert refusal(one, one.expect[0], folder) is None, name
