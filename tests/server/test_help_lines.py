"""What `merrow check` prints that can be done: titles without proofs, and each of them is what a menu offers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from tests.analysis.rule_page import read_page
from tests.breakage import broken
from tests.growth.steps import lines as lines_run
from tests.growth.steps import steps

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Fix
from merrow_analysis.rules.pages import page_codes, page_text
from merrow_server.cli import main

TEXTS = [example.text for code in page_codes() for example in read_page(page_text(code)).examples]
ROUNDS = 3


def said(fixes: list[Fix]) -> list[tuple[str, str]]:
    return [(fix.title, fix.applicability.label) for fix in fixes]


def repeated(number: int, nodes: int, edges: int) -> str:
    """A workflow with edges that are drawn twice."""
    lines = ["flowchart TD", "    PROBLEM([Problem]):::Interface", "    RETURN([Answer]):::Interface"]
    lines += [f'    N{node}["Custom<br/>(prompt: Do {number}.)"]:::CustomOp' for node in range(nodes)]
    ids = ["PROBLEM", *(f"N{node}" for node in range(nodes)), "RETURN"]
    lines += [f"    {one} --> {next_one}" for one, next_one in pairwise(ids)]
    lines += [f"    N{node} --> N{node + 1}" for node in range(edges)]
    return "\n".join(lines) + "\n"


@pytest.mark.thinned(32)
@pytest.mark.parametrize("start", range(12))
def test_titles_are_those_of_the_fixes(start: int) -> None:
    random = Random(start)
    for text in TEXTS[start::12]:
        for _ in range(ROUNDS):
            for one in analyse(text).diagnostics:
                assert said(list(one.fixes.titles)) == said(list(one.fixes)), (one, text)
            text = broken(text, random)


def test_titles_in_a_large_workflow_are_those_of_the_fixes() -> None:
    random = Random(1)
    for _ in range(4):
        text = repeated(1, 320, 30)
        for _ in range(3):
            text = broken(text, random)
        for one in analyse(text).diagnostics:
            assert said(list(one.fixes.titles)) == said(list(one.fixes))


def test_text_for_people_takes_little_more_than_annotations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(12):
        (tmp_path / f"{number}.mmd").write_text(repeated(number, 30 + number, 4))
    main(["check", str(tmp_path), "--format", "github"])
    github = steps(lambda: main(["check", str(tmp_path), "--format", "github"]))
    capsys.readouterr()
    text = steps(lambda: main(["check", str(tmp_path)]))
    assert capsys.readouterr().out.count("help: Remove the edge") == 12 * 4
    assert text < 1.4 * github


def test_the_titles_of_many_wrong_labels_take_linear_time() -> None:
    def wrong(nodes: int) -> str:
        ids = ["PROBLEM", *(f"N{node}" for node in range(nodes)), "RETURN"]
        lines = ["flowchart TD", "    PROBLEM([Problem]):::Interface", "    RETURN([Answer]):::Interface"]
        lines += [f'    {one}["Pass<br/>"]:::PassOp' for one in ids[1:-1]]
        lines += [f"    {one} -->|no{one}| {next_one}" for one, next_one in pairwise(ids)]
        return "\n".join(lines) + "\n"

    taken: dict[int, int] = {}
    for nodes in (400, 1_600):
        found = [one for one in analyse(wrong(nodes)).diagnostics if one.code == "MW201"]
        assert len(found) >= nodes - 2
        taken[nodes] = lines_run(lambda: [list(one.fixes.titles) for one in found])  # noqa: B023
    assert taken[1_600] < 5 * taken[400]
