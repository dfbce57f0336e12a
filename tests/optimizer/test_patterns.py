"""Patterns: those that come with Merrow, those of a workspace, and files that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.program import in_process

import merrow_optimizer.mutations.patterns as package
from merrow_analysis.check import analyse
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.diagnostics import Severity
from merrow_optimizer.mutations.patterns import (
    FOLDER,
    PatternFileError,
    all_patterns,
    built_in_patterns,
    read_pattern,
    workspace_patterns,
)

FILES = sorted(Path(package.__file__).parent.glob("*.mmd"))

SECOND_OPINION = """---
pattern:
  title: "Ask a second opinion on {core}"
  core: CORE
workflow:
  prompts:
    solver: Solve it.
    second: Say what you would have answered, and why.
---
flowchart TD
    PROBLEM([Task]):::Interface
    CORE["Custom<br/>(role: solver)"]:::CustomOp
    SECOND["Custom<br/>(role: second)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| CORE
    PROBLEM -->|input| SECOND
    CORE -->|input| SECOND
    SECOND --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_built_in_patterns_are_workflows_without_a_finding(path: Path) -> None:
    found = analyse(path.read_text("utf-8"))
    assert not [one.message for one in found.diagnostics if one.severity is not Severity.HINT]


def test_the_library_has_what_the_papers_use() -> None:
    names = {pattern.name for pattern in built_in_patterns()}
    assert names == {path.stem for path in FILES}
    assert {
        *("self_consistency_vote", "review_revise", "plan_then_solve", "program_and_verify", "test_and_fix"),
        *("draft_critique", "step_back", "persona_panel"),
    } <= names


@pytest.mark.parametrize("pattern", built_in_patterns(), ids=lambda pattern: pattern.name)
def test_built_in_patterns_say_what_they_are_about(pattern: package.Pattern) -> None:
    assert ("{core}" if pattern.core else "{part}") in pattern.title
    for node in pattern.nodes:
        if node.spec.instruction_key is not None:
            assert node.prompt
            assert len(node.prompt.split()) < 100


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("pattern:\n", "patterns:\n", "needs a `pattern:` block"),
        ('title: "Ask', 'name: "Ask', "key `name`"),
        ("core: CORE", "core: GONE", "no operator node has that id"),
        ("core: CORE", "core: CORE\n  copies: [SECOND, RETURN]", "not a node with the operator of the core"),
        ("core: CORE", "core: CORE\n  copies: SECOND", "needs `copies` as a list"),
        ("    second: Say what you would have answered, and why.\n", "", "no prompt"),
        ("CORE -->|input| SECOND", "CORE -->|inptu| SECOND", "error on line"),
        ("(role: second)", "(role: second, returns: Answer)", "makes a promise"),
        ("RETURN\n    classDef", "RETURN\n    CORE --> RETURN\n    classDef", "error on line"),
    ],
)
def test_what_is_no_pattern_is_told(old: str, new: str, says: str) -> None:
    assert old in SECOND_OPINION
    with pytest.raises(PatternFileError, match=says):
        read_pattern(SECOND_OPINION.replace(old, new, 1), "second_opinion")


def test_texts_that_are_no_workflow_are_no_pattern() -> None:
    for text in ("", "flowchart TD", "sequenceDiagram\n A->>B: x", "---\npattern: 3\n---\nflowchart TD\n A --> B"):
        with pytest.raises(PatternFileError):
            read_pattern(text, "odd")


class Folder:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> str:
        if path not in self.files:
            raise ResourceError(f"There is no {path}.")
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files


def test_patterns_of_a_workspace_come_through_the_provider() -> None:
    folder = Folder({"p/second_opinion.mmd": SECOND_OPINION, "p/bad.mmd": "flowchart TD"})
    own, problems = workspace_patterns(folder, ["p/second_opinion.mmd", "p/bad.mmd", "p/none.mmd"])
    assert [pattern.name for pattern in own] == ["second_opinion"]
    assert [problem.path for problem in problems] == ["p/bad.mmd", "p/none.mmd"]
    assert own[0] in all_patterns(own)
    replaced = read_pattern(SECOND_OPINION, "review_revise")
    assert len(all_patterns([replaced])) == len(built_in_patterns())
    assert replaced in all_patterns([replaced])


def test_mutate_offers_the_patterns_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (tmp_path / "merrow.toml").write_text("")
    (folder / "second_opinion.mmd").write_text(SECOND_OPINION)
    (folder / "bad.mmd").write_text("flowchart TD")
    (tmp_path / "flow.mmd").write_text((Path(__file__).parents[2] / "examples" / "vote.mmd").read_text())
    monkeypatch.chdir(tmp_path)
    found = in_process(capsys, "mutate", "flow.mmd", "--list")
    assert found.code == 0
    assert "Ask a second opinion on VOTE" in found.out
    assert "Pattern bad is not a workflow" in found.err


def test_the_documentation_tells_of_every_pattern_and_its_example_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "patterns.md").read_text("utf-8")
    for pattern in built_in_patterns():
        assert f"| `{pattern.name}` | {pattern.title} |" in page
    example = page.split("```mermaid\n", 1)[1].split("```", 1)[0]
    assert read_pattern(example, "second_opinion").core == "CORE"
