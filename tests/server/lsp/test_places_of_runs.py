"""Which document and diagram a workflow's name in the journal means."""

from __future__ import annotations

import pytest

from merrow_server.jobs.places import place_of


@pytest.mark.parametrize(
    ("name", "uri", "diagram"),
    [
        ("/w/flow.mmd", "file:///w/flow.mmd", 1),
        ("/w/doc.md#2", "file:///w/doc.md", 2),
        ("/w/doc.md#12", "file:///w/doc.md", 12),
        ("/w/a#b.mmd", "file:///w/a%23b.mmd", 1),
        ("/w/a#b.md#3", "file:///w/a%23b.md", 3),
        ("/w/a#", "file:///w/a%23", 1),
        ("/w/c#-1", "file:///w/c%23-1", 1),
        ("/w/1", "file:///w/1", 1),
        ("untitled:Flow-1#2", "untitled:Flow-1", 2),
        ("untitled:Flow-1", "untitled:Flow-1", 1),
        ("flow.mmd", None, 1),
        ("7", None, 1),
        ("", None, 1),
        ("/w/doc.md#1234567890123", "file:///w/doc.md", 123456789),
    ],
)
def test_a_name_means_a_document_and_a_diagram(name: str, uri: str | None, diagram: int) -> None:
    assert place_of(name) == {"uri": uri, "diagram": diagram}
