"""Of several actions of one kind at one place, each makes its own edit, also where a client knows them as commands; of
several diagrams in a file, a command works on the one at the cursor.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.server.lsp.editor import MODERN, Editor
from tests.server.lsp.test_code_action import asked, without

FLOW = """flowchart TD
    PROBLEM([Problem]):::Interface --> V[Custom]:::fancy --> RETURN([Return]):::Interface
    classDef Interface fill:#eee
    classDef fanzy fill:#fff
"""


@pytest.mark.parametrize("title", ["Write fanzy", "Define class fancy"])
def test_each_command_makes_its_own_edit(open_editor: Callable[..., Editor], title: str) -> None:
    editor = open_editor(without(MODERN, "textDocument", "codeAction"))
    uri = editor.open(FLOW)
    (command,) = (one for one in asked(editor, uri, "fancy", 1) if one["title"] == title)
    editor.request("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]})
    editor.run(0.02)
    (request,) = (one for one in editor.requests if one["method"] == "workspace/applyEdit")
    text = editor.applied(request["params"]["edit"])[uri]
    if title == "Write fanzy":
        assert text == FLOW.replace("fancy", "fanzy")
    else:
        assert "classDef fancy " in text
        assert "classDef fanzy " in text


@pytest.mark.parametrize(("word", "number"), [("FIRST[", 1), ("SECOND[", 2)])
def test_commands_of_the_menu_work_on_the_diagram_at_the_cursor(editor: Editor, word: str, number: int) -> None:
    step = '    {}[Custom]@{{ prompt: "Solve it." }}\n    PROBLEM([Problem]) --> {} --> RETURN([Return])\n'
    blocks = [f"```mermaid\nflowchart TD\n{step.format(name, name)}```\n\n" for name in ("FIRST", "SECOND")]
    uri = editor.open("".join(blocks), "notes.md")
    actions = asked(editor, uri, word, triggerKind=1)
    commands = {one["title"]: one["command"]["arguments"][0] for one in actions if "command" in one}
    assert len(commands) == 3, "all mutations, a better prompt, a better workflow"
    assert {given["diagram"] for given in commands.values()} == {number}
    (prompt,) = (given for given in commands.values() if "node" in given)
    assert f"{prompt['node']}[" == word
