"""`merrow evaluate --dataset flow-tasks`: products of a workflow scored, what can't be judged said before and after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write

GAME = Path(__file__).parents[1] / "optimizer" / "evaluation" / "products" / "gobang_game.py"
FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "Do it."}
    Z@{op: Assemble, how: files}
    RETURN([Product]):::Interface
    PROBLEM --> A --> Z --> RETURN
"""


def answer(request: Received) -> Step:
    """A good game where one is asked for; else a file that is nothing."""
    if "gobang.py" in request.prompt:
        return Reply(f"Here it is.\n\n```python gobang.py\n{GAME.read_text('utf-8')}```\n\nHave fun!")
    return Reply("```latex slides.tex\nAll done: 20 frames.\n```")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)
        yield server


@pytest.mark.slow
def test_a_good_game_is_right_and_its_criteria_are_shown(server: OpenAIServer) -> None:
    done = merrow("evaluate", "flow.mmd", "--dataset", "flow-tasks", "--items", "gobang", "--format", "json")
    assert done.code == 0, done.err
    assert done.json["score"] == 1.0
    [one] = merrow("evaluations", "--format", "json").json
    shown = merrow("show", one["evaluation"], "--item", "gobang")
    for criterion in ("imports", "playable", "rules"):
        assert f"{criterion}: met." in " ".join(shown.out.split())
    assert len(server.requests) == 1


def test_the_set_is_named_and_a_dry_run_says_what_repeats_are_worth(server: OpenAIServer) -> None:
    done = merrow("evaluate", "flow.mmd", "--dataset", "flow-tasks", "--repeat", "5", "--dry-run")
    assert done.code == 0, done.err
    assert done.out.startswith("7 items of flow-tasks (part all), each 5 times: 7 calls")
    assert "Note: At temperature 0 nothing is asked again" in done.err
    write("flow.mmd", FLOW.replace("op: Custom,", "op: Custom, temperature: 1,"))
    varied = merrow("evaluate", "flow.mmd", "--dataset", "flow-tasks", "--repeat", "5", "--dry-run")
    assert varied.out.startswith("7 items of flow-tasks (part all), each 5 times: 35 calls")
    assert "At temperature 0" not in varied.err
    assert server.requests == []


def test_what_can_not_be_judged_is_said_with_its_remedy(server: OpenAIServer) -> None:
    del server
    lacking = {"PATH": "/nowhere", "MERROW_BROWSER": "/nowhere/browser"}
    done = merrow(
        "evaluate", "flow.mmd", "--dataset", "flow-tasks", "--items", "slides-1", "--items", "website", env=lacking
    )
    said = " ".join(done.err.split())
    assert (
        "Note: Not judged of products that are scored as slides: compiles, length. It needs pdflatex with Beamer"
        in said
    )
    assert "apt install texlive-latex-recommended texlive-pictures lmodern" in said
    assert (
        "Note: Not judged of products that are scored as website: works, information, sections. It needs Chromium"
        in said
    )
    [one] = merrow("evaluations", "--format", "json").json
    slides = " ".join(merrow("show", one["evaluation"], "--item", "slides-1").out.split())
    assert "complete: missed. 0 sections have a frame for a part, and 3 are needed" in slides
    assert "compiles: not judged." in slides
