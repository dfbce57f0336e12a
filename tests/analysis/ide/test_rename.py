"""Renaming: the text means the same afterwards, renaming back restores it, and what can't be renamed is told in a sentence."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import marked
from tests.strategies import ODD_IDS, any_flowcharts
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.ide.names.rename import (
    RenameRefusedError,
    prepare_rename,
    rename,
)
from merrow_analysis.ide.names.rename_files import prompt_file_edits
from merrow_analysis.places.occurrences import occurrences_in, occurrences_of
from merrow_analysis.places.symbols import Occurrence, Symbol, symbol
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import Position, apply_edits

EVERYTHING = """\
---
workflow:
  inputs: [TASK]
  outputs: ANSWER
  types: {Draft: Text, Final: Draft}
  prompts:
    "solver_1": Solve.
    critic: Judge.
  operators:
    Planner: {inputs: {problem: Text, "old?": "list[Draft]"}, outputs: {plan: {type: Draft}}, prompt: Plan it.}
---
flowchart TD
    TASK([Task]):::Interface
    ANSWER([Answer]):::Interface
    P["Planner<br/>(returns: Draft)"]
    A["Custom<br/>(role: SOLVER_1, temperature: 0)"]
    B@{ op: planner, role: "critic" }
    class P,B PlannerOp
    class A CustomOp
    classDef PlannerOp fill:#eee,stroke:#333
    classDef CustomOp fill:#eee
    classDef Interface fill:#eee
    classDef hot stroke:#f00
    TASK e1@--> P
    TASK --> A:::hot & B
    e1@{ animate: true }
    subgraph work [The work]
        P --> ANSWER
        A --> ANSWER
    end
    work:::hot
    B --> ANSWER
    style work fill:#fff
    style A stroke:#333
    click A "https://example.org" "A"
"""


def renamed(text: str, new: str) -> str:
    found = marked(text)
    return apply_edits(found.text, rename(found.analysis, found.position, new).edits)


def refused(text: str, new: str = "new_name") -> str:
    found = marked(text)
    with pytest.raises(RenameRefusedError) as refusal:
        rename(found.analysis, found.position, new)
    sentence = str(refusal.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("place", ["<|>P[", "class <|>P,B", "e1@--> P<|>", "<|>P --> ANSWER"])
def test_a_node_everywhere(place: str) -> None:
    text = renamed(EVERYTHING.replace(place.replace("<|>", ""), place), "PLAN")
    for line in ('PLAN["Planner', "class PLAN,B PlannerOp", "TASK e1@--> PLAN", "        PLAN --> ANSWER"):
        assert line in text


def test_a_class_in_all_notations() -> None:
    text = renamed(EVERYTHING.replace("classDef hot", "classDef h<|>ot"), "warm")
    assert "classDef warm stroke" in text
    assert "A:::warm & B" in text
    assert "work:::warm" in text
    assert "hot" not in text


def test_a_prompt_keeps_the_spelling_of_each_place() -> None:
    text = renamed(EVERYTHING.replace('"solver_1"', '"solver<|>_1"'), "thinker")
    assert '"thinker": Solve.' in text
    assert "role: THINKER," in text


def test_an_operator_with_its_classes() -> None:
    text = renamed(EVERYTHING.replace("Planner:", "Plan<|>ner:"), "Designer")
    for line in (
        "    Designer: {inputs",
        '"Designer<br/>',
        "op: designer,",
        "class P,B DesignerOp",
        "classDef DesignerOp",
    ):
        assert line in text


def test_an_operator_renamed_at_its_class() -> None:
    marked_class = EVERYTHING.replace("class P,B PlannerOp", "class P,B Plann<|>erOp")
    assert renamed(marked_class, "DesignerOp") == renamed(marked_class, "Designer")
    found = marked(marked_class)
    prepared = prepare_rename(found.analysis, found.position)
    assert prepared is not None
    assert prepared.name == "Planner"
    assert prepare_rename(found.analysis, Position(11, 2)) is None


def test_a_type() -> None:
    text = renamed(EVERYTHING.replace("Draft: Text", "Dr<|>aft: Text"), "Sketch")
    for piece in ("{Sketch: Text, Final: Sketch}", "list[Sketch]", "type: Sketch", "returns: Sketch"):
        assert piece in text
    assert "Draft" not in text


class Files:
    def __init__(self, **files: str) -> None:
        self.files = files

    def read(self, path: str) -> str:
        if path not in self.files:
            raise ResourceError(f"There is no {path}.")
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files


@pytest.mark.parametrize("place", ["role: <|>one, role: one", "role: one, temperature: 0, role: <|>one, role: one"])
def test_a_parameter_that_is_written_again(place: str) -> None:
    """A label may say the same key twice, which is a warning; each place is renamed, once."""
    found = marked(
        f'---\nworkflow:\n  prompts: {{one: Solve.}}\n---\nflowchart TD\nPROBLEM --> A["Custom<br/>({place})"]:::CustomOp\n'
    )
    outcome = rename(found.analysis, found.position, "two")
    text = apply_edits(found.text, outcome.edits)
    assert place.replace("<|>", "").replace("one", "two") in text
    assert "{two: Solve.}" in text


def test_a_prompt_of_a_python_file() -> None:
    module = 'SOLVER = "ü" + "x"\nÜ = SOLVER; other = SOLVER\n# SOLVER\nSOLVER: str = "Solve."\n'
    found = marked(
        'flowchart TD\nPROBLEM --> A["Custom<br/>(role: sol<|>ver)"]:::CustomOp\n', Files(**{"prompt.py": module})
    )
    outcome = rename(found.analysis, found.position, "thinker")
    assert outcome.file == "prompt.py"
    assert "role: thinker" in apply_edits(found.text, outcome.edits)
    edits = prompt_file_edits(module, outcome.file, outcome.symbol, outcome.old, outcome.new)
    after = apply_edits(module, edits)
    assert after == 'THINKER = "ü" + "x"\nÜ = THINKER; other = THINKER\n# SOLVER\nTHINKER: str = "Solve."\n'


def test_a_prompt_of_a_yaml_file() -> None:
    file = "prompts:\n  'Solver': Solve.\n  critic: Judge.\n"
    text = "---\nworkflow:\n  prompts: p.yaml\n---\nflowchart TD\nPROBLEM --> A@{ op: Custom, role: <|>critic }\n"
    found = marked(text, Files(**{"p.yaml": file}))
    outcome = rename(found.analysis, found.position, "judge")
    edits = prompt_file_edits(file, "p.yaml", outcome.symbol, outcome.old, outcome.new)
    assert apply_edits(file, edits) == file.replace("critic", "judge")
    quoted = prompt_file_edits(file, "p.yaml", symbol("prompt", "solver"), "Solver", "Thinker")
    assert apply_edits(file, quoted) == file.replace("Solver", "Thinker")


@pytest.mark.parametrize("mark", ["<|>PROBLEM", "<|>RETURN"])
def test_interfaces_known_by_their_names(mark: str) -> None:
    assert "by its name" in refused("flowchart TD\nPROBLEM --> RETURN\n".replace(mark.replace("<|>", ""), mark))


def test_a_problem_that_would_lose_its_type() -> None:
    head = "---\nworkflow:\n  inputs: PROBLEM\n---\nflowchart TD\n"
    assert "gives Problem by its name" in refused(head + "<|>PROBLEM --> RETURN\n", "TASK")
    text = head + "<|>PROBLEM@{ type: Problem } --> RETURN\n"
    assert "inputs: TASK" in renamed(text, "TASK")


@pytest.mark.parametrize(
    ("place", "new", "reason"),
    [
        ("Cus<|>tom<br/>", "X", "is built in"),
        ("class A Cus<|>tomOp", "X", "says which operator"),
        ("ANSWER([Answer]):::Inter<|>face", "X", "marks inputs and outputs"),
        ("{problem: Te<|>xt", "X", "is built in"),
        ("flow<|>chart", "X", "Nothing here"),
        ("<|>P[", "A", "already a node A"),
        ("<|>P[", "work", "already a subgraph work"),
        ("<|>P[", "e1", "already an edge e1"),
        ("<|>P[", "end", "word of Mermaid's own"),
        ("<|>P[", "a b", "can't name a node"),
        ("<|>P[", "", "at least one character"),
        ("<|>P[", "RETURN", "name of a workflow's output"),
        ("classDef h<|>ot", "PlannerOp", "already a class"),
        ("classDef h<|>ot", "ReviewOp", "which operator"),
        ("Plan<|>ner:", "custom", "already an operator"),
        ("Plan<|>ner:", "a-b", "can't name an operator"),
        ("Dra<|>ft: Text", "Final", "already a type"),
        ("Dra<|>ft: Text", "T", "can't name a type"),
        ('"sol<|>ver_1"', "Critic", "already a prompt"),
        ('"sol<|>ver_1"', "a, b: c", "can't name a prompt"),
    ],
)
def test_refusals(place: str, new: str, reason: str) -> None:
    plain = place.replace("<|>", "")
    assert plain in EVERYTHING
    assert reason in refused(EVERYTHING.replace(plain, place, 1), new)


def test_a_name_of_two_things() -> None:
    assert "names an edge and something else" in refused("flowchart TD\n<|>A A@--> B\n")


def test_a_name_that_an_arrow_would_swallow() -> None:
    assert "head of an arrow" in refused("flowchart TD\n<|>A --> B\nC---A\n", "over")
    assert "C --- over" in renamed("flowchart TD\n<|>A --> B\nC --- A\n", "over")


def test_names_in_a_line_that_is_half_typed() -> None:
    text = renamed('flowchart TD\n<|>A[x] --> B\nA --> \nclass A\nB -->|x| A["\n', "NEW")
    assert text == 'flowchart TD\nNEW[x] --> B\nNEW --> \nclass NEW\nB -->|x| NEW["\n'


NAMES = [
    "NEW",
    "over",
    "x1",
    "end",
    "default",
    "graph2",
    "ünal",
    "節点",
    "a_b",
    "B",
    "n-1",
    "1",
    "Review",
    "CustomOp",
    "v",
]
NEVER_AGAIN = {*ODD_IDS, "PROBLEM", "ENTRY_POINT", "RETURN"}
"""Names that a thing may have, but not get."""
searching = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def plain_structure(text: str, old: Symbol | None = None, new: str = "") -> Any:
    """Mermaid's structure without the texts and ids that it makes of names, and with one thing renamed."""

    def name(word: str, *kinds: str) -> str:
        return new if old is not None and old.kind in kinds and word == old.name else word

    structure = parse_record(text)["structure"]
    if structure is None:
        return None
    ids = ("node", "subgraph", "edge")
    for vertex in structure["vertices"]:
        vertex["text"] = None if vertex["text"] == vertex["id"] else vertex["text"]
        vertex["id"] = name(vertex["id"], *ids)
    for edge in structure["edges"]:
        edge["id"] = name(edge["id"], *ids) if edge["user_id"] else None
        edge["from"], edge["to"] = name(edge["from"], *ids), name(edge["to"], *ids)
    for subgraph in structure["subgraphs"]:
        subgraph["title"] = None if subgraph["title"] == subgraph["id"] else subgraph["title"]
        subgraph["id"] = name(subgraph["id"], *ids)
        subgraph["nodes"] = [name(node, *ids) for node in subgraph["nodes"]]
    classes = ("class", "operator")
    for part in (*structure["vertices"], *structure["edges"], *structure["subgraphs"]):
        part["classes"] = [name(word, *classes) for word in part["classes"]]
    for definition in structure["classDefs"]:
        definition["name"] = name(definition["name"], *classes)
    return structure


def test_renaming_changes_the_name_alone_and_can_be_undone() -> None:
    counted = Counter[str]()

    @given(any_flowcharts | workflows() | st.just(EVERYTHING), st.data())
    @settings(searching, max_examples=25)
    def check(text: str, data: st.DataObject) -> None:
        counted[check_renaming(text, data)] += 1

    check()
    assert counted.total() >= 25
    assert counted["undone"] >= 4, "of a hundred it is mostly half, and seldom less than a third"


def check_renaming(text: str, data: st.DataObject) -> str:
    """Rename anything in a text; how far it went."""
    analysis = analyse(text)
    places: list[Occurrence] = [o for block in analysis.diagram.blocks for o in occurrences_in(analysis, block)]
    assume(places)
    place = data.draw(st.sampled_from(places))
    new = data.draw(st.sampled_from(NAMES))
    try:
        outcome = rename(analysis, place.range.start, new)
    except RenameRefusedError:
        reject()
    after_text = apply_edits(text, outcome.edits)
    after = analyse(after_text)
    assert Counter(d.code for d in after.diagnostics) <= Counter(d.code for d in analysis.diagnostics)
    # Mermaid gives no class to a node whose id has a comma, so such a node gets one with its new name.
    if outcome.symbol.kind in ("node", "subgraph", "edge", "class") and "," not in outcome.symbol.name:
        assert plain_structure(after_text) == plain_structure(text, outcome.symbol, outcome.new)
    if outcome.new == outcome.old:
        assert after_text == text
        reject()
    spellings = {o.written for o in occurrences_of(analysis, outcome.symbol)}
    owner, mark, _ = outcome.symbol.name.rpartition(":" if outcome.symbol.kind == "input" else ".")
    moved = symbol(
        outcome.symbol.kind, f"{owner}{mark}{outcome.new}" if outcome.symbol.kind in ("input", "field") else outcome.new
    )
    same_kinds = [o for o in occurrences_of(after, moved) if o.written == outcome.new]
    assert same_kinds
    if len(spellings) == 1 and re.fullmatch(r"[^\W\d]\w+", outcome.old) and outcome.old not in NEVER_AGAIN:
        back = rename(after, same_kinds[0].range.start, outcome.old)
        assert apply_edits(after_text, back.edits) == text
        return "undone"
    return "renamed"
