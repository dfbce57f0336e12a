"""Texts of others in the plan and table of a reproduction: none drives a terminal, is markup, breaks a row or fills a screen."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.openai_server import Status, serving
from tests.server.program import merrow
from tests.server.reproducing import answer, place, reproduce

from merrow_server.reproductions.page import as_html
from merrow_server.reproductions.words import plan_lines, report_lines, sum_lines

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</td></tr></table><script>alert(1)</script>",
    "a | b | c\n| d | e |\r\n# f",
    "\x1b[2J\x1b]0;title\x07 \x9b31m \x08\x08",
    "\u202egnp.exe\u2066 \u200b\u2028end",
    '" onmouseover="alert(1)" \' & &lt;',
    "x" * 1_000_000,
    "\n" * 1_000_000,
    "[link](command:workbench.action.quit) $(alert)",
    "\ud800 \ufffe",
)
LONGEST = 2_000
"""Characters of a line of the table, far more than any without a text of others has."""


class Tags(HTMLParser):
    """The tags of a page with the names of their attributes, its cells in each row, and its words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.rows: list[int] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_data(self, data: str) -> None:
        self.words += data


def table(text: str, *, simulated: bool = False) -> dict[str, Any]:
    """A table as the journal may have it, with a text in each place where one of others may be."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "calls": 1, "cost_usd": 0.1}
    row = {"row": "io-math", "table": "Table 1", "system": "IO", "column": "MATH", "unit": "%", "why": text}
    row |= {"paper": "48.6", "paper_cost": None, "difference": None, "usage": usage, "at": 1.0, "jobs": []}
    ours = {"value": 50.0, "interval": [40.0, 60.0], "items": 3, "repeats": 1}
    rows = [
        {**row, "status": "ended", "ours": ours, "verdict": "LOOK", "model": text, "reasons": [text]},
        {**row, "status": "failed", "ours": None, "verdict": None, "model": None, "reasons": [f"It failed: {text}"]},
    ]
    told = {"title": "A2Flow", "at": "arXiv", "simulated": simulated, "usage": usage}
    return {**told, "rows": rows}


def plan(text: str) -> dict[str, Any]:
    estimate = {"calls": 3, "tokens": 30, "cost_usd": None}
    row = {"row": "io-math", "table": "Table 1", "system": "IO", "other_system": False, "models": {"exec": text}}
    lacking = {**row, "row": "io-drop", "asks": False, "estimate": None}
    lacking["missing"] = [{"what": f"{text} is missing.", "get": f"git clone x && cp y {text}", "other_data": False}]
    rows = [{**row, "asks": True, "estimate": estimate, "missing": []}, lacking]
    told = {"title": "A2Flow", "endpoint": "http://127.0.0.1:1", "simulated": False, "order": ["io-math"]}
    return {**told, "estimate": {**estimate, "hours": 0.1}, "rows": rows}


def check_line(line: str) -> None:
    assert len(line) <= LONGEST
    assert not any(unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") for one in line)


def check_page(page: str, mild: str) -> None:
    """A page has the tags, attributes and cells of one with a mild text in place of the hostile one."""
    found, wanted = Tags(page), Tags(mild)
    assert (found.tags, found.attributes, found.rows) == (wanted.tags, wanted.attributes, wanted.rows)
    assert len(found.words) <= len(wanted.words) + 4 * LONGEST
    for line in found.words.splitlines():
        check_line(line)
    page.encode()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("simulated", [False, True])
def test_hostile_texts_stay_texts(text: str, simulated: bool) -> None:
    mild = list(report_lines(table("mild", simulated=simulated)))
    lines = list(report_lines(table(text, simulated=simulated)))
    assert len(lines) == len(mild), "a text is on the line of its row"
    for line in (*lines, *sum_lines(plan(text))):
        check_line(line)
    check_page(as_html(table(text, simulated=simulated)), as_html(table("mild", simulated=simulated)))


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.text(st.characters(), max_size=200))
def test_any_text_stays_a_text(text: str) -> None:
    assert len(list(report_lines(table(text)))) == len(list(report_lines(table("mild"))))
    for line in (*report_lines(table(text)), *sum_lines(plan(text))):
        check_line(line)
    check_page(as_html(table(text)), as_html(table("mild")))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_plan_has_a_line_for_a_row_whatever_models_and_files_are_called(text: str) -> None:
    lines, mild = list(plan_lines(plan(text))), list(plan_lines(plan("mild")))
    assert len(lines) == len(mild)
    for line in lines[:-1]:
        check_line(line)
    check_line(lines[-1][:LONGEST])  # A command to copy is whole.


def test_what_is_long_says_that_it_was_cut() -> None:
    (line,) = [one for one in report_lines(table("y" * 5_000)) if one.startswith("io-math")][:1]
    assert "yyy..." in line
    short = "m" * 100
    assert any(f"{short} " in one for one in report_lines(table(short))), "a name of a usual length is whole"


def test_what_an_endpoint_and_a_user_say_reaches_the_table_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "<b>no</b> \x1b[2J\u202e such | key\n" + "k" * 1_000_000
    named = "<i>m</i>\u202e|\x1b[1m"
    with serving(lambda _: Status(400, said)) as server, place(monkeypatch, tmp_path, server):
        given = ("--rows", "round1-gsm8k", "--items", "1", "--models", f"exec={named}")
        done = reproduce("mermaidflow", *given, "--yes")
        for line in (*done.out.splitlines(), *done.err.splitlines()):
            check_line(line)
        page = merrow("show", "repro/mermaidflow", "--format", "html").out
        tags = Tags(page)
        assert tags.tags.isdisjoint({"b", "i"})
        assert len(page) < 20_000
        for line in tags.words.splitlines():
            check_line(line)
        server.answer = answer
        again = reproduce("mermaidflow", *given, "--yes", "--format", "json")
        (row,) = again.json["rows"]
        assert (row["status"], row["model"]) == ("ended", named), "programs get the name as it is"
        text = merrow("show", again.json["reproduction"]).out
        assert "<i>m</i>" in text
        for line in text.splitlines():
            check_line(line)


def test_a_folder_of_any_name_is_named_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = "da\x1b[2Jta\u202e <b>"
    with serving(answer) as server, place(monkeypatch, tmp_path, server):
        done = merrow("reproduce", "mermaidflow", "--data", folder)
        assert done.code == 0, done.err
        assert "is missing" in done.out
        for line in done.out.splitlines():
            check_line(line)
        found = merrow("reproduce", "mermaidflow", "--data", folder, "--format", "json").json
        assert any(folder in lack["what"] for row in found["rows"] for lack in row["missing"]), (
            "programs get it as it is"
        )
