"""``merrow.templates``: the patterns that a new workflow can start from, for editors."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.lsp.editor import Editor, ServerError

from merrow_server.templates import templates


def asked(editor: Editor, argument: dict[str, str]) -> Any:
    return editor.request("workspace/executeCommand", {"command": "merrow.templates", "arguments": [argument]})


def test_an_editor_lists_the_patterns_and_gets_the_text_of_one(editor: Editor) -> None:
    listed = asked(editor, {})
    assert [(one["name"], one["group"]) for one in listed] == [(one.name, one.group) for one in templates().values()]
    assert all("text" not in one for one in listed)
    (triage,) = asked(editor, {"name": "triage"})
    assert (triage["text"], triage["needs"]) == (templates()["triage"].text, [])
    (adapt,) = asked(editor, {"name": "adapt", "file": "split.mmd"})
    assert "(workflow: ./split.mmd" in adapt["text"]
    (agent,) = asked(editor, {"name": "agent_with_tools"})
    assert "merrow tools pull" in agent["needs"][0]
    with pytest.raises(ServerError, match="must be one of chain_of_thought"):
        asked(editor, {"name": "triag"})
