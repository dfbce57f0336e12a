"""What a search came to in words and on its page, word for word, of searches put together by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from merrow_optimizer.optimization.record import (
    RecordedCandidate,
    RecordedDraw,
    RecordedProposals,
    SearchRecord,
)
from merrow_optimizer.search.held_out import HeldOutResult
from merrow_optimizer.suggestions.tallies import CandidateTally
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.workflow import check_workflow
from merrow_server.optimizations.search_html import as_html as page
from merrow_server.optimizations.search_words import report_lines

START = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "one"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""
TEXTS = (
    START,
    START.replace('"one"', '"other <words>"'),
    START.replace("A --> RETURN", "A --> B@{op: Custom, prompt: 'two'} --> RETURN"),
    START.replace('"one"', '"third"'),
)
PLAN: dict[str, Any] = {
    "folder": "/w/found",
    "items": ["q0", "q1", "q2", "q3"],
    "held_out": {"part": "test", "items": ["q4", "q5"]},
    "asked": {"dataset": "/d/own.jsonl"},
    "settings": {"objective": "score"},
    "origin": "o",
    "snapshot": check_workflow(START, name="flow.mmd").snapshot(),
}
RESULT = HeldOutResult(2, 0.5, 0.75, 0.25, (-0.25, 0.6), 1, 0, "McNemar", 0.2, 0.9, 0, 0, 0.01, 0.02)


def made(number: int, /, *parents: int, **more: Any) -> RecordedCandidate:
    """A candidate that has scored as its number says."""
    said: dict[str, Any] = {
        "operator": "prompt" if parents else "",
        "title": f"Change\n<{number}>" if parents else "",
        "number": number,
        "key": f"k{number}",
        "text": TEXTS[number],
        "nodes": number + 1,
        "calls": number + 1,
        "cost": 0.125 * (number + 1),
        "told": 0.25 * number,
        "scores": [0.0, 1.0, 1.0][: number + 1],
        "paid": Usage(1000 * number, 10, number, 0.5),
    }
    if "judged" in more:
        more["criteria"] = {"coherence": more.pop("judged")}
    return RecordedCandidate(parents=parents, **{**said, **more})


def answered(item: str) -> ScoreRecord:
    return ScoreRecord(item, 0, "right", 1.0, "", "", NOTHING, 0.0, "", b"", b"")


def drawn(number: int, candidate: int, crown: int | None, *items: str, **more: Any) -> RecordedDraw:
    said: dict[str, Any] = {"outcome": [1.0 for _ in items], "told": None if crown is None else 0.25 * crown}
    return RecordedDraw(
        number,
        candidate,
        [(item, 0) for item in items],
        [answered(item) for item in items],
        crown=crown,
        **{**said, **more},
    )


def found(**more: Any) -> SearchRecord:
    """A search of four candidates that has ended, whose third is the best; ``plan`` and fields of its record may be others."""
    said: dict[str, Any] = {
        "id": "s1",
        "workflow": "/w/my flow.mmd",
        "status": "finished",
        "started": 1e9,
        "dataset": "d",
        "part": "all",
        "metric": "exact",
        "model": "m-1",
        "strategy": "climb",
        "proposer": "moves",
        "seed": 7,
        "jobs": 2,
        "plan": PLAN,
        "over": "Nothing else is to be tried.",
        "seconds": 5.0,
        "error": None,
    }
    record = OptimizationRecord(**{name: more.pop(name, one) for name, one in said.items()})
    items = ("q0", "q1", "q2", "q3")
    fields: dict[str, Any] = {
        "state": record.status,
        "candidates": [made(0), made(1, 0), made(2, 1, 0), made(3, 0, told=None, scores=[], cost=None)],
        "draws": [drawn(1, 0, 0, *items), drawn(2, 1, 1, *items), drawn(3, 2, 2, *items), drawn(4, 3, None, "q0")],
        "held_out": RESULT,
        "held_out_answers": {},
    }
    return SearchRecord(record, **{**fields, **more})


def text_of(search: SearchRecord, *, whole: bool = False) -> str:
    return "\n".join(report_lines(search, whole=whole))


def test_a_search_that_has_ended_is_told_in_words() -> None:
    assert text_of(found(), whole=True) == (
        "round  of   by      estimated  scored  answers  calls  cost           change\n"
        "2      1+0  prompt  0.500      0.667   3        3      about $0.3750  Change <2>\n"
        "1      0    prompt  0.250      0.500   2        2      about $0.2500  Change <1>\n"
        "0      -    -       0.000      0.000   1        1      about $0.1250  the start\n"
        "3      0    prompt                     0        4      unknown        Change <3>\n"
        "\n"
        "Nothing else is to be tried.\n"
        "4 candidates, 13 answers, 6 calls, 6,040 tokens, $2.0000, 5.0 s\n"
        "\n"
        "Best: round 2, estimated 0.500 on 3 answers, the start 0.000; expect about .06 less on other items: it was chosen"
        " for this score.\n"
        "  round 1: Change␊<1> (0.250)\n"
        "  round 2: Change␊<2> with round 0 (0.500)\n"
        "Held out: best 0.750, start 0.500 on 2 items: +0.250 [-0.250, +0.600] (Tango), p = 0.200 (McNemar): no difference is"
        " shown. This many items would show a difference of 0.900 with probability .8.\n"
        "One item costs about $0.0100 with the start and about $0.0200 with the best, by a dry run.\n"
        "Round 1 is the cheapest of those that are about as good: estimated 0.250, about $0.2500 an item.\n"
        "\n"
        "The candidates are files in /w/found: round_000.mmd is the start.\n"
        "The best is /w/found/best.mmd. To see what it changes: diff '/w/my flow.mmd' /w/found/best.mmd"
    )
    # A search for more than the score; candidates without a price; and what was not said of some.
    pareto = {**PLAN, "settings": {"objective": "pareto"}}
    free = [
        made(0, cost=None, told=None),
        made(1, 0, cost=None, told=None),
        made(2, 1, cost=None),
        made(3, 2, cost=0.0),
    ]
    told = text_of(found(plan=pareto, candidates=free, held_out=replace(RESULT, start_cost=0.0))).splitlines()
    assert told[3:6] == [
        "Best: round 2, estimated 0.500 on 3 answers; expect about .06 less on other items: it was chosen for this score.",
        "  round 1: Change␊<1>",
        "  round 2: Change␊<2> (0.500)",
    ]
    assert told[7] == "One item costs $0 with the start and about $0.0200 with the best, by a dry run."
    assert told[8:10] == [
        "No other candidate beats these in estimated score and cost at once:",
        "  round_002.mmd  0.500  3 calls an item",
    ]
    assert text_of(found(plan=pareto)).count("\n  round_") == 3


def test_colours_are_for_what_is_looked_for_first() -> None:
    def coloured(text: str, **how: Any) -> str:
        return f"<{how}{text}>"

    said = "\n".join(report_lines(found(), whole=True, style=coloured))
    assert re.findall(r"<{(.*?)}(.*?)>", said.replace("Change <", "")) == [
        *(
            ("'bold': True", name)
            for name in ("round", "of", "by", "estimated", "scored", "answers", "calls", "cost", "change")
        ),
        ("'fg': 'green'", "2    "),
        ("'bold': True", "Best"),
        ("'bold': True", "Held out"),
    ]
    assert said.splitlines()[0].startswith(
        "<{'bold': True}round>  <{'bold': True}of>   <{'bold': True}by>      <{'bold': True}estimated>  "
    )


def test_a_search_that_is_under_way_says_what_it_knows_so_far() -> None:
    start, asked = made(0, scores=[1.0], paid=Usage(1, 0, 1, None)), [drawn(1, 0, 0, "q0")]
    so_far: dict[str, Any] = {"status": "stopped", "over": None, "held_out": None}
    told = text_of(found(**so_far, candidates=[start], draws=asked), whole=True).splitlines()
    assert told[3:] == [
        "1 candidate, 1 answer, 1 call, 1 token, cost unknown, 5.0 s",
        "",
        "No candidate is estimated to be better than the start so far.",
        "The 2 held-out items were not read yet.",
        "",
        "The candidates are files in /w/found: round_000.mmd is the start.",
    ]
    one = {**PLAN, "held_out": {"part": "test", "items": ["q4"]}}
    assert "\nThe 1 held-out item was not read yet.\n" in text_of(found(**so_far, plan=one))
    none = {**PLAN, "held_out": {"part": None, "items": []}}
    assert "\nNo item was held out, so that nothing is claimed about other items.\n" in text_of(
        found(**so_far, plan=none)
    )
    for nothing in ([], [made(0, told=None, scores=[], paid=NOTHING)]):
        told = text_of(found(**so_far, candidates=nothing, draws=[])).splitlines()
        assert told == [
            f"{len(nothing)} candidate{'' if nothing else 's'}, 0 answers, 0 calls, 0 tokens, " + "$0, 5.0 s"
        ]
    ended = text_of(found(candidates=[start], draws=asked, held_out=None)).splitlines()
    assert ended[3:5] == [
        "No improvement found: no candidate is estimated to be better than the start.",
        "The 2 held-out items were not read: there is nothing to compare.",
    ]
    assert ended[-1] == "The candidates are files in /w/found: round_000.mmd is the start."


def test_what_a_model_proposed_is_counted_by_its_form() -> None:
    asked = "A model was asked for candidates"
    for questions, failed, moves, graph, said in (
        (1, 0, CandidateTally(), CandidateTally(), f"{asked} 1 time."),
        (3, 1, CandidateTally(), CandidateTally(1),
         f"{asked} 3 times, 1 time without a usable one. 1 as whole workflows: 0% valid at the first"
         " try, 0% after repair."),
        (2, 2, CandidateTally(1200, 300, 300), CandidateTally(4, 1, 0, [1, 0, 0]),
         f"{asked} 2 times, 2 times without a usable one. 1,200 as moves:"
         " 25% valid at the first try, 50% after repair. 4 as whole workflows: 25% valid at the first try, 50% after repair."),
    ):  # fmt: skip
        proposals = RecordedProposals(questions, failed, {"moves": moves, "graph": graph}, Usage(0, 0, 2, 1.0))
        assert text_of(found(proposals=proposals)).splitlines()[1:4] == [
            "4 candidates, 13 answers, 8 calls, 6,040 tokens, $3.0000, 5.0 s",
            said,
            "",
        ]
    judged = [
        made(number, *range(min(number, 1)), judged=judge, told=number / 10)
        for number, judge in enumerate((1.0, 3.0, 2.0))
    ]
    proposals = RecordedProposals(0, 0, {"moves": CandidateTally(), "graph": CandidateTally()}, NOTHING)
    assert text_of(found(candidates=judged, proposals=proposals, draws=[])).splitlines()[2:4] == [
        f"{asked} 0 times.",
        "The judge's scores and those on the items searched with, which it did not see: rank correlation +0.50 of 3 candidates,"
        " too few for an interval.",
    ]


def words_of(html: str) -> str:
    """The text of some HTML, without its charts."""
    return re.sub(r"<.*?>", "", re.sub(r"<svg.*?</svg>|<style>.*?</style>", "", html, flags=re.DOTALL), flags=re.DOTALL)


def points(chart: str) -> list[tuple[str, ...]]:
    """The points of a chart: how each is drawn, where, and what it is."""
    return re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)" r="4"><title>(.*?)</title>', chart)


def test_the_page_of_a_search_has_its_facts_and_its_charts() -> None:
    shown = page(found())
    assert "<title>Search for a better my flow.mmd</title>" in shown
    assert "<h1>Search for a better my flow.mmd</h1>\n<p>Nothing else is to be tried.</p><p>4 candidates, " in shown
    assert (
        "<p>The best is /w/found/best.mmd. To see what it changes: diff '/w/my flow.mmd' /w/found/best.mmd</p>\n<dl>"
        in shown
    )
    assert "<p></p>" not in shown
    said = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown)
    assert said == [
        ("Search", "s1, finished"),
        ("Data", "/d/own.jsonl (part all): 4 items, 2 held out"),
        ("Metric", "exact"),
        ("Strategy", "climb, proposer moves, seed 7, jobs 2"),
        ("Model", "m-1"),
        ("Used", "6 calls, 6,040 tokens, $2.0000"),
        ("Time", "5.0 s"),
    ]
    small = {**PLAN, "items": ["q0"], "held_out": {"part": None, "items": []}}
    bare = page(found(plan=small, candidates=[], draws=[], held_out=None, error="No <more>."))
    said = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", bare)
    assert said[1:3] == [("Stopped by", "No &lt;more&gt;."), ("Data", "/d/own.jsonl (part all): 1 item")]
    assert said[-2:] == [("Used", "0 calls, 0 tokens, $0"), ("Time", "5.0 s")]
    assert words_of(bare).split("5.0 s\n")[-1].splitlines() == [
        "Score against answers. Line: estimate of the best; blue: means of candidates; orange: the start: nothing yet",
        "Estimated score and cost. Green: the best; orange: the start; no candidate beats those on the line: nothing yet",
        "What helps",
        "There are too few scores to say what helps.",
        "Rounds",
        "",
    ]

    curve, front, tree, *_ = re.findall(r"<figure>.*?</figure>", shown)
    assert "at the end, held-out items: the best in green with its interval" in curve
    assert '<text x="546.0" y="238.0" text-anchor="end">17.9</text>' in curve
    assert '<polyline class="told" points="156.5,224.0 269.0,224.0 269.0,173.0 381.5,173.0 381.5,122.1"/>' in curve
    assert '<line class="held" x1="522.1" y1="173.0" x2="522.1" y2="20.2"/>' in curve
    *scored, held = points(curve)
    assert scored == [
        ("start", "156.5", "224.0", "round 0: 0.000"),
        ("scored", "269.0", "122.1", "round 1, Change &lt;1&gt;: 0.500"),
        ("scored", "381.5", "88.1", "round 2, Change &lt;2&gt;: 0.667"),
        ("start", "522.1", "122.1", "start on held-out items: 0.500"),
    ]
    assert held[:3] == ("held", "522.1", "71.1")
    assert held[3].startswith(
        "Held out: best 0.750, start 0.500 on 2 items: +0.250 [-0.250, +0.600] (Tango), p = 0.200 (McNemar): "
    )
    assert "US dollars for an item" in front
    assert '<polyline class="front" points="203.4,224.0 362.7,122.1 522.1,20.2"/>' in front
    assert points(front) == [
        ("start", "203.4", "224.0", "round 0: 0.000"),
        ("scored", "362.7", "122.1", "round 1, Change &lt;1&gt;: 0.250"),
        ("best", "522.1", "20.2", "round 2, Change &lt;2&gt;: 0.500"),
    ]
    assert "calls for an item" in page(found(candidates=[made(0, cost=None)], draws=[]))
    assert "The best 3 with those that they come from; 1 other is left out." in shown
    assert re.findall(r'href="#round-(\d)"><circle class="leaf (\w+)" .*?<title>(.*?)</title>', tree) == [
        ("0", "best", "round 0"),
        ("1", "best", "round 1, Change &lt;1&gt;"),
        ("2", "best", "round 2, Change &lt;2&gt;"),
    ]
    sides = [made(0), made(1, 0), made(2, 1), made(3, 1, told=0.1)]
    tree = page(found(candidates=sides)).partition("Where candidates come from")[2].partition("</figure>")[0]
    assert re.findall(r'leaf (\w+)" cx="(\d+)" cy="([\d.]+)"', tree) == [
        ("best", "24", "37.0"),
        ("best", "88", "37.0"),
        ("best", "152", "24.0"),
        ("other", "152", "50.0"),
    ]
    assert "left out" not in tree


def test_a_page_shows_the_best_of_many_rounds_with_those_that_they_come_from() -> None:
    texts = {"text": START, "title": "t"}
    many = [made(0, **texts)] + [
        made(1, 0, **texts, number=number, told=None if number < 3 else number / 100) for number in range(1, 45)
    ]
    many[44] = replace(many[44], parents=(1,))
    shown = page(found(candidates=many, draws=[drawn(1, 3, 3, "q0")]))
    # The crown comes first, whatever its estimate is, then the 39 others with the highest ones, and what they come from.
    assert re.findall(r'<article id="round-(\d+)">', shown) == ["3", *map(str, range(44, 5, -1)), "0", "1"]
    assert "The best 42 with those that they come from; 3 others are left out." in shown
    (best,) = re.findall(r"<h3>(Round \d+: .*?, the best)</h3>", shown)
    assert best == "Round 3: estimated 0.030, the best"
    assert shown.count("<details open><summary>Diagram</summary>") == 1
    assert shown.count("<details><summary>Diagram</summary>") == 41


def test_the_page_of_a_search_says_of_each_round_what_made_it_and_what_it_is() -> None:
    rounds = [made(0), made(1, 0, reason="It is <known>.", judged=7.25), made(2, 1, 0, reason="Why not?", cost=None)]
    articles = page(found(candidates=rounds, draws=found().draws[:3])).split("<article ")[1:]
    assert [words_of(one).partition(">")[2].splitlines() for one in articles] == [
        [
            "Round 2: estimated 0.500, the best",
            "Made of round 1 and round 0 by prompt: Change",
            "&lt;2&gt;3 nodes, 3 calls, mean 0.667 on 3 answers. File: round_002.mmd",
            "Why the model proposed it: Why not?",
            "What changed (6)+ B (Custom)+ A -&gt; B (input)+ B -&gt; RETURN (result)- A -&gt; RETURN (result)"
            "+ prompt B.prompt~ prompt of A: one",
            "DiagramRound 2, what is new or changed in green",
            "Text with prompts" + TEXTS[2].splitlines()[0],
            *TEXTS[2].replace(">", "&gt;").splitlines()[1:],
            "",
        ],
        [
            "Round 1: estimated 0.250",
            "Made of round 0 by prompt: Change",
            "&lt;1&gt;2 nodes, 2 calls, about $0.25 an item, mean 0.500 on 2 answers. File: round_001.mmd",
            "Why the model proposed it: It is &lt;known&gt;. A judge gave it 7.2 of 10: coherence 7.25.",
            "What changed (1)~ prompt of A: other &lt;words&gt;",
            "DiagramRound 1, what is new or changed in green",
            "Text with prompts" + TEXTS[1].splitlines()[0],
            *TEXTS[1].replace("<", "&lt;").replace(">", "&gt;").splitlines()[1:],
            "",
        ],
        [
            "Round 0: estimated 0.000",
            "The workflow that it began with.1 node, 1 call, about $0.125 an item, mean 0.000 on 1 answer. File: round_000.mmd",
            "DiagramRound 0",
            "Text with prompts" + TEXTS[0].splitlines()[0],
            *TEXTS[0].replace(">", "&gt;").splitlines()[1:],
            "",
            "",
        ],
    ]
    assert re.findall(r'<li class="(\w*)">', articles[0]) == [*["added"] * 3, "removed", "added", ""]
    assert re.findall(r'<li class="(\w*)">', articles[1]) == [""]
    assert re.findall(r'href="#round-(\d)"', articles[0]) == ["1", "0"]
    assert [re.findall(r"<details( open)?><summary>Diagram", one) for one in articles] == [[" open"], [""], [""]]
    assert "Made of" not in articles[2]
    # What a judge gave is drawn where both it and a score are known.
    rounds[2] = replace(rounds[2], criteria={"prompts": 3.0}, scores=[0.5])
    rounds[0] = replace(rounds[0], criteria={"prompts": 1.0})
    shown = page(found(candidates=[*rounds, made(3, 0, told=None, scores=[], judged=2.0)]))
    chart = shown[shown.index("<figcaption>What a judge gave") :].partition("</figure>")[0]
    assert "What a judge gave and the score on the items searched with</figcaption>" in chart
    assert [(one[0], one[3]) for one in points(chart)] == [
        ("scored", "round 0: 0.000"),
        ("scored", "round 1, Change &lt;1&gt;: 0.500"),
        ("best", "round 2, Change &lt;2&gt;: 0.500"),
    ]
    alone = page(found(candidates=[made(0, judged=1.0)], draws=[]))
    assert "<figcaption>What a judge gave and the score on the items searched with</figcaption>" in alone


def test_what_helps_is_a_table_of_twenty_parts_at_most() -> None:
    shown = page(found())
    rows = re.findall(r"<tr><td>(.*?)</td>(.*?)</tr>", shown)
    assert [part for part, _ in rows]
    part = r"[+-]\d\.\d{3}"
    for _, cells in rows:
        assert re.fullmatch(
            rf"{part} {part} to {part} \d", " ".join(re.findall(r'<td class="number">(.*?)</td>', cells))
        )
    long = [
        made(0),
        made(1, 0, text=START.replace('"one"', f'"{"x" * 109}"')),
        made(2, 1, text=START.replace('"one"', f'"{"y" * 120}"')),
    ]
    names = [
        name
        for name, _ in re.findall(
            r"<tr><td>(.*?)</td>(.*?)</tr>", page(found(candidates=long, draws=found().draws[:3]))
        )
    ]
    assert [f"prompt: {'x' * 109}" in names, f"prompt: {'y' * 109}..." in names] == [True, True]
