"""Flowcharts as people and models draw them, each with what a person would expect of it, checked and run.

Beside ``NN_name.mmd`` stands ``NN_name.toml``: ``expect`` in words, the inputs and outputs, the text of each step, the ways of
each diamond at which a model is asked, what decides at others, the Loops that arrows back make, the codes of errors and
warnings, and runs with what is chosen, which nodes run, how often a model is asked to choose, and which node's answer reaches
which output.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.plain.meanings import codes, meaning
from tests.runtime.engine.fakes import FakeEndpoint

import merrow_runtime
from merrow_analysis.check import Analysis, analyse
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.plain_steps import is_step
from merrow_analysis.ide.texts.node_text import decided_by, prompt_of
from merrow_analysis.text import apply_edits
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow

FOLDER = Path(__file__).parent / "flowcharts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.mmd"))


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.mmd").read_text("utf-8")


def expected(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


RUNNING = [name for name in NAMES if expected(name).get("runs")]


def test_there_are_as_many_as_there_were() -> None:
    assert len(NAMES) == 45


@pytest.mark.parametrize("name", NAMES)
def test_a_flowchart_is_read_as_a_person_expects(name: str) -> None:
    wanted = expected(name)
    analysis = analyse(text_of(name), as_workflow=True)
    assert codes(analysis) == wanted["findings"], analysis.diagnostics
    graph = analysis.typed
    assert graph is not None
    assert sorted(node.id for node in graph.inputs) == sorted(wanted["inputs"])
    assert sorted(node.id for node in graph.outputs) == sorted(wanted["outputs"])
    plain = [node for node in graph.nodes if node.resolution.plain is not None]
    assert {node.id: prompt_of(node, analysis.prompts) for node in plain if is_step(node)} == wanted.get("steps", {})
    asking = {node.id: list(node.cases.labels) for node in plain if node.asks and node.cases is not None}
    assert asking == wanted.get("asks", {})
    others = {node.id: decided_by(node) for node in plain if node.kind == "decision" and not node.asks}
    assert others == wanted.get("decided", {})
    assert {box.id: list(box.nodes) for box in graph.composites} == wanted.get("loops", {})
    hints = [one for one in analysis.diagnostics if one.code == "MW313"]
    assert len(hints) == (1 if plain else 0)


@pytest.mark.parametrize(("end", "code"), [("PROBLEM", "MW112"), ("ENTRY_POINT", "MW112"), ("RETURN", "MW113")])
def test_an_arrow_back_at_an_input_or_output_is_no_loop(end: str, code: str) -> None:
    analysis = analyse(f"flowchart TD\n{end} --> A --> {end}\nB[think] --> C:::CustomOp\n")
    assert code in codes(analysis)
    assert analysis.typed is not None
    assert not analysis.typed.composites


class Model(FakeEndpoint):
    """Answers each question with the id of the node whose text it was asked, and chooses as it is told."""

    def __init__(self, analysis: Analysis, choose: dict[str, str]) -> None:
        super().__init__(self._said)
        assert analysis.typed is not None
        self._by_text = {
            node.resolution.ask or prompt_of(node, analysis.prompts): node.id for node in analysis.typed.nodes
        }
        self._choose = choose
        self.asked_at: list[str] = []

    def _said(self, request: ModelRequest) -> str:
        told = request.messages[0].content
        asked = [text for text in self._by_text if isinstance(text, str) and told.startswith(text)]
        node = self._by_text.get(max(asked, key=len)) if asked else None
        if request.schema is not None and request.schema.name == "decision":
            assert node is not None
            self.asked_at.append(node)
            return json.dumps({"choice": self._choose[node]}, ensure_ascii=False)
        if request.schema is not None:
            return json.dumps({"feedback": "Good.", "accepted": True})
        return node or "published"


@pytest.mark.parametrize("name", RUNNING)
async def test_a_flowchart_runs_as_a_person_expects(name: str) -> None:
    text = text_of(name)
    for case in expected(name)["runs"]:
        flow = check_workflow(text, name=name)
        model = Model(flow.analysis, case.get("choose", {}))
        inputs = {node.id: f"given {node.id}" for node in flow.graph.inputs}
        result = await merrow_runtime.run(flow, inputs, endpoint=model, store=MemoryStore())
        assert result.status == "finished", result.error
        ends = {node.id for node in flow.graph.nodes if node.kind in ("input", "output")}
        ran = {one.node for one in result.nodes.values() if one.status == "finished" and one.node not in ends}
        assert sorted(ran) == sorted(case["ran"])
        wanted = {end: f"given {node}" if node in inputs else node for end, node in case["results"].items()}
        assert {end: value for end, value in result.outputs.items() if value is not None} == wanted
        chosen = case.get("choose", {})
        assert set(model.asked_at) == set(chosen)
        assert len(model.asked_at) == case.get("asked", len(chosen))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_can_be_written_out_and_means_the_same(name: str) -> None:
    text = text_of(name)
    before = analyse(text, as_workflow=True)
    hints = [one for one in before.diagnostics if one.code == "MW313"]
    if not hints or not hints[0].fixes:
        assert not hints or len(expected(name)["outputs"]) > 1 or expected(name)["findings"], "the fix should be there"
        return
    written = apply_edits(text, hints[0].fixes[0].edits)
    after = analyse(written)
    assert after.is_workflow, written
    # That no box says what to do is told of drawings alone.
    assert codes(after) == [code for code in codes(before) if code != "MW104"]
    assert [one.code for one in after.diagnostics if one.code == "MW313"] == []
    assert meaning(after) == meaning(before), written


def test_an_answer_beside_the_ways_is_else_where_there_is_one() -> None:
    """The run of ``else_without_label`` answers words that are no way out."""
    runs = expected("17_else_without_label")["runs"]
    assert any(ELSE not in case["choose"].values() and "E" in case["ran"] for case in runs)
