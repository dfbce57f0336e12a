"""The tasks of the paper Flow: for each a product that meets its three criteria, and what misses each of them."""

from __future__ import annotations

import shutil
from functools import cache
from typing import Any

import pytest
from tests.optimizer.evaluation.products.judging import answer, missed, verdicts

from merrow_optimizer.evaluation.data import read_items
from merrow_optimizer.evaluation.data.names import data_file
from merrow_runtime.sandbox.browsers import browser_program

FRAMES = {
    "Motivation": "Acting well without a teacher is what an agent has to learn.",
    "Problem": "Find a policy of highest expected return in an unknown process.",
    "Intuition": "Try what seems good, and think better or worse of it.",
    "Mathematics": r"\[ Q(s) = r + \gamma Q(t) \] \begin{equation} 0 < \alpha \le 1 \end{equation}",
    "Pseudocode": "\\begin{verbatim}\nrepeat\n  choose a\n  see r\n  move Q(s, a)\n\\end{verbatim}",
}
ALGORITHMS = ("Q-learning", "SARSA", "PPO")
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>ICLR 2025</title></head><body>
<h1>ICLR 2025</h1><p>27 April &ndash; 1 May 2025, San Francisco, California</p>
<p>Organised by the International Association for Learning Representations</p>
<section id="schedule"><h2>Schedule</h2><ul><li>27 April, 9:00: Opening</li><li>28 April</li><li>29 April</li><li>30 April</li>
<li>1 May: Closing</li></ul></section>
<section id="venue"><h2>Venue</h2><p>San Francisco, by tram</p>
<svg width="300" height="200"><rect width="300" height="200"></rect></svg></section></body></html>
"""


@cache
def gold(item: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one.gold for one in read_items(data_file("flow-tasks")).items if one.id == item)
    return found


def deck(item: str, *, without: str = "", sections: int = 3, frames: int | None = None) -> str:
    """A deck for a configuration, filled up to its number of frames."""
    wanted = gold(item)
    parts = [part for part in wanted["parts"] if part != without]
    text = "\\documentclass{beamer}\\usepackage{amsmath,lmodern}\\begin{document}\n"
    count = 0
    for algorithm in ALGORITHMS[:sections]:
        text += f"\\section{{{algorithm}}}\n"
        for part in parts:
            fragile = "[fragile]" if part == "Pseudocode" else ""
            text += f"\\begin{{frame}}{fragile}{{{algorithm}: {part.lower()}}}\n{FRAMES[part]}\n\\end{{frame}}\n"
            count += 1
    text += "\\section{Outlook}\n"
    for _ in range((frames or wanted["frames"]) - count):
        text += "\\begin{frame}{More}\nAnd so on for some words.\n\\end{frame}\n"
    return text + "\\end{document}\n"


needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex here")
needs_browser = pytest.mark.skipif(browser_program() is None, reason="there is no browser here")


@needs_latex
@pytest.mark.thinned(3, "products")
@pytest.mark.parametrize("item", ["slides-1", "slides-3", "slides-4"])
def test_slides_meet_exactly_the_criteria_of_their_configuration(item: str) -> None:
    assert missed(verdicts(gold(item), answer(slides_tex=deck(item)))) == {}
    assert set(missed(verdicts(gold(item), answer(slides_tex=deck(item, frames=gold(item)["frames"] * 2))))) == {
        "length"
    }
    assert set(missed(verdicts(gold(item), answer(slides_tex=deck(item).replace("And so", "\\nosuch"))))) >= {
        "compiles"
    }
    for part in gold(item)["parts"]:
        lacking = missed(verdicts(gold(item), answer(slides_tex=deck(item, without=part))))
        assert set(lacking) == {"complete"}
        assert part in lacking["complete"]


def complete(item: str, text: str) -> str | None:
    return missed(verdicts(gold(item), answer(slides_tex=text))).get("complete")


def test_pseudocode_is_needed_where_it_is_asked_for_and_equations_where_they_are() -> None:
    third = deck("slides-3", frames=12)
    assert complete("slides-3", third) is None, "no equation is needed there"
    as_list = third.replace(FRAMES["Pseudocode"], "\\begin{enumerate}" + "\\item go on\n" * 4 + "\\end{enumerate}")
    assert complete("slides-3", as_list) is None
    short = third.replace("  choose a\n", "")
    assert "Q-learning has 3 lines of pseudocode of 4" in (complete("slides-3", short) or "")
    marked = third.replace(FRAMES["Pseudocode"], "Do \ue0009\ue000 it, and do it again and again.")
    assert "0 lines of pseudocode" in (complete("slides-3", marked) or ""), "what a text says of itself doesn't count"
    commented = third.replace("verbatim", "comment")
    assert complete("slides-3", commented) is not None
    first = deck("slides-1").replace("0 < \\alpha \\le 1", "\\alpha")
    assert "1 displayed equations of 2" in (complete("slides-1", first) or "")


def test_there_are_at_least_three_algorithms_and_each_has_all_parts() -> None:
    assert "2 sections have a frame for a part, and 3 are needed" in (
        complete("slides-4", deck("slides-4", sections=2)) or ""
    )
    half = deck("slides-4").replace("SARSA: intuition", "SARSA: more")
    assert "SARSA has no frame with text on its Intuition" in (complete("slides-4", half) or "")
    assert complete("slides-4", deck("slides-4")) is None, "what has none of the parts is no algorithm's section"


@needs_browser
@pytest.mark.thinned(4, "products")
@pytest.mark.parametrize(
    ("was", "now", "criterion"),
    [
        ("", "", None),
        ("27 April &ndash; 1 May 2025", "April 27 to May 1, 2025", None),
        ("27 April &ndash; 1 May 2025", "27th April until the 1st of May", None),
        ("Organised by the International Association for Learning Representations", "Welcome", "information"),
        ("27 April &ndash; 1 May 2025, San Francisco, California", "24 to 28 April 2025, Singapore", "information"),
        ("<li>29 April</li>", "", "sections"),
        ("<svg", "<span", "sections"),
        ("</body>", "<script>nothing.here()</script></body>", "works"),
    ],
)
def test_the_website_has_the_facts_of_the_paper(was: str, now: str, criterion: str | None) -> None:
    page = PAGE.replace(was, now)
    if criterion == "information" and "Singapore" in now:
        page = page.replace("<li>27 April", "<li>24 April").replace("San Francisco, by", "Singapore, by")
    found = missed(verdicts(gold("website"), answer(index_html=page)))
    assert (criterion in found) if criterion else (found == {})
