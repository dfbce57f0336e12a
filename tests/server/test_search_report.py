"""The report of a search: one page that loads nothing, whatever workflow, prompts and titles say."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write

from merrow_analysis.check import analyse
from merrow_optimizer.optimization.record import load
from merrow_optimizer.search.held_out import HeldOutResult
from merrow_runtime.store.database import Store
from merrow_server.optimizations.search_charts import Leaf, Line, Point, plane_chart, tree_chart
from merrow_server.optimizations.search_data import record_lines
from merrow_server.optimizations.search_html import as_html
from merrow_server.optimizations.search_words import report_lines
from merrow_server.rendering.workflow_sketch import difference_words, sketch

HOSTILE = "</pre><script src=https://evil.example/x.js>alert(1)</script><img src=x onerror=alert(2)>"
FLOW = f"""\
---
workflow:
  model: m-1
  temperature: 0.7
  prompts:
    hostile: "{HOSTILE} & first"
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: hostile)"]
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""


def answer(request: Received) -> Step:
    """Right more often where the prompt is long."""
    said = json.dumps(request.body["messages"])
    numbers = [int(word) for word in re.findall(r"What is (\d+)", said)]
    luck = int(hashlib.sha256(said.encode()).hexdigest(), 16) % 100
    return Reply(str(2 * numbers[0]) if numbers and luck < (40 if len(said) < 400 else 75) else "7")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a search that has ended."""
    with pytest.MonkeyPatch.context() as patch, serving(answer) as server:
        place = tmp_path_factory.mktemp("search")
        patch.chdir(place)
        environment(patch, place, server)
        write("flow.mmd", FLOW)
        rows = [{"id": f"q{n}", "problem": f"What is {n} plus {n}?", "answer": str(2 * n)} for n in range(30)]
        write("own.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")
        done = merrow("optimize", "flow.mmd", *own, "--budget-evaluations", "240", "--out", "found")
        assert done.code == 0, done.err
        yield place


def environment(patch: pytest.MonkeyPatch, place: Path, server: OpenAIServer) -> None:
    patch.setenv("MERROW_STATE_DIR", str(place / "state"))
    patch.setenv("MERROW_CONFIG_DIR", str(place / "config"))
    patch.setenv("OPENAI_BASE_URL", server.base_url)
    patch.setenv("OPENAI_API_KEY", "sk-test")


class Page(HTMLParser):
    """What a page has: its tags with their attributes, its text, and which tags were left open."""

    _VOID = ("meta", "circle", "line", "rect", "path", "polyline", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self._VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._VOID:
            return
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def loads_nothing(page: Page) -> bool:
    names = {name for name, _ in page.attributes}
    links = [value for name, value in page.attributes if name in ("href", "src")]
    return (
        not {"script", "img", "iframe", "link", "object"} & set(page.tags)
        and not any(name.startswith("on") or name in ("src", "style") for name in names)
        and all(link.startswith("#") for link in links)
    )


@pytest.mark.slow
def test_the_report_is_written_beside_the_rounds_and_loads_nothing(folder: Path) -> None:
    text = (folder / "found" / "report.html").read_text("utf-8")
    page = Page(text)
    assert page.open == []
    assert loads_nothing(page)
    assert any(value.startswith("default-src 'none'") for _, value in page.attributes)
    assert HOSTILE in page.words
    for wanted in ("Search for a better flow.mmd", "What helps", "Where candidates come from", "Text with prompts"):
        assert wanted in page.words
    rounds = sorted(path.stem for path in (folder / "found").glob("round_*.mmd"))
    assert len(rounds) > 3
    anchors = {value for name, value in page.attributes if name == "id"}
    assert {f"round-{int(name[-3:])}" for name in rounds} <= anchors
    assert {value[1:] for name, value in page.attributes if name == "href"} <= anchors


@pytest.mark.slow
def test_the_report_is_shown_again_and_written_where_it_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    search = merrow("optimizations", "--format", "json").json[0]["search"]
    shown = merrow("show", search, "--format", "html")
    assert shown.out.rstrip("\n") == (folder / "found" / "report.html").read_text("utf-8").rstrip("\n")
    assert merrow("show", search, "--format", "html", "-o", "page.html").code == 0
    assert (folder / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    refused = merrow("show", search, "-o", "page.html")
    assert refused.code == 2
    assert "-o writes a page; add --format html." in refused.err
    nowhere = merrow("show", search, "--format", "html", "-o", "missing/page.html")
    assert nowhere.code == 2
    assert "missing/page.html can't be written" in nowhere.err


@pytest.mark.slow
def test_the_record_has_what_the_report_has(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    search = merrow("optimizations", "--format", "json").json[0]["search"]
    told = [json.loads(line) for line in merrow("show", search, "--format", "json").out.splitlines()]
    [front] = [line for line in told if line["event"] == "front"]
    [effects] = [line for line in told if line["event"] == "effects"]
    rounds = {line["candidate"]: line for line in told if line["event"] == "candidate"}
    assert len(rounds) == sum(line["event"] == "candidate" for line in told)
    assert set(front["candidates"]) <= set(rounds)
    assert told[-1]["crown"] in front["candidates"]
    assert effects["why"] is None
    page = Page((folder / "found" / "report.html").read_text("utf-8")).words
    for one in effects["effects"][:5]:
        assert f"{one['mean']:+.3f}" in page
        assert one["what"][0][:100] in page
    assert rounds[0]["changes"] is None
    assert all(line["changes"] for number, line in rounds.items() if number)


@pytest.mark.slow
def test_no_score_of_the_chart_is_below_0_or_above_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interval of a difference may reach beyond what a score can be; the chart's axis has some room above it alone."""
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    result = HeldOutResult(10, 0.5, 0.6, 0.1, (-0.9, 0.9), 2, 1, "McNemar", 1.0, 0.7, 0, 0, None, None)
    page = as_html(replace(found, held_out=result))
    chart = page[page.index("Score against answers") :].partition("</figure>")[0]
    low, high = (float(one) for one in re.findall(r'text-anchor="end"[^>]*>(-?\d\.\d\d)<', chart)[:2])
    assert (low, high) == (0.0, 1.05)
    assert "This many items would show a difference of 0.700 with probability .8." in page


def test_a_round_says_what_is_known_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a search was stopped at once, the start has no score."""
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    start = found.candidates[0]
    for score, cost, said in (
        (None, None, "3 nodes, 1 call. File"),
        (0.5, None, "3 nodes, 1 call, mean 0.500 on 2 answers. File"),
        (None, 0.0125, "3 nodes, 1 call, about $0.0125 an item. File"),
    ):
        scores = () if score is None else (0.0, 1.0)
        candidates = [replace(start, told=score, scores=scores, cost=cost)]
        page = Page(as_html(replace(found, candidates=candidates, draws=[]))).words
        estimated = "not scored" if score is None else "estimated 0.500"
        assert said in page.partition(f"Round 0: {estimated}, the best")[2]


@pytest.mark.parametrize("costs", [(0.01, 0.02), (0.01, None), (None, 0.02)])
def test_costs_of_an_item_are_said_where_both_are_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch, costs: tuple[float | None, float | None]
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    result = HeldOutResult(10, 0.5, 0.6, 0.1, (-0.9, 0.9), 2, 1, "McNemar", 1.0, 0.7, 0, 0, *costs)
    said = " ".join(report_lines(replace(found, held_out=result), whole=False))
    assert "best 0.600, start 0.500 on 10 items" in said
    sentence = "One item costs about $0.0100 with the start and about $0.0200 with the best, by a dry run."
    assert ("One item costs" in said, sentence in said) == ((None not in costs),) * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"p": None, "read_before": 1}, "; these items were read once before, so there is no p."),
        ({"p": None, "read_before": 2}, "; these items were read 2 times before, so there is no p."),
        ({"p": 0.0004}, ", p < 0.001 (McNemar): better."),
        ({"p": 0.049, "left_out": 1}, ", p = 0.049 (McNemar): better. 1 item could not be scored for both."),
        (
            {"p": 0.05},
            ", p = 0.050 (McNemar): no difference is shown. This many items would show a difference of 0.700 with"
            " probability .8.",
        ),
        (
            {"p": 0.01, "difference": -0.1, "showable": 1.0, "left_out": 2},
            ", p = 0.010 (McNemar): no difference is shown. So few items show no difference with probability .8, however"
            " large it is. 2 items could not be scored for both.",
        ),
    ],
)
def test_what_the_held_out_items_say_is_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], said: str
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    result = replace(HeldOutResult(10, 0.5, 0.6, 0.1, (-0.9, 0.9), 2, 1, "McNemar", 1.0, 0.7, 0, 0, None, None), **more)
    (line,) = [
        line for line in report_lines(replace(found, held_out=result), whole=False) if line.startswith("Held out")
    ]
    figures = f"{result.difference:+.3f} [-0.900, +0.900] (Tango)"
    assert line == f"Held out: best 0.600, start 0.500 on 10 items: {figures}{said}"
    page = Page(as_html(replace(found, held_out=result))).words
    assert said.lstrip(",; ") in page


def test_of_many_candidates_the_best_are_listed_and_a_long_text_is_cut_short(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    start = replace(found.candidates[0], cost=0.25)
    many = [replace(start, number=number, told=number / 100) for number in range(43)]
    found = replace(found, draws=[], held_out=None)
    lines = list(report_lines(replace(found, candidates=many[:40]), whole=True))
    assert [line.split()[0] for line in lines[1:41]] == [str(number) for number in range(39, -1, -1)]
    assert lines[41] == ""
    lines = list(report_lines(replace(found, candidates=many), whole=True))
    assert [line.split()[0] for line in lines[1:41]] == [str(number) for number in range(42, 2, -1)]
    assert lines[41] == f"and 3 more, all with: merrow show {found.id} --format json"
    cut = "\n... and {}, see its file"
    for length, more in (
        (40_000, ""),
        (40_001, cut.format("1 more character")),
        (41_234, cut.format("1,234 more characters")),
    ):
        text = start.text + "%" * (length - len(start.text))
        page = Page(as_html(replace(found, candidates=[replace(start, text=text)]))).words
        assert page.count("%" * (40_000 - len(start.text)) + more) == 1
        assert ("more character" in page) is bool(more)


def test_a_candidate_that_can_not_be_read_any_more_hides_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of Merrow may have made it: its text is shown, and what helps is not guessed."""
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    last = found.candidates[-1]
    odd = replace(found, candidates=[*found.candidates[:-1], replace(last, text="flowchart TD\n    odd ]]\n")])
    (effects,) = [line for line in record_lines(odd) if line["event"] == "effects"]
    assert effects["effects"] == []
    assert effects["why"]
    changes = {line["candidate"]: line["changes"] for line in record_lines(odd) if line["event"] == "candidate"}
    assert [number for number, one in changes.items() if one is None] == [0, last.number]
    page = Page(as_html(odd))
    assert effects["why"] in page.words
    assert "odd ]]" in page.words
    assert page.words.count("What changed (") == Page(as_html(found)).words.count("What changed (") - 1


def test_titles_names_and_errors_are_text_whatever_they_say(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    plan = {**found.search.plan, "asked": {**found.search.plan["asked"], "dataset": HOSTILE}, "folder": HOSTILE}
    record = replace(found.search, workflow=f"/w/{HOSTILE}", metric=HOSTILE, model=HOSTILE, error=HOSTILE, plan=plan)
    candidates = [replace(one, title=HOSTILE, operator=HOSTILE) for one in found.candidates]
    page = Page(as_html(replace(found, search=record, candidates=candidates)))
    assert loads_nothing(page)
    assert page.open == []
    assert page.words.count(HOSTILE) > len(candidates)


def test_the_best_is_named_where_it_is_and_paths_are_quoted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(folder / "state"))
    with closing(Store.open()) as store:
        found = load(store, store.optimizations.newest(1)[0].id)
    assert found.crown != 0

    def last(workflow: str, status: Literal["finished", "stopped"] = "finished") -> str:
        record = replace(found.search, workflow=workflow, status=status, plan={**found.search.plan, "folder": "/w/a b"})
        return list(report_lines(replace(found, search=record), whole=False))[-1]

    best = f"/w/a b/{found.candidates[found.crown].file}"
    differs = "To see what it changes: diff"
    assert last("/w/my flow.mmd") == f"The best is /w/a b/best.mmd. {differs} '/w/my flow.mmd' '/w/a b/best.mmd'"
    assert last("/w/flow.mmd", "stopped") == f"The best is {best}. {differs} /w/flow.mmd '{best}'"
    assert last("/w/doc.md#2") == last("/w/doc.md") == "The best is /w/a b/best.mmd."


LINE = """flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "one"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""
LONGER = LINE.replace("A --> RETURN", "A --> B@{op: Format} --> RETURN")


def test_what_changed_is_drawn_and_told() -> None:
    before, after = analyse(LINE), analyse(LONGER)
    lines = difference_words(before, after)
    assert lines[0] == "+ B (Format)"
    assert [line.split(" (")[0] for line in lines[1:]] == ["+ A -> B", "+ B -> RETURN", "- A -> RETURN"]
    reworded = LINE.replace('prompt: "one"', 'prompt: "two", samples: 3')
    assert difference_words(before, analyse(reworded)) == [
        "~ prompt of A: two",
        "~ samples of A: as usual becomes 3",
    ]
    assert sketch("Round 2", analyse(reworded), before).count('class="node new"') == 1
    drawn = sketch("Round 1", after, before)
    assert drawn.count('class="node new"') == 1
    assert drawn.count('class="node"') == 3
    assert 'class="edge new"' in drawn
    assert "new" not in sketch("Round 0", before)


@given(st.lists(st.integers(0, 30), max_size=40), st.text(max_size=20))
def test_a_tree_has_each_candidate_once_and_no_two_at_one_place(parents: list[int], said: str) -> None:
    leaves = [Leaf(0, None, 0.5, "best", said)]
    for number, parent in enumerate(parents, 1):
        leaves.append(Leaf(number, parent % number, None if number % 3 else 0.25, "other", said))
    drawn = tree_chart("tree", leaves)
    places = re.findall(r'<circle class="leaf \w+" cx="([\d.]+)" cy="([\d.]+)"', drawn)
    assert len(places) == len(set(places)) == len(leaves)
    assert loads_nothing(Page(drawn))


numbers = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers), max_size=20), st.text(max_size=20))
def test_every_point_of_a_chart_is_inside_it(places: list[tuple[float, float]], said: str) -> None:
    points = [Point(x, y, "scored", said, (y - 1, y + 1)) for x, y in places]
    drawn = plane_chart(said, said, said, points, [Line(places, "told", is_step=True)] if places else [])
    page = Page(drawn)
    assert loads_nothing(page)
    assert page.open == []
    found = [
        (float(x), float(y)) for x, y in re.findall(r'<circle class="scored" cx="([-\d.]+)" cy="([-\d.]+)"', drawn)
    ]
    assert len(found) == len(places)
    assert all(0 <= x <= 560 and 0 <= y <= 260 for x, y in found)
