"""The command line knows a rule as soon as it is registered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.new_rule import CODE, FIX, LOUD, NAME, SUMMARY, added, loud_ids
from tests.server.program import in_process, write

from merrow_analysis.rules.registry import Scope

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _loud() -> Iterator[None]:
    write("flow.mmd", LOUD)
    with added(loud_ids, Scope.NODE):
        yield


def test_check_shows_it_in_every_format(capsys: Capture) -> None:
    shown = in_process(capsys, "check", "flow.mmd")
    assert shown.code == 0
    assert re.search(rf"^flow\.mmd:3:5: warning\[{CODE}\] LOUD shouts\.", shown.out, re.M)
    [found] = [one for one in in_process(capsys, "check", "--format", "json", "flow.mmd").json if one["code"] == CODE]
    assert (found["name"], found["severity"], found["range"]["start"]) == (NAME, "warning", {"line": 2, "character": 4})
    assert [fix["title"] for fix in found["fixes"]] == [FIX]
    [run] = in_process(capsys, "check", "--format", "sarif", "flow.mmd").json["runs"]
    [rule] = [rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == CODE]
    assert rule["shortDescription"]["text"] == SUMMARY
    assert CODE in {result["ruleId"] for result in run["results"]}
    lines = in_process(capsys, "check", "--format", "github", "flow.mmd").out.splitlines()
    assert [line for line in lines if line.startswith("::warning file=flow.mmd,line=3,") and CODE in line]


def test_check_selects_ignores_and_repairs_it(capsys: Capture) -> None:
    for options, count in [(["--select", NAME], 1), (["--ignore", CODE], 0), (["--select", "MW3"], 0)]:
        listed = in_process(capsys, "check", "--format", "json", *options, "flow.mmd").json
        assert [one["code"] for one in listed].count(CODE) == count
    in_process(capsys, "check", "--fix", "--unsafe-fixes", "--select", CODE, "flow.mmd")
    assert 'QUIET["Custom' in Path("flow.mmd").read_text("utf-8")


def test_rules_and_explain_know_it(capsys: Capture) -> None:
    assert f"{CODE}  warning  {NAME}: {SUMMARY}" in in_process(capsys, "rules").out.splitlines()
    [listed] = [
        rule for rule in json.loads(in_process(capsys, "rules", "--format", "json").out) if rule["code"] == CODE
    ]
    assert listed["fix"] == "sometimes"
    for word in (CODE, NAME):
        assert in_process(capsys, "explain", word).out == f"# {CODE} {NAME}\n\n{SUMMARY}\n"
