"""The SARIF log is valid by the official schema and says what the findings say."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.program import GOOD, ONE_VOICE, UNLABELLED, in_process, markdown, write

from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix, Fixes, Related, Severity
from merrow_analysis.text import Position, Range, TextEdit
from merrow_server.rendering import sarif
from merrow_server.reports.findings_report import FileReport, Report

PACKAGE = Path(__file__).parent / "sarif_schema/node_modules/@microsoft/jest-sarif/lib/schemas"


@cache
def validator() -> jsonschema.protocols.Validator:
    schemas = sorted(PACKAGE.glob("sarif-2.1.0*.json"))
    if not schemas:
        pytest.skip("the SARIF schema is not installed: run make node_modules")
    schema = json.loads(schemas[-1].read_text("utf-8"))
    return jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())


def check(log: Any) -> Any:
    validator().validate(log)
    return log["runs"][0]


def test_a_real_log_is_valid_and_complete(capsys: pytest.CaptureFixture[str]) -> None:
    write("bad file.mmd", ONE_VOICE)
    write("doc.md", markdown(GOOD, UNLABELLED))
    write("binary.mmd", b"\0")
    outcome = in_process(capsys, "check", "--format", "sarif", ".")
    assert outcome.code == 2
    run = check(outcome.json)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert "MW105" in rules
    assert run["columnKind"] == "utf16CodeUnits"
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    [voice] = [result for result in run["results"] if result["ruleId"] == "MW105"]
    place = voice["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "bad%20file.mmd"
    assert place["region"]["startLine"] >= 1
    assert any("fixes" in result for result in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "binary.mmd" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_a_file_elsewhere_has_a_whole_uri(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a b/flow.mmd", ONE_VOICE).absolute()
    for name, uri in ((str(path), path.as_uri()), ("a b/flow.mmd", "a%20b/flow.mmd")):
        log = in_process(capsys, "check", name, "--format", "sarif").json
        places = [found["locations"][0]["physicalLocation"] for found in log["runs"][0]["results"]]
        assert {place["artifactLocation"]["uri"] for place in places} == {uri}


def test_nothing_found_is_a_valid_log(capsys: pytest.CaptureFixture[str]) -> None:
    write("plain.mmd", "flowchart TD\n A --> B\n")
    run = check(in_process(capsys, "check", "--format", "sarif", "plain.mmd").json)
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


POSITIONS = st.builds(Position, st.integers(0, 5), st.integers(0, 30))
RANGES = st.tuples(POSITIONS, POSITIONS).map(lambda pair: Range(min(pair), max(pair)))
WORDS = st.text(max_size=12)
FIXES = st.builds(
    Fix,
    WORDS,
    st.lists(st.builds(TextEdit, RANGES, WORDS), min_size=1, max_size=2).map(tuple),
    st.sampled_from(Applicability),
)
DIAGNOSTICS = st.builds(
    Diagnostic,
    st.sampled_from(["MW105", "MW501", "MW999"]),
    st.just("name"),
    st.sampled_from(Severity),
    WORDS,
    RANGES,
    st.lists(st.builds(Related, RANGES, WORDS, st.none() | st.just("prompt.py")), max_size=2).map(tuple),
    st.lists(FIXES, max_size=2).map(Fixes),
)


@pytest.mark.parametrize("half", [0xDD00, 0xDCFF, 0xD83D])
def test_a_file_name_with_half_a_pair_of_surrogates_has_a_uri(half: int) -> None:
    found = Diagnostic("MW105", "name", Severity.ERROR, "", Range(Position(0, 0), Position(0, 0)))
    run = check(json.loads(sarif.render(Report([FileReport(f"a{chr(half)}.mmd", ["x"], [found])], []))))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("a%")
    assert uri.endswith(".mmd")


@settings(max_examples=12, deadline=None)
@given(
    st.text(min_size=1, max_size=10, alphabet=st.characters(exclude_characters="\0")),
    st.lists(st.text(max_size=20), max_size=4),
    st.lists(DIAGNOSTICS, max_size=3),
    st.lists(WORDS, max_size=2),
)
def test_any_finding_makes_a_valid_log(
    name: str, lines: list[str], diagnostics: list[Diagnostic], problems: list[str]
) -> None:
    text = sarif.render(Report([FileReport(name, lines, diagnostics)], problems))
    assert text.isascii()
    check(json.loads(text))
