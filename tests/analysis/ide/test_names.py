"""Where names lead: definition, references and highlights of every kind of name."""

from __future__ import annotations

import pytest
from tests.analysis.ide.cursor import drawn, marked, slice_of

from merrow_analysis.check import analyse
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.ide.names.definition import definition
from merrow_analysis.ide.names.references import highlights, references, references_of, symbol_at
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.rules.configuration import Config
from merrow_analysis.text import Position, Range


class Files:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> str:
        if path not in self.files:
            raise ResourceError(f"There is no {path}.")
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files


TEXT = """\
---
workflow:
  types: {Draft: Text}
  prompts:
    Solver_1: Solve.
  operators:
    Planner: {inputs: {problem: Text}, outputs: {plan: Draft}}
---
flowchart TD
    PROBLEM([Problem]):::Interface --> A
    A["Custom<br/>(role: solver_1)"]:::CustomOp
    A --> P["Planner"] --> RETURN([Return]):::Interface
    class P PlannerOp
    classDef PlannerOp fill:#eee
    classDef CustomOp fill:#eee
    subgraph late
        A
    end
"""


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("PROBLEM([Problem]):::Interface --> <|>A", ["A[\"Custom<br/>(role: solver_1)\"]:::CustomOp"]),
        ("class P Pl<|>annerOp", ["Planner: {inputs: {problem: Text}, outputs: {plan: Draft}}", "classDef PlannerOp fill:#eee"]),
        ("role: sol<|>ver_1", ["Solver_1: Solve."]),
        (":::Cust<|>omOp", ["classDef CustomOp fill:#eee"]),
        ("{plan: Dr<|>aft", ["Draft: Text"]),
        ('["Pla<|>nner', ["Planner: {inputs: {problem: Text}, outputs: {plan: Draft}}", "classDef PlannerOp fill:#eee"]),
    ],
)  # fmt: skip
def test_definitions(place: str, expected: list[str]) -> None:
    found = marked(TEXT.replace(place.replace("<|>", ""), place, 1))
    answer = definition(found.analysis, found.position)
    assert answer is not None
    assert [slice_of(TEXT, target.whole) for target in answer.targets] == expected
    assert all(target.whole.start <= target.name.start for target in answer.targets)


def test_a_node_that_nothing_declares_is_defined_where_it_is_first_mentioned() -> None:
    found = marked("flowchart TD\nA --> B\nB --> C\nC --> <|>B\n")
    answer = definition(found.analysis, found.position)
    assert answer is not None
    assert [target.name.start for target in answer.targets] == [Position(1, 6)]


def test_no_definition() -> None:
    for text in (
        "flow<|>chart TD\n",
        "flowchart TD\nA -<|>-> B\n",
        "<|>",
        "flowchart TD\nA:::gon<|>e\n",
        "pie\n  <|>A: 3",
    ):
        found = marked(text)
        assert definition(found.analysis, found.position) is None


def test_a_prompt_in_a_file() -> None:
    files = Files({"prompt.py": 'X = 1\nSOLVER = "Solve."\n'})
    found = marked('flowchart TD\nPROBLEM --> A["Custom<br/>(role: sol<|>ver)"]:::CustomOp\nRETURN\n', files)
    answer = definition(found.analysis, found.position, files)
    assert answer is not None
    (target,) = answer.targets
    assert target.file == "prompt.py"
    assert target.name == Range(Position(1, 0), Position(1, 6))
    assert references(found.analysis, found.position)[-1].file == "prompt.py"
    uses = references(found.analysis, found.position, declarations=False)
    assert [place.file for place in uses] == [None]


@pytest.mark.parametrize(
    "library", ["operators:\n  Planner: {outputs: {plan: Text}}\n", "Planner: {outputs: {plan: Text}}\n"]
)
def test_an_operator_of_a_library(library: str) -> None:
    files = Files({"lib.yaml": library})
    text = "---\nworkflow:\n  libraries: lib.yaml\n---\nflowchart TD\nA@{ op: Plan<|>ner }\n"
    found = marked(text, files)
    answer = definition(found.analysis, found.position, files)
    assert answer is not None
    (target,) = answer.targets
    assert target.file == "lib.yaml"
    assert slice_of(library, target.name) == "Planner"
    assert definition(found.analysis, found.position) is None
    symbol = symbol_at(found.analysis, found.position)
    assert symbol is not None
    assert [place.file for place in references_of(found.analysis, symbol, provider=files)] == [None, "lib.yaml"]
    assert [place.file for place in references_of(found.analysis, symbol, declarations=False, provider=files)] == [None]


def test_an_operator_of_a_library_that_only_the_settings_name() -> None:
    files = Files({"lib.yaml": "Planner: {outputs: {plan: Text}}\n"})
    text = "flowchart TD\nA@{ op: Planner }\n"
    found = analyse(text, provider=files, config=Config(libraries=("lib.yaml",)))
    answer = definition(found, Position(1, 9), files)
    assert answer is not None
    assert [target.file for target in answer.targets] == ["lib.yaml"]
    assert found.diagnostics == analyse(text, provider=files, config=Config(libraries=("lib.yaml",))).diagnostics


def test_references_are_drawn() -> None:
    found = marked(TEXT.replace("A --> P", "<|>A --> P"))
    everything = references(found.analysis, found.position)
    assert (
        drawn(TEXT, [place.range for place in everything])
        == """\
    PROBLEM([Problem]):::Interface --> A
                                       ^
    A["Custom<br/>(role: solver_1)"]:::CustomOp
    ^
    A --> P["Planner"] --> RETURN([Return]):::Interface
    ^
        A
        ^"""
    )
    assert len(references(found.analysis, found.position, declarations=False)) == 3


def test_highlights_write_where_a_thing_is_declared() -> None:
    found = marked(TEXT.replace("role: solver", "role: <|>solver"))
    assert (
        drawn(TEXT, [(place.range, place.kind) for place in highlights(found.analysis, found.position)])
        == """\
    Solver_1: Solve.
    ^^^^^^^^ write
    A["Custom<br/>(role: solver_1)"]:::CustomOp
                         ^^^^^^^^ read"""
    )


def test_ids_of_edges_and_subgraphs() -> None:
    text = "flowchart TD\nA e1@--> B\ne<|>1@{ animate: true }\nclass e1 x\n"
    found = marked(text)
    assert len(highlights(found.analysis, found.position)) == 3
    text = "flowchart TD\nsubgraph one [One]\nA\nend\none --> B\nstyle o<|>ne fill:#fff\n"
    found = marked(text)
    assert [place.kind for place in highlights(found.analysis, found.position)] == ["write", "read", "read"]
    answer = definition(found.analysis, found.position)
    assert answer is not None
    assert slice_of(found.text, answer.targets[0].whole) == "subgraph one [One]"


def test_names_stand_where_they_are_written() -> None:
    found = marked("<|>" + TEXT.replace("\n", "\r\n").replace("Solve.", "😀 Solve."))
    for block in found.analysis.diagram.blocks:
        for place in occurrences_in(found.analysis, block):
            named = place.symbol.name.rpartition(":")[2]
            assert place.written.casefold() == named.casefold()
            assert slice_of(found.text, place.range) == place.written + place.suffix
