"""Files that get another place or name: the paths in a workflow that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.ide.cursor.blocks import source_of
from merrow_analysis.ide.links import DocumentLink, links
from merrow_analysis.text import TextEdit, apply_edits


def path_edits(analysis: Analysis, moved: Callable[[str], str]) -> list[TextEdit]:
    """The edits after which each path in a text leads where ``moved`` says, given what is written; in the order of the text.

    A path that can't be written where the old one stands stays as it is.
    """
    text = source_of(analysis.diagram)
    file_links = sorted((link for link in links(analysis) if link.is_file), key=_place)
    wanted = [moved(link.target) for link in file_links]
    edits: list[TextEdit] = []
    for number, link in enumerate(file_links):
        if wanted[number] != link.target:
            edits += _written(text, file_links, number, wanted[number])
    return edits


def _written(text: str, file_links: list[DocumentLink], number: int, path: str) -> Iterator[TextEdit]:
    """The edit that puts a path in the place of another, in quotes where it needs them."""
    targets = [link.target for link in file_links]
    targets[number] = path
    for form in (path, "'" + path.replace("'", "''") + "'"):
        edit = TextEdit(file_links[number].range, form)
        after = analyse(apply_edits(text, [edit]))
        if [link.target for link in sorted(links(after), key=_place) if link.is_file] == targets:
            yield edit
            return


def _place(link: DocumentLink) -> tuple[tuple[int, int], tuple[int, int]]:
    return link.range
