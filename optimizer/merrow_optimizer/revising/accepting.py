"""The workflow of a revision as it goes into the file: without what only the run needed."""

from __future__ import annotations

from merrow_analysis.edits.front_entries import remove_entry
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import apply_edits


def accepted(text: str) -> str:
    """A workflow's text without `redo`, which asked for nodes to be made again in a run; all else stays byte for byte."""
    front = parse_diagram(text).front_matter
    edit = None if front is None else remove_entry(front, ("workflow", "redo"))
    return text if edit is None else apply_edits(text, [edit])
