"""What an extraction came to in words and on its page, word for word, of reports put together by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest

from merrow_server.extractions.extraction_html import as_html
from merrow_server.extractions.extraction_words import report_lines

DRAW = {"name": "Draw", "takes": ["Problem", "Number"], "gives": "Picture", "support": 5, "paths": 6, "cases": 1200}
SOLVE = {"name": "So<lve>", "takes": ["Problem"], "gives": "Answer", "support": 0, "paths": 0, "cases": 1}
ANSWERS = {
    "questions": 1,
    "answers": 1,
    "valid_first": 1,
    "valid_after_repair": 0,
    "never_valid": 0,
    "leaks_refused": 0,
}
REPORT: dict[str, Any] = {
    "why_nothing": None,
    "operators": [{**DRAW, "prompt": "Draw\n<it>."}, {**SOLVE, "prompt": "Solve it."}],
    "groups": [{"name": "G", "takes": ["Problem"], "gives": "Answer", "steps": 3, "cases": 2}],
    "pool": [{**DRAW, "groups": ["G", "H"]}, {**SOLVE, "groups": []}],
    "paths": [
        {"counts": [3, 2], "steps": [[{"from": "G", "to": "", "reason": "It is & was."}], []]},
        {"counts": [1], "steps": [[{"from": "G", "to": "H", "reason": ""}]]},
    ],
    "coverage": {
        "extraction": {"cases": 1, "covered": 1, "share": 1.0, "interval": [0.25, 1.0]},
        "probe": {"cases": 4000, "covered": 2000, "share": 0.5, "interval": [0.125, 0.875]},
    },
    "choice": {"is_exact": False},
    "chain": [
        {"what": "initial", "least": 1200, "most": 1200},
        {"what": "groups", "least": 9, "most": 9},
        {"what": "step 1", "least": 3, "most": 5},
        {"what": "pool", "least": 2, "most": 2},
        {"what": "set", "least": 1, "most": 2},
    ],
    "placed_by_model": 1,
    "scores": {"whole": 1, "with_set": 0.5, "own_of_whole": 0.75},
    "compression": {
        "nodes": {"cases": 2000, "library": 1000, "ratio": 2.0},
        "prompt_tokens": {"cases": 0, "library": 7, "ratio": None},
    },
    "answers": {
        "1": ANSWERS,
        "2": {**ANSWERS, "questions": 1300, "valid_first": 1200, "valid_after_repair": 1100, "never_valid": 1000},
    },
    "leaks_refused": 1,
    "cases": {"unusable": ["c1"]},
    "notes": ["Look\x1b here."],
    "cost": {"generator": {"calls": 1, "cost_usd": 0.5}, "runs_of_cases": 1},
}


def test_an_extraction_is_told_in_words() -> None:
    assert "\n".join(report_lines(REPORT)) == (
        "OPERATOR  TAKES            GIVES    SUPPORT  CASES\n"
        "Draw      Problem, Number  Picture  5 of 6   1,200\n"
        "So<lve>   Problem          Answer            1\n"
        "\n"
        "The set covers 1 of the 1 case that it was drawn from: 1.000 (95 % interval 0.250 to 1.000).\n"
        "The set covers 2,000 of the 4,000 probe cases: 0.500 (95 % interval 0.125 to 0.875).\n"
        "The choice among 2 candidates is greedy: a smaller set may do.\n"
        "Operators: 1,200 initial -> 9 groups -> 3 to 5 -> 2 pool -> 1 to 2 set.\n"
        "The model placed 1 step that fitted several groups.\n"
        "Score of the 1 case that the set rewrites: 0.500, with their own steps 0.750.\n"
        "Compression: nodes 2,000 to 1,000 (2.0 times), tokens of prompts 0 to 7.\n"
        "Stage 1: 1 question, 1 answer valid at first, 0 when sent back, 0 never.\n"
        "Stage 2: 1,300 questions, 1,200 answers valid at first, 1,100 when sent back, 1,000 never.\n"
        "1 answer had something of a case in a prompt and went back.\n"
        "1 case had no steps that could be used.\n"
        "Look␛ here.\n"
        "1 answer of the model that names operators ($0.5000), 1 run of cases."
    )


@pytest.mark.parametrize("choice", [None, {"is_exact": True}])
def test_what_an_extraction_has_nothing_of_is_not_told(choice: dict[str, bool] | None) -> None:
    nothing = {"cases": 0, "covered": 0, "share": None, "interval": None}
    report = {
        **REPORT,
        "operators": [],
        "coverage": {"extraction": nothing, "probe": nothing},
        "choice": choice,
        "placed_by_model": 0,
        "scores": {"whole": 0, "with_set": None, "own_of_whole": None},
        "answers": {},
        "leaks_refused": 0,
        "cases": {"unusable": []},
        "notes": [],
        "cost": {"generator": {"calls": 2000, "cost_usd": None}, "runs_of_cases": 0},
    }
    assert list(report_lines(report)) == [
        "No operator answers a case as well as the steps whose place it takes.",
        "No case that operators were drawn from has steps to rewrite.",
        "No case of the probe has steps to rewrite.",
        "Operators: 1,200 initial -> 9 groups -> 3 to 5 -> 2 pool -> 1 to 2 set.",
        "Compression: nodes 2,000 to 1,000 (2.0 times), tokens of prompts 0 to 7.",
        "2,000 answers of the model that names operators (cost unknown), 0 runs of cases.",
    ]
    assert list(report_lines({"why_nothing": "No case has\x07 a solution."})) == ["No case has␇ a solution."]


def test_the_heading_of_the_operators_is_bold() -> None:
    lines = list(report_lines(REPORT, lambda text, **how: f"<{how}{text}>"))
    heading = "OPERATOR  TAKES            GIVES    SUPPORT  CASES"
    assert [line for line in lines if line.startswith("<")] == [lines[0]] == [f"<{{'bold': True}}{heading}>"]


def test_the_page_of_an_extraction_has_all_that_it_is_made_of() -> None:
    page = as_html(REPORT)
    assert page.endswith("</body>\n</html>\n")
    shown = page.partition("</style>\n</head>\n")[2].splitlines()
    sentences = list(report_lines(REPORT))[4:]
    head = "<table><tr><th>"
    assert shown == [
        "<body>",
        "<h1>Operators from solved cases</h1>",
        "".join(f"<p>{one.replace('>', '&gt;')}</p>" for one in sentences),
        "<h2>Operators</h2>",
        "<h3>Draw</h3><p>Problem, Number -&gt; Picture; support 5 of 6, 1,200 cases</p>",
        "<pre>Draw",
        "&lt;it&gt;.</pre>",
        "<h3>So&lt;lve&gt;</h3><p>Problem -&gt; Answer; 1 case</p>",
        "<pre>Solve it.</pre>",
        "<h2>Reduction</h2>",
        f"{head}</th><th>least</th><th>most</th></tr>"
        + "".join(
            f"<tr><td>{one['what']}</td><td>{one['least']}</td><td>{one['most']}</td></tr>" for one in REPORT["chain"]
        )
        + "</table>",
        "<h2>Groups</h2>",
        f"{head}name</th><th>signature</th><th>steps</th><th>cases</th></tr>"
        "<tr><td>G</td><td>Problem -&gt; Answer</td><td>3</td><td>2</td></tr></table>",
        "<h2>Paths</h2>",
        "<details><summary>Path 1: 3, 2 operators</summary>",
        "<p>Step 1</p>",
        f"{head}from</th><th>to</th><th>reason</th></tr><tr><td>G</td><td>(dropped)</td><td>It is &amp; was.</td></tr></table>",
        "<p>Step 2</p>",
        f"{head}from</th><th>to</th><th>reason</th></tr></table>",
        "</details>",
        "<details><summary>Path 2: 1 operator</summary>",
        "<p>Step 1</p>",
        f"{head}from</th><th>to</th><th>reason</th></tr><tr><td>G</td><td>H</td><td></td></tr></table>",
        "</details>",
        "<h2>Pool</h2>",
        f"{head}name</th><th>signature</th><th>support</th><th>groups</th></tr>"
        "<tr><td>Draw</td><td>Problem, Number -&gt; Picture</td><td>support 5 of 6, 1,200 cases</td><td>G, H</td></tr>"
        "<tr><td>So&lt;lve&gt;</td><td>Problem -&gt; Answer</td><td>1 case</td><td></td></tr></table>",
        "</body>",
        "</html>",
    ]
    assert "<title>Operators from solved cases</title>" in page
    assert re.findall(r"<h2>(\w+)", as_html({**REPORT, "paths": []})) == ["Operators", "Reduction", "Groups", "Pool"]
