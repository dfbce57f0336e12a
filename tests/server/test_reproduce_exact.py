"""``merrow reproduce PAPER --exact``: the papers' arithmetic, by the functions that Merrow itself uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.server.program import in_process
from tests.shared import SHARED

from merrow_optimizer.planning import ranking
from merrow_optimizer.reproducing import exact as module
from merrow_optimizer.reproducing.papers import PAPERS, read_paper

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_comes_to_what_is_known_of_it(paper: str, capsys: Capture) -> None:
    done = in_process(capsys, "reproduce", paper, "--exact", "--format", "json")
    assert done.code == 0
    checks = done.json
    assert len(checks) > 5
    assert all(one["right"] is not False for one in checks)
    assert [one["name"] for one in checks if one["right"] is None] == (
        ["candidates of the published notebooks whose printed parallelism is the code's count"]
        if paper == "flow"
        else []
    )
    text = in_process(capsys, "reproduce", paper, "--exact").out
    assert "0 wrong" in text


def test_contradictions_of_the_papers_are_named(capsys: Capture) -> None:
    found = {
        one["name"]: (one["computed"], one["paper"])
        for paper in PAPERS
        for one in in_process(capsys, "reproduce", paper, "--exact", "--format", "json").json
        if one["contradiction"]
    }
    assert found["the one of W1, W2 and W3 that Algorithm 1 takes"] == ("W1", "W2")
    assert found["saved on DROP, gpt-4o, best workflow"] == ("51.37", "48.63")
    assert found["score of round 9, from round 7"] == ("0.2121", "0.1515")
    assert found["parallelism of W1 as the code counts it"] == ("2.6667", "1.3333")
    assert found["average of AFlow"] == ("79.7", "79.6")


@pytest.mark.shared("corpus/flow/website_val.candidates.json")
def test_all_published_candidates_are_counted_as_the_code_does(capsys: Capture) -> None:
    folder = str(SHARED / "corpus" / "flow")
    checks = in_process(capsys, "reproduce", "flow", "--exact", "--data", folder, "--format", "json").json
    (one,) = [one for one in checks if one["name"].startswith("candidates of")]
    assert one["right"] is True
    assert "in 4 files" in one["says"]


WRONG: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "sampling": (module, "chances", lambda scores, *_: [1 / len(scores) for _ in scores]),
    "theorem": (module, "measure", lambda nodes, edges, failure: ranking.measure(nodes, edges, failure / 2)),
    "ranking": (module, "ranked", lambda plans, _: [(len(plans) - 1, None)]),
    "stopping": (module.Convergence, "reached", lambda *_: True),
    "paths": (ranking, "path_counts", lambda plan: dict.fromkeys(plan.ids, 1)),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_function_that_is_wrong_fails_it(what: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrong = WRONG[what]
    monkeypatch.setattr(owner, name, wrong)
    outcomes = [in_process(capsys, "reproduce", paper, "--exact") for paper in PAPERS]
    assert 1 in [one.code for one in outcomes]
    assert any("WRONG" in one.out for one in outcomes)


def test_every_row_that_an_average_or_a_share_names_is_there() -> None:
    for name in PAPERS:
        rows = read_paper(name).rows
        assert {one for row in rows.values() for one in row.needs} <= rows.keys()
