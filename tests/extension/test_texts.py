"""The texts that the extension puts into people's files: snippets and the first workflow are what the checker accepts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.markdown import find_fences

EXTENSION = Path(__file__).resolve().parents[2] / "vscode-extension"
STOP = re.compile(r"\$\{\d+:([^}]*)\}|\$\d+")


def snippets(language: str) -> dict[str, str]:
    """The snippets of a language by name, as they are when nothing but Tab is pressed."""
    found = json.loads((EXTENSION / "snippets" / f"{language}.json").read_text("utf-8"))
    return {name: STOP.sub(lambda stop: stop[1] or "", "\n".join(one["body"])) for name, one in found.items()}


MERMAID = snippets("mermaid")
WHOLE = [name for name, text in MERMAID.items() if text.startswith("flowchart")]
PARTS = [name for name in MERMAID if name not in (*WHOLE, "Front matter")]


def starter() -> str:
    text = (EXTENSION / "src" / "commands" / "starter.ts").read_text("utf-8")
    return text.partition("`")[2].rpartition("`")[0]


def problems(text: str) -> list[str]:
    """What the checker says beyond hints."""
    return [f"{one.code} {one.message}" for one in analyse(text).diagnostics if one.severity is not Severity.HINT]


@pytest.mark.parametrize("name", WHOLE)
def test_a_snippet_of_a_whole_workflow_has_no_problems(name: str) -> None:
    assert problems(MERMAID[name]) == []


def test_the_first_workflow_has_no_problems_and_no_hints() -> None:
    assert [one.code for one in analyse(starter()).diagnostics] == []


def test_front_matter_and_workflow_go_together() -> None:
    assert problems(MERMAID["Front matter"] + MERMAID["Workflow"]) == []


@pytest.mark.parametrize("name", PARTS)
def test_a_snippet_of_a_part_is_what_mermaid_reads(name: str) -> None:
    assert [code for code in problems(f"flowchart TD\n{MERMAID[name]}\n") if code.startswith("MW0")] == []


def test_the_snippet_for_markdown_is_a_block_without_problems() -> None:
    (text,) = snippets("markdown").values()
    (block,) = find_fences(text)
    assert problems(block.text) == []
