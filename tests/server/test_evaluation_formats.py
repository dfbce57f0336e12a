"""Evaluations in the formats of other programs, read by those or by readers that are not ours; hostile texts in all of them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Iterator, Sequence
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
from merrow_server.evaluations import evaluation_formats
from merrow_server.evaluations.evaluation_formats import FORMATS
from merrow_server.evaluations.tables import comparison_lines, table_lines

INSPECT = Path(__file__).resolve().parents[2] / ".venv-inspect" / "bin" / "python"
"""`make test-all` installs inspect-ai there."""
FLOW = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""
EVIL = '<script>alert(1)</script><img src="http://evil.test/x" onerror=x>\x1b[2J\x00 ]]> -->\u202e&amp;"\'\n::error::'


def formatted(report: dict[str, Any], form: str, failed: Sequence[str] = ()) -> str:
    return "".join(evaluation_formats.formatted(report, form, failed))


def as_html(report: dict[str, Any], failed: Sequence[str]) -> str:
    return formatted(report, "html", failed)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    def answer(request: Received) -> Step:
        text = request.body["messages"][-1]["content"]
        return Status(400, EVIL) if "refused" in text else Reply(f"{EVIL} {'7' if 'wrong' in text else '5'}")

    with serving(answer) as server:
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
    "testcase": ({"name", "classname"}, {"time"}, {"skipped", "error", "failure", "system-out"}),
    "system-out": (set(), set(), set()),
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


@pytest.mark.slow
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
        "exhausted": sum(row["exhausted"] > 0 for row in rows),
        "rows": rows,
    }


def row_of(number: int, status: str, text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 300, "completion_tokens": 200, "calls": 3, "cost_usd": 0.001}
    value = {"right": 1.0, "wrong": 0.0, "failed": 0.0}.get(status)
    said = {"read": text[:1000], "gold": text[:200], "reason": text[:1000], "output": text, "inputs": {"P": text}}
    return {
        "item": f"q{number} {text[:9]}",
        "title": f"q{number} {text[:9]}",
        "repeat": 0,
        "status": status,
        "value": value,
        "usage": usage,
        "seconds": 1.5,
        "run": f"e1/q{number}",
        "exhausted": 0,
        **said,
        "fields": {},
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


@pytest.mark.slow
def test_a_thousand_items_take_few_steps_and_three_megabytes() -> None:
    words = Path(__file__).read_text(encoding="utf-8") * 2
    rows = [row_of(n, ("right", "wrong", "failed")[n % 3], words[n * 7 : n * 7 + 1200]) for n in range(1000)]
    report = report_of(rows)
    assert steps(lambda: as_html(report, [])) < 1_000_000
    text = as_html(report, [])
    assert len(text.encode()) <= 3_000_000
    assert len(Page(text).rows) == 1001


@pytest.mark.slow
@pytest.mark.skipif(
    not INSPECT.exists(), reason="inspect-ai is not in .venv-inspect, where `make test-all` installs it"
)
def test_inspect_reads_its_log(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.json").write_text(evaluated(capsys, "inspect").out, encoding="utf-8")
    odd = report_of([row_of(0, "right", "half \ud800"), row_of(1, "invalid", EVIL)])
    Path("odd.json").write_text(formatted(odd, "inspect"), encoding="utf-8")
    program = (
        "import json, sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1]);"
        "score = log.results.scores[0];"
        "print(json.dumps([log.status, score.metrics['mean'].value, [[one.id, one.epoch, one.input, one.target,"
        " one.output.completion, one.error and one.error.message, [s.value for s in one.scores.values()]]"
        " for one in log.samples]]))"
    )
    read = [
        json.loads(subprocess.run([INSPECT, "-c", program, name], capture_output=True, check=True, timeout=120).stdout)
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


def rich_report() -> dict[str, Any]:
    """Four answers to two items, asked twice each, of an evaluation that was stopped."""
    paid = {"prompt_tokens": 1, "completion_tokens": 2, "calls": 1, "cost_usd": None}
    rows = [
        row_of(0, "failed", "b<d"),
        {**row_of(0, "right", "2\nlines"), "repeat": 1, "seconds": 0.5, "reason": ""},
        {**row_of(1, "right", "x" * 120), "read": "x" * 121, "seconds": 1234.5, "usage": paid},
        {**row_of(1, "invalid", ""), "repeat": 1, "seconds": 0.0, "usage": {**paid, "cost_usd": 0.0}},
    ]
    return {
        **report_of(rows),
        "repeats": 2,
        "items": 2,
        "counted": 1,
        "missing": 1234,
        "held_out": True,
        "status": "cancelled",
        "error": "It was <stopped>.",
        "pass_hat": [0.75, None, 0.5],
        "flaky": ["q0"],
        "seconds": 1234.56,
        "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "calls": 3000, "cost_usd": 0.25},
    }


def facts(page: str) -> dict[str, str]:
    """The terms of a page with what is said of each."""
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))


def test_html_says_all_that_is_known_of_an_evaluation() -> None:
    rich = as_html(rich_report(), ["It is <low>.", "It is dear."])
    title = "/w/flow.mmd: 0.500 [0.250, 0.750] on 1 item"
    assert f"<title>{title}</title>" in rich
    gates = [f'<p class="gate">Gate failed: It is {said}.</p>' for said in ("&lt;low&gt;", "dear")]
    assert "\n".join(["<body>", f"<h1>{title}</h1>", *gates, "<dl>"]) in rich
    assert facts(rich) == {
        "Evaluation": "e1, cancelled",
        "Stopped by": "It was &lt;stopped&gt;.",
        "Data": "/d/own.jsonl (part all, held out)",
        "Metric": "exact",
        "Score": "0.500 [0.250, 0.750] on 1 item, 95 % interval",
        "Answers": "2 right, 1 failed, 1 invalid, 1,234 not asked yet",
        "Model": "m at o",
        "Used": "3,000 calls, 1,500 tokens, $0.2500",
        "Time": "1,234.6 s",
        "Repeats": "2; pass^1 0.750, pass^3 0.500; 1 flaky",
    }
    bare = as_html({**report_of([]), "score": None, "interval": None}, [])
    assert facts(bare) == {
        "Evaluation": "e1, finished",
        "Data": "/d/own.jsonl (part all)",
        "Metric": "exact",
        "Score": "no score",
        "Model": "m at o",
        "Used": "3 calls, 15 tokens, cost unknown",
        "Time": "5.0 s",
    }
    assert [re.findall(r'id="only-(\w+)"( checked)?', page) for page in (rich, bare)] == [
        [("all", " checked"), ("failed", ""), ("invalid", ""), ("right", "")],
        [("all", " checked")],
    ]
    assert re.findall(r"<figcaption>(.*?)</figcaption>", bare) == ["Answers: none", "No item has a score"]


def cells(page: str) -> list[list[str]]:
    """The cells of each row of answers."""
    rows = re.findall(r'<tr class="\w+">(.*?)</tr>', page, re.DOTALL)
    return [re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL) for row in rows]


def folded(text: str, shown: str) -> str:
    return f"<details><summary>{shown}...</summary><pre>{text}</pre></details>"


def test_html_has_a_row_for_each_answer_and_folds_what_is_long() -> None:
    def status(name: str) -> str:
        return f'<span class="status">{name}</span>'

    page = as_html(rich_report(), [])
    lines, long, longer = folded("2\nlines", "2"), "x" * 120, folded("x" * 121, "x" * 80)
    assert cells(page) == [
        ["b&lt;d", "q0 b&lt;d (1)", status("failed"), *["b&lt;d"] * 3, "as the answer", "$0.0010", "1.50", "e1/q0"],
        [
            lines,
            folded("q0 2\nlines (2)", "q0 2"),
            status("right"),
            lines,
            lines,
            "",
            "as the answer",
            "$0.0010",
            "0.50",
            "e1/q0",
        ],
        [long, f"q1 {'x' * 9} (1)", status("right"), longer, long, long, long, "cost unknown", "1234.50", "e1/q1"],
        ["", "q1  (2)", status("invalid"), "", "", "", "", "$0", "0.00", "e1/q1"],
    ]
    assert re.findall(r'<tr class="(\w+)">', page) == ["failed", "right", "right", "invalid"]
    named = as_html(report_of([{**row_of(0, "right", ""), "title": "n" * 8_001}]), [])
    assert cells(named)[0][1] == folded("n" * 8_000 + "\n... and 1 more character, see merrow show", "n" * 80)
    assert cells(as_html(report_of([{**row_of(0, "right", '"'), "run": '"'}]), []))[0][-1] == '"'
    # Where each item is asked once, no number of a repeat is said; what an item read, its right answer and the reason have a
    # quarter of its share each, and the answer half of it.
    for count, share in ((1, 8_000), (187, 8_000), (188, 1_500_000 // 188)):
        rows = [row_of(number, "wrong", "") for number in range(count)]
        rows[0] |= {"read": "r" * (share // 4), "gold": "g" * (share // 4 + 1), "output": "o" * (share // 2 + 2000)}
        (first, *_) = cells(as_html(report_of(rows), []))
        assert first[1] == "q0 "
        more = "\n... and {}, see merrow show"
        assert first[3:7] == [
            folded("r" * (share // 4), "r" * 80),
            folded("g" * (share // 4) + more.format("1 more character"), "g" * 80),
            "",
            folded("o" * (share // 2) + more.format("2,000 more characters"), "o" * 80),
        ]


def drawn(page: str) -> list[tuple[str, str, list[str]]]:
    """The charts of a page: what each is of, its size, and its parts."""
    charts = re.findall(r"<figure><figcaption>(.*?)</figcaption><svg (.*?)>(.*?)</svg></figure>", page)
    return [(said, size, re.findall(r"<\w+ .*?(?:/>|</(?:rect|text)>)", parts)) for said, size, parts in charts]


def text_at(x: float, y: float, anchor: str, said: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{said}</text>'


def test_charts_of_an_evaluation_are_drawn_to_scale() -> None:
    answers, score, seconds, tokens = drawn(as_html(rich_report(), []))
    said = "2 right, 1 failed, 1 invalid"
    bars = [("right", 0, 180, 2), ("failed", 180, 90, 1), ("invalid", 270, 90, 1)]
    assert answers == (
        f"Answers: {said}",
        f'role="img" aria-label="Answers: {said}" viewBox="0 0 360 90" width="360" height="90"',
        [
            *(
                f'<rect class="{name}" x="{x}.0" y="20" width="{wide}.0" height="40"><title>{count} {name}</title></rect>'
                for name, x, wide, count in bars
            ),
            text_at(0, 80, "start", said),
        ],
    )
    name = "Score 0.500, 95 % interval 0.250 to 0.750"
    ticks = [(20, "0"), (100, "0.25"), (180, "0.5"), (260, "0.75"), (340, "1")]
    axis = ['<line class="axis" x1="20" y1="45" x2="340" y2="45"/>']
    for x, tick in ticks:
        axis += [f'<line class="axis" x1="{x}.0" y1="41" x2="{x}.0" y2="49"/>', text_at(x, 68, "middle", tick)]
    size = 'role="img" aria-label="{0}" viewBox="0 0 360 {1}" width="360" height="{1}"'
    interval = '<rect class="interval" x="{:.1f}" y="35" width="{:.1f}" height="20"/>'
    circle = '<circle class="score" cx="{:.1f}" cy="45" r="6"/>'
    assert score == (name, size.format(name, 90), [*axis, interval.format(100, 160), circle.format(180)])

    def bin_(x: float, y: float, high: float, title: str) -> str:
        return (
            f'<rect class="bin" x="{x:.1f}" y="{y:.1f}" width="13.0" height="{high:.1f}"><title>{title}</title></rect>'
        )

    name = "Seconds of an answer"
    bars_ = [bin_(1, 0, 110, "3 from 0 to 51.4 s"), bin_(346, 73.33, 36.67, "1 from 1,183 to 1,234 s")]
    ends = [text_at(0, 126, "start", "0"), text_at(360, 126, "end", "1,234 s")]
    assert seconds == (name, size.format(name, 132), [*bars_, *ends])
    name = "Tokens of an answer"
    bars_ = [bin_(1, 0, 110, "2 from 0 to 20.8 tokens"), bin_(346, 0, 110, "2 from 479 to 500 tokens")]
    ends = [text_at(0, 126, "start", "0"), text_at(360, 126, "end", "500 tokens")]
    assert tokens == (name, size.format(name, 132), [*bars_, *ends])

    *_, none = drawn(as_html({**report_of([]), "score": None, "interval": None}, []))
    assert none == ("No item has a score", size.format("No item has a score", 90), axis)
    # Without a score the line alone is there; an interval beyond it ends with it; one without width can be seen.
    rows = [{**row_of(0, "right", ""), "seconds": 0.0}]
    for known, shown in (
        ((None, None), []),
        ((0.0, [-0.5, 1.5]), [interval.format(20, 320), circle.format(20)]),
        ((1.0, [1.0, 1.0]), [interval.format(340, 1), circle.format(340)]),
    ):
        report = {**report_of(rows), "score": known[0], "interval": known[1]}
        (_, score, *rest) = drawn(as_html(report, []))
        assert score[2] == [*axis, *shown]
        assert [one[0] for one in rest] == ["Tokens of an answer"], "nothing took any time"
    # What is rare can be seen, too.
    many = {**report_of(rows), "answers": {"right": 5000, "wrong": 0, "failed": 1}}
    assert drawn(as_html(many, []))[0][2][:2] == [
        '<rect class="right" x="0.0" y="20" width="359.9" height="40"><title>5,000 right</title></rect>',
        '<rect class="failed" x="359.9" y="20" width="1.0" height="40"><title>1 failed</title></rect>',
    ]


def test_inspect_gets_all_that_is_known_of_an_evaluation() -> None:
    rich = rich_report()
    rows = [{**rich["rows"][0], "inputs": {"P": "six", "Q": 2}}, *rich["rows"][1:]]
    rows[3] = {**rows[3], "inputs": None, "reason": "half \ud800"}
    del rows[3]["output"]
    rich |= {"rows": rows, "items": 3}
    log = json.loads(formatted(rich, "inspect"))
    samples = log.pop("samples")
    stopped = {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500, "total_cost": 0.25}
    times = {"started_at": "2001-09-09T01:46:40+00:00", "completed_at": "2001-09-09T02:07:14+00:00"}
    names = [("mean", 0.5), ("lower", 0.25), ("upper", 0.75)]
    scored = {"name": "exact", "scorer": "exact", "scored_samples": 1, "unscored_samples": 2}
    of_run = {"eval_id": "e1", "run_id": "e1", "task_id": "e1", "created": "2001-09-09T01:46:40+00:00"}
    assert log == {
        "version": 2,
        "status": "cancelled",
        "eval": {
            **of_run,
            "task": "flow",
            "task_file": "/w/flow.mmd",
            "dataset": {
                "name": "own",
                "location": "/d/own.jsonl",
                "samples": 3,
                "sample_ids": ["q0 b<d", "q0 2\nlines", f"q1 {'x' * 9}", "q1 "],
            },
            "model": "m",
            "model_base_url": "o",
            "config": {"epochs": 2},
            "metadata": {"part": "all", "held_out": True, "seed": 42},
        },
        "plan": {"name": "merrow", "steps": []},
        "results": {
            "total_samples": 6,
            "completed_samples": 4,
            "scores": [{**scored, "metrics": {name: {"name": name, "value": value} for name, value in names}}],
        },
        "stats": {**times, "model_usage": {"m": stopped}},
    }
    asked = {"role": "user", "content": '{\n  "P": "six",\n  "Q": 2\n}', "source": "input"}
    said = {"role": "assistant", "content": "b<d", "source": "generate", "model": "m"}
    used = {"input_tokens": 300, "output_tokens": 200, "total_tokens": 500, "total_cost": 0.001}
    assert samples[0] == {
        "id": "q0 b<d",
        "epoch": 1,
        "input": asked["content"],
        "target": "b<d",
        "messages": [asked, said],
        "output": {"model": "m", "choices": [{"message": said, "stop_reason": "stop"}], "completion": "b<d"},
        "model_usage": {"m": used},
        "total_time": 1.5,
        "working_time": 1.5,
        "metadata": {"status": "failed", "run": "e1/q0", "exhausted": 0},
        "scores": {"exact": {"value": 0.0, "answer": "b<d", "explanation": "b<d"}},
    }
    assert [one["epoch"] for one in samples] == [1, 2, 1, 2]
    assert (samples[1]["input"], samples[1]["scores"]["exact"]["explanation"]) == ("2\nlines", "")
    assert samples[2]["model_usage"] == {"m": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}
    assert samples[3]["messages"] == [{**asked, "content": ""}]
    assert (samples[3]["output"], samples[3]["scores"]) == ({"model": "m", "choices": []}, {})
    half = "half \\ud800"
    assert samples[3]["error"] == {"message": half, "traceback": half, "traceback_ansi": half}


@pytest.mark.parametrize(
    ("status", "error", "said", "why"),
    [
        ("running", None, "started", None),
        ("finished", None, "success", None),
        ("cancelled", "No.", "cancelled", None),
        ("failed", "No.", "error", "No."),
        ("stopped", None, "error", "Its process ended before it did."),
    ],
)
def test_inspect_knows_how_an_evaluation_ended(status: str, error: str | None, said: str, why: str | None) -> None:
    rows = [row_of(0, "right", ""), row_of(1, "unanswered", "")]
    report = {**report_of(rows), "status": status, "error": error, "model": "", "score": None, "interval": None}
    log = json.loads(formatted(report, "inspect"))
    assert (log["status"], log.get("error", {}).get("message")) == (said, why)
    assert log["stats"]["completed_at"] == ("" if said == "started" else "2001-09-09T01:46:45+00:00")
    assert log["results"]["completed_samples"] == 1
    assert log["results"]["scores"][0]["metrics"] == {}
    models = [log["eval"]["model"], *log["stats"]["model_usage"], log["samples"][0]["output"]["model"]]
    assert [*models, *log["samples"][0]["model_usage"]] == ["none"] * 4


def test_an_item_without_an_id_of_its_own_is_known_by_its_line_where_people_look() -> None:
    title = "0123456789ab (line 12345)"
    rows = [{**row_of(0, "wrong", "x"), "item": "0123456789ab", "title": title, "repeat": 8 + at} for at in (0, 1)]
    report = {**report_of(rows), "repeats": 10, "pass_hat": [], "flaky": []}
    assert [re.split(" {2,}", line)[1] for line in table_lines(report["rows"])][1:] == [
        f"{title} (9)",
        f"{title} (10)",
    ]
    assert f"<td>{title} (10)" in as_html(report, [])
    assert f"title=Item {title}%3A wrong" in formatted(report, "github")
    for form in ("junit", "csv"):
        assert title not in formatted(report, form), "what identifies it in other programs stays"


def test_ci_gets_what_an_evaluation_came_to() -> None:
    rich = {**rich_report(), "rows": [*rich_report()["rows"], {**row_of(2, "unanswered", "why?"), "repeat": 1}]}
    counts = 'tests="5" failures="1" errors="1" skipped="1" time="1234.560"'
    rich["answers"] = {"right": 2, "wrong": 0, "failed": 1, "unanswered": 1, "invalid": 1}
    case = '    <testcase name="{}" classname="/w/flow.mmd" time="{}"'
    assert formatted(rich, "junit").splitlines() == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="merrow evaluate" {counts}>',
        f'  <testsuite name="/w/flow.mmd" {counts}>',
        case.format("q0 b&lt;d (1)", "1.500") + ">",
        '      <failure message="b&lt;d" type="failed">inputs: b&lt;d',
        "answer: b&lt;d",
        "expected: b&lt;d",
        "run: e1/q0</failure>",
        "    </testcase>",
        case.format("q0 2␊lines (2)", "0.500") + ">",
        "      <system-out>inputs: 2",
        "lines</system-out>",
        "    </testcase>",
        case.format(f"q1 {'x' * 9} (1)", "1234.500") + ">",
        f"      <system-out>inputs: {'x' * 120}</system-out>",
        "    </testcase>",
        case.format("q1  (2)", "0.000") + ">",
        '      <error message="" type="invalid">inputs: ',
        "answer: ",
        "expected: ",
        "run: e1/q1</error>",
        "    </testcase>",
        case.format("q2 why? (2)", "1.500") + ">",
        '      <skipped message="why?"/>',
        "      <system-out>inputs: why?</system-out>",
        "    </testcase>",
        "  </testsuite>",
        "</testsuites>",
    ]
    assert formatted(rich, "csv") == (
        "inputs,item,repeat,status,value,read,gold,reason,cost_usd,calls,seconds,run,exhausted\n"
        "b<d,q0 b<d,0,failed,0.0,b<d,b<d,b<d,0.001,3,1.5,e1/q0,0\n"
        '"2\nlines","q0 2\nlines",1,right,1.0,"2\nlines","2\nlines",,0.001,3,0.5,e1/q0,0\n'
        f"{'x' * 120},q1 {'x' * 9},0,right,1.0,{'x' * 121},{'x' * 120},{'x' * 120},,1,1234.5,e1/q1,0\n"
        ",q1 ,1,invalid,,,,,0.0,1,0.0,e1/q1,0\n"
        "why?,q2 why?,1,unanswered,,why?,why?,why?,0.001,3,1.5,e1/q2,0"
    )
    for report in (rich, report_of([])):
        shown = formatted(report, "json")
        assert json.loads(shown) == report
        assert [line.strip().rstrip(",") for line in shown.splitlines() if line.startswith("    {")] == [
            json.dumps(row) for row in report["rows"]
        ]
    once = report_of([row_of(0, "wrong", "a"), row_of(1, "right", "a")])
    assert re.findall(r'case name="(.*?)"', formatted(once, "junit")) == ["q0 a", "q1 a"]
    assert re.findall(r'suites? .*?failures="(\d)" errors="(\d)"', formatted(once, "junit")) == [("1", "0")] * 2
    many = report_of([row_of(number, ("right", "wrong")[number % 2], "a") for number in range(22)])
    notice, gate, *items = formatted(many, "github", ["It is low."]).splitlines()
    assert notice == "::notice file=/w/flow.mmd,title=merrow evaluate::Score 0.500 [0.250, 0.750] on 22 items (exact)"
    assert gate == "::error file=/w/flow.mmd,title=merrow evaluate%3A gate failed::It is low."
    assert items == [
        f"::warning file=/w/flow.mmd,title=Item q{number} a%3A wrong::a Answer: a. Expected: a. Run: e1/q{number}"
        for number in range(1, 20, 2)
    ]
