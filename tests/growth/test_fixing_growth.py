"""Many findings fixed at once: twice the text takes about twice the steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.growth.shapes import SHAPES
from tests.growth.steps import forget, lines, steps

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Applicability
from merrow_analysis.edits.together import fixes_together
from merrow_optimizer.repair.search import RepairSearch
from merrow_server.cli import main

SIZES = (100, 200, 400)
"""Beyond the sizes up to which each fix is tried on the whole text before it is offered."""


def _self_loops(number: int) -> list[str]:
    return [f"N{i} --> N{i}" for i in range(number)]


def _words_out_of_place(number: int) -> list[str]:
    return [f"N{i} -->|again| N{i}" for i in range(number)]


def _pairs(number: int) -> list[str]:
    return [f"N{i} --> M{i}[Custom] --> N{i}" for i in range(number)]


@pytest.mark.slow
@pytest.mark.parametrize("written", [_self_loops, _pairs])
def test_cycles_are_repaired_together(
    written: Callable[[int], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    counted: list[int] = []
    for size in SIZES:
        path = tmp_path / "flow.mmd"
        chain = [f"N{i}[Custom] --> N{i + 1}[Custom]" for i in range(size)]
        path.write_text(
            "\n".join(["flowchart TD", "PROBLEM --> N0", *chain, f"N{size} --> RETURN", *written(size), ""])
        )
        forget()
        counted.append(
            steps(lambda: main(["check", "--fix", "--unsafe-fixes", "--select", "MW110,MW111,MW118", "flow.mmd"]))
        )
        text = path.read_text()
        assert text.count("Loop (max: 3)") == size
        assert main(["check", "--select", "MW110,MW111,MW118", "flow.mmd"]) == 0
    small, middle, large = counted
    assert large - middle <= 2.3 * (middle - small), counted


@pytest.mark.slow
def test_fixes_of_many_words_out_of_place_in_a_drawing() -> None:
    """A fix is tried by reading all of a drawing, so it is not tried for hundreds of findings."""
    counted: list[int] = []
    for size in (150, 300, 600):
        boxes = [f'subgraph G{i}["Loop"]\n  A{i}@{{op: Custom, prompt: x}}\nend\n' for i in range(size)]
        edges = [f"A{i} -->|again:input| A{i + 1}\n" for i in range(size - 1)]
        text = "".join(["flowchart TD\n", *boxes, *edges])
        forget()
        counted.append(lines(lambda text=text: [list(one.fixes) for one in analyse(text).diagnostics]))  # type: ignore[misc]
    small, middle, large = counted
    assert large - middle <= 2.3 * (middle - small), counted


def test_of_each_finding_one_fix_is_made() -> None:
    """Behind the name that was meant there is a fix that takes as long as the front matter is."""
    counted: list[int] = []
    for size in (32, 64, 128):
        prompts = "".join(f"    prompt_{'abcdefgh'[i % 8] * (i // 8 + 1)}: Solve it {{input}}.\n" for i in range(size))
        head = f"---\nworkflow:\n  prompts:\n{prompts}---\nflowchart TD\nPROBLEM --> RETURN\n"
        nodes = [f'N{i}["Custom<br/>(role: promptt_a)"]\nPROBLEM --> N{i} --> RETURN\n' for i in range(size)]
        found = [one for one in analyse(head + "".join(nodes)).diagnostics if one.code == "MW301"]
        assert len(found) == size
        forget()
        counted.append(steps(lambda found=found: fixes_together(found, Applicability.SAFE)))  # type: ignore[misc]
        _, codes = fixes_together(found, Applicability.UNSAFE)
        assert len(codes) == size
    small, middle, large = counted
    assert large - middle <= 2.3 * (middle - small), counted


def test_few_nodes_are_tried_for_an_output_that_nothing_leads_to() -> None:
    """Each is proved by a look at the whole workflow, and here none of them can be led to the output."""
    counted: list[int] = []
    for size in (48, 96, 192):
        text = SHAPES["agents and validators that are misspelt"].make(size)
        search = RepairSearch(text, clock=lambda: 0.0)
        forget()
        counted.append(steps(lambda search=search: [search.advance() for _ in range(5)]))  # type: ignore[misc]
    small, middle, large = counted
    assert large - middle <= 2.3 * (middle - small), counted
