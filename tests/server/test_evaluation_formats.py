"""Evaluations in the formats of other programs, read by those or by readers that are not ours; hostile texts in all of them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some
from tests.growth.steps import steps
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import Outcome, in_process, write

from merrow_optimizer.evaluation.summary import compared
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING
from merrow_server.evaluations.tables import comparison_lines
from merrow_server.rendering.evaluation_formats import FORMATS, formatted
from merrow_server.rendering.evaluation_html import as_html
from merrow_server.rendering.evaluation_inspect import as_inspect

FLOW = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""
EVIL = '<script>alert(1)</script><img src="http://evil.test/x" onerror=x>\x1b[2J\x00 ]]> -->\u202e&amp;"\'\n::error::'


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    def answer(request: Received) -> Step:
        text = request.body["messages"][-1]["content"]
        return Status(400, EVIL) if "refused" in text else Reply(f"{EVIL} {'7' if 'wrong' in text else '5'}")

    monkeypatch.chdir(tmp_path)
    with serving(answer) as server:
        monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
        monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)
        rows = [{"id": f"q{n} {EVIL}", "problem": f"{word} {EVIL}", "answer": "5"} for n, word in enumerate(WORDS)]
        write("own.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        yield server


WORDS = ("fine", "wrong", "refused", "also fine")


def evaluated(capture: Any, form: str, *more: str) -> Outcome:
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")
    return in_process(capture, "evaluate", "flow.mmd", *own, "--format", form, *more)


class Page(HTMLParser):
    """What a browser would find on a page: its elements with their attributes, its texts, and what is in each cell."""

    EMPTY = ("meta", "input", "br", "img", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append("")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)
            if self.rows and "tr" in self.open:
                self.rows[-1] += data


OURS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "p",
        "dl",
        "dt",
        "dd",
        "figure",
        "figcaption",
        "svg",
        "rect",
    ),
    *(
        "line",
        "circle",
        "text",
        "div",
        "input",
        "label",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "details",
    ),
    *("summary", "pre"),
}


def harmless(text: str) -> Page:
    """The page, after a look at all that it has: nothing but our elements, no script, nothing from elsewhere."""
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= OURS
    for _, attributes in page.elements:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href", "style", "action")}
    assert "http:" not in "".join(re.findall(r"url\([^)]*\)|@import[^;]*", text))
    [policy] = [one["content"] for tag, one in page.elements if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not set(text) & {"\x1b", "\x00", "\u202e"}
    return page


def test_html_is_one_harmless_file_with_failures_first(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    done = evaluated(capsys, "html", "--fail-under", "0.9")
    assert done.code == 1
    page = harmless(done.out)
    assert [attributes.get("class") for tag, attributes in page.elements if tag == "tr"][1:] == [
        "wrong",
        "unanswered",
        "right",
        "right",
    ]
    said = " ".join(page.texts)
    assert "Score 0.667" in said
    assert "1 answer is unanswered or invalid" in said
    assert "<script>alert(1)</script>" in page.rows[1]
    assert "not 5" in page.rows[1]
    listed = in_process(capsys, "evaluations", "--format", "json").json[0]["evaluation"]
    again = in_process(capsys, "show", listed, "--format", "html")
    assert Page(again.out).rows == page.rows
    # As JSON each answer has a line of its own, which tools for lines can take.
    shown = in_process(capsys, "show", listed, "--format", "json")
    lines = [line.strip().rstrip(",") for line in shown.out.splitlines() if '"item": ' in line]
    assert [json.loads(line) for line in lines] == shown.json["rows"]
    assert len(lines) == 4


# What the schema of JUnit's reports says: attributes that an element needs, those it may have, children.
JUNIT = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors", "skipped"}, {"testsuite"}),
    "testsuite": ({"name", "tests"}, {"failures", "errors", "skipped", "time"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"time"}, {"skipped", "error", "failure"}),
    "skipped": (set(), {"message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "failure": (set(), {"type", "message"}, set()),
}


def fits_junit(element: ElementTree.Element) -> None:
    needed, may, children = JUNIT[element.tag]
    assert needed <= set(element.attrib) <= needed | may
    for name in ("tests", "failures", "errors", "skipped"):
        assert element.get(name, "0").isdigit()
    assert float(element.get("time", "0")) >= 0
    assert {child.tag for child in element} <= children
    for child in element:
        fits_junit(child)


def read_back(form: str, text: str) -> int:
    """How many answers a reader that is not ours finds; it fails where the text isn't of the form."""
    if form == "json":
        return len(json.loads(text)["rows"])
    if form == "csv":
        return len(list(csv.DictReader(io.StringIO(text), strict=True)))
    if form == "junit":
        root = ElementTree.fromstring(text)  # noqa: S314 (our own)
        fits_junit(root)
        return len(root.findall(".//testcase"))
    if form == "github":
        assert all(re.match(r"::(notice|warning|error) ", line) for line in text.splitlines())
        return len(text.splitlines()) - 1  # the first is of the score
    if form == "html":
        return len(harmless(text).rows) - 1
    log = json.loads(text)
    assert log["version"] == 2
    json.dumps(log, ensure_ascii=False).encode()  # no half of a surrogate pair, which Inspect refuses
    return len(log["samples"])


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_texts_in_each_format(server: OpenAIServer, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = evaluated(capsys, form)
    assert read_back(form, done.out) == (2 if form == "github" else 4)
    if form not in ("json", "csv", "inspect"):
        assert not set(done.out) & {"\x1b", "\x00"}
    listed = in_process(capsys, "evaluations", "--format", "json").json[0]["evaluation"]
    shown = in_process(capsys, "show", listed, "--format", form)
    assert shown.code == 0, shown.err
    assert read_back(form, shown.out) == (2 if form == "github" else 4)


def report_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A report as `evaluation_report` makes it."""
    counts = {
        name: sum(row["status"] == name for row in rows)
        for name in ("right", "wrong", "failed", "unanswered", "invalid")
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "calls": 3, "cost_usd": None}
    return {
        "evaluation": "e1",
        "workflow": "/w/flow.mmd",
        "status": "finished",
        "started": 1e9,
        "seconds": 5.0,
        "error": None,
        "dataset": "/d/own.jsonl",
        "part": "all",
        "held_out": False,
        "metric": "exact",
        "model": "m",
        "endpoint": "o",
        "seed": 42,
        "repeats": 1,
        "items": len(rows),
        "counted": len(rows),
        "answers": counts,
        "missing": 0,
        "score": 0.5,
        "interval": [0.25, 0.75],
        "usage": usage,
        "rows": rows,
    }


def row_of(number: int, status: str, text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 300, "completion_tokens": 200, "calls": 3, "cost_usd": 0.001}
    value = {"right": 1.0, "wrong": 0.0, "failed": 0.0}.get(status)
    said = {"read": text[:1000], "gold": text[:200], "reason": text[:1000], "output": text, "inputs": {"P": text}}
    return {
        "item": f"q{number} {text[:9]}",
        "repeat": 0,
        "status": status,
        "value": value,
        "usage": usage,
        "seconds": 1.5,
        "run": f"e1/q{number}",
        **said,
    }


TEXTS = some.text(some.characters() | some.sampled_from("<>&\"'\n\r\x1b\ud800]:,%"), max_size=200)
STATUSES = some.sampled_from(["right", "wrong", "failed", "unanswered", "invalid"])


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(some.lists(some.tuples(STATUSES, TEXTS), max_size=4), some.sampled_from(FORMATS))
@example([("wrong", "a\rb"), ("right", "\r")], "csv")
def test_no_text_breaks_a_format(given_rows: list[tuple[str, str]], form: str) -> None:
    rows = [row_of(number, status, text) for number, (status, text) in enumerate(given_rows)]
    text = formatted(report_of(rows), form)
    wrong = sum(status != "right" for status, _ in given_rows)
    assert read_back(form, text) == (wrong if form == "github" else len(rows))


def test_many_items_that_turned_are_counted_and_few_show_nothing() -> None:
    def said(count: int) -> str:
        scores = [
            [ScoreRecord(f"q{n}", 0, "right", float(value), "", "", NOTHING, 0.0, "", b"", b"") for n in range(count)]
            for value in (1, 0)
        ]
        return "\n".join(comparison_lines(compared(*scores, repeats=1), "a", "b"))

    assert "worse on 21: q0, q1," in said(21)
    assert said(21).count("q") == 20
    assert ", ..." in said(21)
    assert ", ..." not in said(20)
    assert "This many items would show a difference of 0." in said(20)
    assert "So few items show no difference with probability .8, however large it is." in said(3)


def test_a_thousand_items_take_few_steps_and_three_megabytes() -> None:
    words = Path(__file__).read_text(encoding="utf-8") * 2
    rows = [row_of(n, ("right", "wrong", "failed")[n % 3], words[n * 7 : n * 7 + 1200]) for n in range(1000)]
    report = report_of(rows)
    assert steps(lambda: as_html(report, [])) < 1_000_000
    text = as_html(report, [])
    assert len(text.encode()) <= 3_000_000
    assert len(Page(text).rows) == 1001


@pytest.mark.skipif("MERROW_INSPECT_PYTHON" not in os.environ, reason="names a Python that has inspect-ai")
def test_inspect_reads_its_log(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.json").write_text(evaluated(capsys, "inspect").out, encoding="utf-8")
    odd = report_of([row_of(0, "right", "half \ud800"), row_of(1, "invalid", EVIL)])
    Path("odd.json").write_text(as_inspect(odd), encoding="utf-8")
    program = (
        "import json, sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1]);"
        "score = log.results.scores[0];"
        "print(json.dumps([log.status, score.metrics['mean'].value, [[one.id, one.epoch, one.input, one.target,"
        " one.output.completion, one.error and one.error.message, [s.value for s in one.scores.values()]]"
        " for one in log.samples]]))"
    )
    read = [
        json.loads(
            subprocess.run(
                [os.environ["MERROW_INSPECT_PYTHON"], "-c", program, name], capture_output=True, check=True, timeout=120
            ).stdout
        )
        for name in ("log.json", "odd.json")
    ]
    status, mean, samples = read[0]
    assert (status, mean) == ("success", pytest.approx(2 / 3))
    assert [one[0].split()[0] for one in samples] == ["q1", "q2", "q0", "q3"]
    assert [one[6] for one in samples] == [[0.0], [], [1.0], [1.0]]
    assert (samples[0][2], samples[0][3], samples[0][5]) == (f"wrong {EVIL}", "5", None)
    assert samples[0][4] == f"{EVIL} 7"
    assert "alert(1)" in samples[1][5]
    assert read[1][2][0][2] == "half \\ud800"
