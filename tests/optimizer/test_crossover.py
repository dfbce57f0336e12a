"""Crossover: children of valid workflows are valid, self-contained, made of their parents' lines, and repeatable."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from tests.optimizer.mutation_checks import CORPUS, EXAMPLES, rough_workflows
from tests.server.program import in_process
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.diagnostics import Severity
from merrow_analysis.graph.instructions import prompt_of, role_of
from merrow_optimizer.crossover.children import Child, CrossoverRefusedError, children, crossover

SMALL = settings(suppress_health_check=list(HealthCheck), max_examples=8)
VALID = [*EXAMPLES, *sorted((CORPUS / "mmd").glob("v*.mmd"))]

A = """---
title: First
workflow:
  model: m
  types: {Draft: Text, Mood: [good, bad]}
  prompts:
    solver: |
      Solve it the first way.
    writer: |
      Write a draft.
  operators:
    Polish: {inputs: {text: Draft, problem: Problem}, outputs: {better: Draft}, prompt: "Polish it."}
---
flowchart TD
    %% The nodes
    PROBLEM([Task]):::Interface
    SOLVE["Custom<br/>(role: solver)"]:::CustomOp
    WRITE@{ op: Custom, role: writer, returns: Draft, shape: rect }
    POLISH["Polish<br/>"]:::PolishOp
    RETURN([Result]):::Interface
    %% The edges
    PROBLEM -->|input| SOLVE
    SOLVE ==>|input| WRITE
    WRITE -->|text| POLISH
    PROBLEM -->|problem| POLISH
    POLISH -.-> RETURN
    linkStyle 1,4 stroke:red
    class SOLVE big
    classDef big stroke-width:9px
    classDef Interface fill:#eee
    classDef CustomOp fill:#fff
    classDef PolishOp fill:#ddd
"""

B = """---
title: Second
workflow:
  types: {Draft: Analysis}
  prompts:
    solver: |
      Solve it the second way.
    closer: |
      Close it.
  operators:
    Polish: {inputs: {text: Draft}, outputs: {better: Draft}, prompt: "Shine."}
---
flowchart TD
    PROBLEM([Task]):::Interface
    SOLVE["Custom<br/>(role: solver)"]:::CustomOp
    DRAFT@{ op: Custom, role: SOLVER, returns: Draft, shape: rect }
    POLISH["Polish<br/>"]:::PolishOp
    CLOSE["Custom<br/>(role: closer)"]:::CustomOp
    RETURN([Result]):::Interface
    PROBLEM -->|input| SOLVE
    SOLVE -->|input| DRAFT
    DRAFT -->|text| POLISH
    POLISH -->|input| CLOSE
    CLOSE --> RETURN
    linkStyle 4 stroke:blue
    class CLOSE,DRAFT big
    classDef big stroke-width:1px
    classDef Interface fill:#eee
    classDef CustomOp fill:#abc
    classDef PolishOp fill:#123
"""


def troubles(analysis: Analysis) -> set[str]:
    return {found.code for found in analysis.diagnostics if found.severity is not Severity.HINT}


def check(child: Child, *parents: Analysis) -> Analysis:
    found = analyse(child.text)
    assert found.is_workflow
    known = troubles(parents[0]) | troubles(parents[1])
    assert troubles(found) <= known, f"{child.title}: {[d.message for d in found.diagnostics]}\n{child.text}"
    return found


def test_children_of_valid_workflows_are_valid_and_repeatable() -> None:
    pairs = 0

    @SMALL
    @given(workflows() | rough_workflows(), rough_workflows() | workflows(), st.integers(0, 99))
    def check_pair(first: str, second: str, seed: int) -> None:
        nonlocal pairs
        parents = analyse(first), analyse(second)
        assume(all(parent.is_valid for parent in parents))
        try:
            found = crossover(*parents, seed)
        except CrossoverRefusedError:
            reject()
        assert found == crossover(analyse(first), analyse(second), seed)
        for child in found:
            check(child, *parents)
        pairs += 1

    check_pair()
    assert pairs >= 8


@SMALL
@given(workflows(), rough_workflows())
def test_every_node_is_a_parents_node(first: str, second: str) -> None:
    parents = analyse(first), analyse(second)
    assume(all(parent.is_valid for parent in parents))
    declared = [
        {node.label.text for node in parent.flow.nodes.values() if node.label is not None} for parent in parents
    ]
    for child, _ in zip(children(*parents), range(4), strict=False):
        labels = {node.label.text for node in analyse(child.text).flow.nodes.values() if node.label is not None}
        assert labels <= declared[0] | declared[1]


@pytest.mark.shared("corpus")
@pytest.mark.thinned(32)
@pytest.mark.parametrize("first", VALID, ids=lambda path: path.stem)
def test_corpus_pairs(first: Path) -> None:
    mine = analyse(first.read_text("utf-8"))
    for second in VALID:
        theirs = analyse(second.read_text("utf-8"))
        texts = set()
        for child, _ in zip(children(mine, theirs), range(12), strict=False):
            check(child, mine, theirs)
            texts.add(child.text)
        assert "".join(block.text for block in mine.diagram.blocks) not in texts


def test_conflicting_names_are_told_apart() -> None:
    first, second = analyse(A), analyse(B)
    assert first.is_valid
    assert second.is_valid
    found = list(children(first, second))
    assert found
    both = 0
    for child in found:
        after = check(child, first, second)
        assert after.typed is not None
        parent_prompts = {prompt_text(one, node.id) for one in (first, second) for node in one.typed.nodes}  # type: ignore[union-attr]
        for node in after.typed.nodes:
            if node.kind == "operator":
                assert prompt_text(after, node.id) in parent_prompts
        both += len([name for name in after.settings.prompts if name.casefold().startswith("solver")]) == 2
    assert both


def prompt_text(analysis: Analysis, node: str) -> str | None:
    assert analysis.typed is not None
    prompt = prompt_of(analysis.typed.by_id[node], analysis.prompts)
    return prompt if prompt is None or isinstance(prompt, str) else prompt.text


def test_styles_of_edges_stay_with_their_edges() -> None:
    first, second = analyse(A), analyse(B)
    seen = set()
    for child in children(first, second):
        after = analyse(child.text)
        lines = [line for line in child.text.splitlines() if line.strip().startswith("linkStyle")]
        for line in lines:
            for number in line.split()[1].split(","):
                edge = after.flow.edges[int(number)]
                seen.add(edge.target.id.removesuffix("_2"))
    assert seen == {"WRITE", "RETURN"}


class Folder:
    """The files beside a workflow."""

    def __init__(self, **files: str) -> None:
        self.files = {name.replace("_", "."): text for name, text in files.items()}

    def read(self, path: str) -> str:
        if path not in self.files:
            raise ResourceError(f"There is no {path}.")
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files


PLAIN = """flowchart TD
    PROBLEM([Task]):::Interface
    ONE["Custom<br/>(role: solver)"]:::CustomOp
    TWO["Custom<br/>(role: closer)"]:::CustomOp
    RETURN([Result]):::Interface
    PROBLEM -->|input| ONE
    ONE -->|input| TWO
    TWO --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#fff
"""


def test_prompts_of_files_are_copied() -> None:
    provider = Folder(prompt_py='SOLVER = "Solve."\nCLOSER = "Close."\n')
    named = PLAIN.replace("flowchart TD", "---\nworkflow:\n  prompts: p.yaml\n---\nflowchart TD", 1)
    first = analyse(PLAIN, provider=provider)
    second = analyse(named, provider=Folder(p_yaml="solver: Answer.\ncloser: Close.\n"))
    assert first.is_valid
    assert second.is_valid
    found = list(children(first, second))
    assert found
    for child in found:
        after = check(child, first, second)
        assert after.settings.prompt_file is None
        assert after.typed is not None
        for node in after.typed.nodes:
            role = role_of(node)
            if role is not None:
                assert after.prompts.find(role[1]) is not None


def test_roles_without_prompts_get_their_words_where_others_have_prompts() -> None:
    first, second = analyse(PLAIN), analyse(B)
    found = [check(child, first, second) for child in children(first, second)]
    assert any(after.settings.prompts.get("closer") in ("Closer.", "Close it.\n") for after in found)


def test_operators_of_libraries_are_copied() -> None:
    library = "operators:\n  Polish: {inputs: {text: Text}, outputs: {better: Text}, prompt: Shine.}\n"
    text = PLAIN.replace("flowchart TD", "---\nworkflow:\n  libraries: [ops.yaml]\n---\nflowchart TD", 1)
    text = text.replace('TWO["Custom<br/>(role: closer)"]:::CustomOp', 'TWO["Polish<br/>"]').replace(
        "|input| TWO", "|text| TWO"
    )
    first, second = analyse(text, provider=Folder(ops_yaml=library)), analyse(A)
    assert first.is_valid, [found.message for found in first.diagnostics]
    found = list(children(first, second))
    assert found
    for child in found:
        check(child, first, second)


def test_invalid_parents_are_refused() -> None:
    with pytest.raises(CrossoverRefusedError, match="has errors"):
        crossover(analyse(A), analyse(B.replace("closer:", "loser:")))
    with pytest.raises(CrossoverRefusedError, match="not a workflow"):
        crossover(analyse("flowchart TD\n  A --> B\n"), analyse(B))


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mmd").write_text(A)
    (tmp_path / "b.mmd").write_text(B)
    (tmp_path / "bad.mmd").write_text(B.replace("closer:", "loser:"))
    monkeypatch.chdir(tmp_path)
    arguments = ("crossover", "a.mmd", "b.mmd", "--seed", "3", "--format", "json")
    first = in_process(capsys, *arguments)
    assert first.code == 0
    assert first.out == in_process(capsys, *arguments).out
    for line in first.out.splitlines():
        child = json.loads(line)
        assert child["operator"] == "crossover"
        assert [cut["parent"] for cut in child["cuts"]] == ["A", "B"]
        assert analyse(child["text"]).is_valid
    refused = in_process(capsys, "crossover", "a.mmd", "bad.mmd")
    assert refused.code == 1
    assert "has errors" in refused.err
    assert in_process(capsys, "crossover", "a.mmd", "none.mmd").code == 2


GROUPED = """%%{init: {"theme": "dark"}}%%
flowchart LR
  subgraph S1 [Group]
    direction TB
    PROBLEM([P]):::Interface
    SOLVE@{
      op: Custom
      shape: rounded
      prompt: "Do
        it {well}."
    }
    subgraph INNER
      WRITE["Custom<br/>(role: w)"]:::CustomOp
    end
  end
  WRITE@{ prompt: "Write.", temperature: 0.5 }
  LAST["Custom<br/>"]:::CustomOp
  LAST@{ prompt: "Last." }
  RETURN([R]):::Interface
  PROBLEM e1@-->|input| SOLVE e2@-->|input| WRITE & LAST
  WRITE e3@==> LAST --> RETURN
  e2@{ animate: true }
  e3@{ animate: true }
  style LAST fill:#123
  click LAST "https://example.org"
  class S1 big
  linkStyle 0,4 stroke:red
  classDef big fill:#fff
  classDef Interface fill:#eee
  classDef CustomOp fill:#ddd
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_subgraphs_edge_ids_and_links_go_with_their_nodes(ending: str) -> None:
    grouped = analyse(GROUPED.replace("\n", ending))
    assert not troubles(grouped)
    for parents in ((grouped, analyse(A)), (analyse(B), grouped), (grouped, grouped)):
        found = list(children(*parents))
        assert found
        for child in found:
            after = check(child, *parents)
            assert set(after.flow.edge_ids) <= {"e1", "e2", "e3", "e2_2", "e3_2", "e1_2"}
            if parents[0] is grouped and child.host == 0:
                assert ("\r\n" in child.text) == (ending == "\r\n")


def test_an_unended_last_line_kept_in_part_gets_the_line_ending_of_its_text() -> None:
    chained = """flowchart TD
    PROBLEM([P]):::Interface
    RETURN([R]):::Interface
    ONE["Custom<br/>(role: one)"]:::CustomOp
    TWO["Custom<br/>(role: two)"]:::CustomOp
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
    PROBLEM -->|input| ONE -->|input| TWO --> RETURN"""
    hosts = analyse(chained.replace("\n", "\r\n"))
    found = [child for child in children(hosts, analyse(A)) if child.host == 0]
    assert found
    assert [child.text for child in found if re.search(r"(?<!\r)\n", child.text)] == []


def test_link_styles_on_one_line_are_counted_anew_one_by_one() -> None:
    chain = """flowchart TD
    PROBLEM([P]):::Interface
    RETURN([R]):::Interface
    ONE["Custom<br/>(role: one)"]:::CustomOp
    TWO["Custom<br/>(role: two)"]:::CustomOp
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
    PROBLEM -->|input| ONE
    ONE -->|input| TWO
    TWO --> RETURN
    linkStyle 0 stroke:red; linkStyle 2 stroke:blue
"""
    other = analyse(A)
    found = [*children(analyse(chain), other), *children(other, analyse(chain))]
    assert found
    for child in found:
        assert analyse(child.text).is_valid, child.text
        for line in re.findall(r"linkStyle.*", child.text):
            assert line.count("linkStyle") == 1
