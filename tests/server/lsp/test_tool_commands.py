"""Servers of tools in an editor: listed, pinned, compared, and started or called only once the user has agreed to all of it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.server.lsp.client import Json, Recording
from tests.server.lsp.editor import PULLING
from tests.server.lsp.running import RUNS, RunningEditor, editor_on
from tests.server.lsp.test_people import ASKS, CANCEL, People, accept
from tests.tools.mails import MAILER, ONE, Workspace

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, read_pins

YES = accept(answer=True)
MAILS = {"PROBLEM": "ann", "BODY": "hello"}
SHOUT = '''def shout(text: str) -> str:
    """Shout a text."""
    return text.upper()
'''
LOCAL = """---
workflow:
  tools: [local.shout]
---
flowchart TD
    PROBLEM([Text]):::Interface
    RETURN([Result]):::Interface
    SHOUT[["Tool<br/>(tool: local.shout)"]]
    PROBLEM -->|text| SHOUT --> RETURN
    classDef Interface fill:#eee
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


@asynccontextmanager
async def editor_with(
    folder: Path, *answers: Any, capabilities: Json = ASKS
) -> AsyncIterator[tuple[RunningEditor, People]]:
    """An editor whose user answers what they are asked in this order, and nothing else."""
    left = iter(answers)
    async with editor_on(folder, capabilities=capabilities) as editor:
        yield editor, People(editor, lambda _: next(left))
    assert list(left) == []


def propose(folder: Path, **servers: object) -> None:
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def mailer(folder: Path, *more: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(MAILER), str(folder / "mails"), *more]}


async def refusal(editor: RunningEditor, command: str, /, **argument: Any) -> JsonRpcException:
    with pytest.raises(JsonRpcException) as refused:
        await editor.execute(command, **argument)
    return refused.value


async def actions(editor: RunningEditor, uri: str, code: str) -> list[Any]:
    found = [finding for finding in await editor.diagnostics(uri) if finding.code == code]
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(uri), found[0].range, types.CodeActionContext(found[:1], ["quickfix"])
    )
    await editor.client.text_document_code_action_async(params)
    # As it came: the package takes an action with a command for a command.
    return list(list(cast(Recording, editor.client.protocol).answers.values())[-1]["result"])


async def test_the_tools_that_a_workflow_names_are_pinned_once_the_server_is_trusted(folder: Path) -> None:
    propose(folder, mail=mailer(folder))
    async with editor_with(folder, CANCEL, YES) as (editor, people):
        uri = editor.open(ONE)
        pin = (await actions(editor, uri, "MW503"))[0]
        assert (pin["title"], pin["isPreferred"]) == ("Pin the tools of mail", True)
        assert pin["command"]["arguments"] == [{"uri": uri, "server": "mail", "tools": ["send"]}]
        command, (argument,) = pin["command"]["command"], pin["command"]["arguments"]
        refused = await refusal(editor, command, **argument)
        assert refused.code == types.LSPErrorCodes.RequestCancelled
        assert not (folder / PINS_FILE).exists()
        pulled = await editor.execute(command, **argument)
        assert (pulled["written"], pulled["count"]) == (True, 1)
        assert [change["tool"] for change in pulled["changed"]] == ["mail.send"]
        first, second = people.asked
        assert first["kind"] == "consent"
        assert first["shown"] == second["shown"]
        shown = json.loads(first["shown"][0]["text"])
        assert shown["command"] == [sys.executable, str(MAILER), str(folder / "mails")]
        assert shown["workspace"] == str(folder)
        assert "MW503" not in [finding.code for finding in await editor.diagnostics(uri)]
    assert read_pins((folder / PINS_FILE).read_text()).names() == ["mail.send"]


async def test_a_server_that_nobody_knows_is_named_with_how_to_add_it(folder: Path) -> None:
    async with editor_with(folder) as (editor, _):
        refused = await refusal(editor, "merrow.pullTools", server="mail")
        assert "merrow tools add mail" in refused.message


async def test_what_is_listed_starts_nothing_and_says_how_each_stands(folder: Path) -> None:
    propose(folder, mail=mailer(folder), bad={"command": ""})
    (folder / "tools").mkdir()
    (folder / "tools" / "shout.py").write_text(SHOUT)
    async with editor_with(folder, YES) as (editor, _):

        async def rows() -> Json:
            return {row["name"]: row for row in (await editor.execute("merrow.tools"))["servers"]}

        before = await rows()
        assert {name: row["trust"] for name, row in before.items()} == {
            "mail": "untrusted",
            "bad": "unusable",
            "local.shout": "untrusted",
        }
        assert (before["mail"]["tools"], before["bad"]["definition"]) == ([], None)
        assert [(tool["tool"], tool["state"]) for tool in before["local.shout"]["tools"]] == [
            ("local.shout", "unpinned")
        ]
        await editor.execute("merrow.pullTools", server="local")
        await editor.execute("merrow.pullTools", server="mail", tools=["send"])
        after = await rows()
        assert {tool["name"]: tool["state"] for tool in after["mail"]["tools"]} == {
            "send": "pinned",
            "count": "unpinned",
            "echo": "unpinned",
        }
        (shout,) = after["local.shout"]["tools"]
        assert (shout["state"], shout["agreed"]) == ("pinned", False)
        (folder / "tools" / "shout.py").write_text(SHOUT.replace("upper", "lower"))
        assert (await rows())["local.shout"]["tools"][0]["state"] == "differs"
        only = await editor.execute("merrow.tools", names=["mail"])
        assert [row["name"] for row in only["servers"]] == ["mail"]
        deep = folder / "deep"
        deep.mkdir()
        there = await editor.execute("merrow.tools", uri=(deep / "flow.mmd").as_uri())
        assert (there["pins"], [row["name"] for row in there["servers"]]) == (str(folder / PINS_FILE), ["mail", "bad"])
        assert "file or of a folder" in (await refusal(editor, "merrow.tools", uri="untitled:1")).message


async def test_a_run_of_a_changed_tool_has_its_finding_at_the_step_that_calls_it(folder: Path) -> None:
    space = Workspace(folder, folder / ".config")
    space.settings("allow = true")
    space.pin(description="What it was.")
    async with editor_on(folder, capabilities=PULLING) as editor:
        uri = editor.open(ONE)
        assert (await editor.execute("merrow.run", uri=uri, inputs=MAILS))["status"] == "failed"
        (finding,) = [one for one in await editor.diagnostics(uri) if one.severity == types.DiagnosticSeverity.Error]
        assert finding.code == "MW504"
        assert "tool: mail.send" in ONE.split("\n")[finding.range.start.line]
        await editor.execute("merrow.pullTools", server="mail", tools=["send"], accept=True)
        assert (await editor.execute("merrow.run", uri=uri, inputs=MAILS))["status"] == "finished"
        assert "MW504" not in [one.code for one in await editor.diagnostics(uri)]
    assert len(space.mails) == 1


async def test_consent_is_to_the_definition_that_was_shown(folder: Path) -> None:
    propose(folder, mail=mailer(folder))
    async with editor_with(folder, YES) as (editor, _):
        (row,) = (await editor.execute("merrow.tools"))["servers"]
        propose(folder, mail=mailer(folder, "--other"))
        refused = await refusal(editor, "merrow.trustServer", name="mail", digest=row["digest"])
        assert "has changed since it was shown" in refused.message
        (row,) = (await editor.execute("merrow.tools"))["servers"]
        trusted = await editor.execute("merrow.trustServer", name="mail", digest=row["digest"])
        assert trusted["server"]["trust"] == "trusted"
        forgotten = await editor.execute("merrow.forgetServer", name="mail")
        assert (forgotten["forgotten"], forgotten["server"]["trust"]) == (1, "untrusted")
        assert (await editor.execute("merrow.forgetServer", name="mail"))["forgotten"] == 0
        assert (await editor.execute("merrow.trustServer", name="mail"))["server"]["trust"] == "trusted"


async def test_a_hostile_definition_is_shown_whole_and_can_not_be_markup(folder: Path) -> None:
    hostile = ["\u202egnp.exe", "\x1b[2J", "[Trust](command:workbench.action.quit)", "`code`", "x" * 2_000]
    propose(folder, mail=mailer(folder, *hostile))
    async with editor_with(folder, CANCEL) as (editor, people):
        await refusal(editor, "merrow.trustServer", name="mail")
        text = people.asked[0]["shown"][0]["text"]
        assert json.loads(text)["command"][-len(hostile) :] == hostile
        assert all(char.isprintable() or char == "\n" for char in text)
        assert "](" not in text
        assert "`" not in text


async def test_nobody_agrees_to_more_than_a_message_can_show(folder: Path) -> None:
    propose(folder, mail=mailer(folder, "x" * 5_000))
    async with editor_with(folder, capabilities=RUNS) as (editor, people):
        refused = await refusal(editor, "merrow.trustServer", name="mail")
        assert "merrow tools trust mail" in refused.message
        assert people.asked == []


async def test_a_run_asks_once_for_each_pin_whether_its_tools_may_be_called(folder: Path) -> None:
    space = Workspace(folder, folder / ".config")
    space.settings()
    async with editor_with(folder, CANCEL, YES, YES) as (editor, people):
        uri = editor.open(ONE)
        refused = await refusal(editor, "merrow.run", uri=uri, inputs=MAILS)
        assert refused.code == types.LSPErrorCodes.RequestCancelled
        assert space.mails == []
        ended = await editor.execute("merrow.run", uri=uri, inputs=MAILS)
        assert (ended["status"], ended["outputs"]) == ("finished", {"RETURN": "sent to ann"})
        again = await editor.execute("merrow.run", uri=uri, inputs=MAILS)
        assert again["status"] == "finished"
        asked = people.asked[0]
        assert (asked["kind"], asked["from"], asked["button"]) == ("consent", str(folder), "Allow")
        ((title, text),) = [(section["title"], section["text"]) for section in asked["shown"]]
        assert title == "mail.send"
        assert "Sends a mail." in text
        (row,) = (await editor.execute("merrow.tools"))["servers"]
        used = {tool["name"]: (tool["agreed"], tool["last_used"] is not None) for tool in row["tools"]}
        assert used == {"send": (True, True), "count": (False, False), "echo": (False, False)}
        # The same tool by another pin is another agreement.
        pins = json.loads((folder / PINS_FILE).read_text())
        pins["servers"]["mail"]["tools"]["send"]["description"] = "Changed."
        (folder / PINS_FILE).write_text(json.dumps(pins))
        await editor.execute("merrow.pullTools", server="mail", tools=["send"], accept=True)
        await editor.execute("merrow.forgetServer", name="mail.send")
        assert (await editor.execute("merrow.run", uri=uri, inputs=MAILS))["status"] == "finished"
    assert len(space.mails) == 3


async def test_a_run_asks_for_a_server_and_then_for_its_tool(folder: Path) -> None:
    Workspace(folder, folder / ".config")
    (folder / ".config" / "config.toml").unlink()
    propose(folder, mail=mailer(folder))
    async with editor_with(folder, YES, YES) as (editor, people):
        ended = await editor.execute("merrow.run", uri=editor.open(ONE), inputs=MAILS)
        assert ended["status"] == "finished"
        assert [asked["button"] for asked in people.asked] == ["Trust This Server", "Allow"]


async def test_a_local_tool_is_run_once_its_text_is_agreed_to(folder: Path) -> None:
    async with editor_with(folder, YES) as (editor, people):
        made = await editor.execute("merrow.newTool", name="shout")
        file = folder / "tools" / "shout.py"
        assert (made["uri"], file.exists()) == (file.as_uri(), True)
        assert "not written over" in (await refusal(editor, "merrow.newTool", name="shout")).message
        file.write_text(SHOUT)
        assert (await editor.execute("merrow.pullTools", server="local", tools=["shout"]))["written"] is True
        ended = await editor.execute("merrow.run", uri=editor.open(LOCAL), inputs={"PROBLEM": "hello"})
        assert ended["outputs"] == {"RETURN": "HELLO"}
        (asked,) = people.asked
        assert (asked["shown"][0]["title"], asked["shown"][0]["text"]) == (str(file), SHOUT)


async def test_clients_without_forms_are_asked_in_a_message_or_told_what_to_run(folder: Path) -> None:
    space = Workspace(folder, folder / ".config")
    space.settings()

    def broken() -> Any:
        raise ValueError

    async with editor_on(folder, capabilities=RUNS) as editor:
        acts = iter([lambda: None, broken, lambda: {"title": "Allow"}])
        people = People(editor, lambda _: next(acts)())
        uri = editor.open(ONE)
        assert (await refusal(editor, "merrow.run", uri=uri, inputs=MAILS)).code == types.LSPErrorCodes.RequestCancelled
        assert "add it to `allow`" in (await refusal(editor, "merrow.run", uri=uri, inputs=MAILS)).message
        assert space.mails == []
        assert (await editor.execute("merrow.run", uri=uri, inputs=MAILS))["status"] == "finished"
        assert "mail.send\nSends a mail." in people.asked[0]["message"]
        assert [action["title"] for action in people.asked[0]["actions"]] == ["Allow"]


async def test_a_changed_tool_is_shown_and_pinned_again_only_if_the_user_says_so(folder: Path) -> None:
    space = Workspace(folder, folder / ".config")
    text = (folder / PINS_FILE).read_text()
    pins = json.loads(text)
    pins["servers"]["mail"]["tools"] = {"send": pins["servers"]["mail"]["tools"]["send"]}
    space.settings("allow = true")
    lying = MAILER.read_text().replace("Sends a mail.", "Sends a mail\u200b, and your keys.")
    (folder / "lying.py").write_text(lying)
    (folder / PINS_FILE).write_text(json.dumps(pins))
    config = (folder / ".config" / "config.toml").read_text().replace(str(MAILER), str(folder / "lying.py"))
    (folder / ".config" / "config.toml").write_text(config)
    async with editor_with(folder, accept(answer=False), YES) as (editor, people):
        checked = await editor.execute("merrow.checkTools")
        assert ([one["tool"] for one in checked["differs"]], checked["problems"]) == (["mail.send"], [])
        (row,) = (await editor.execute("merrow.tools"))["servers"]
        assert {tool["name"]: tool["state"] for tool in row["tools"]}["send"] == "differs"
        kept = await editor.execute("merrow.pullTools", server="mail", tools=["send"])
        assert (kept["written"], json.loads((folder / PINS_FILE).read_text())) == (False, pins)
        assert (await editor.execute("merrow.pullTools", server="mail", tools=["send"]))["written"] is True
        shown = people.asked[0]["shown"][0]["text"]
        assert "U+200B" in shown
        assert "\u200b" not in shown
        assert '+   "description"' in shown
        assert await editor.execute("merrow.checkTools", servers=["mail"]) == {"differs": [], "problems": []}
        (problem,) = (await editor.execute("merrow.checkTools", servers=["none"]))["problems"]
        assert "No tool of none is pinned" in problem


async def test_pins_that_are_being_edited_are_not_written_over(folder: Path) -> None:
    space = Workspace(folder, folder / ".config")
    space.settings("allow = true")
    (folder / PINS_FILE).write_text(NO_PINS.text())
    async with editor_with(folder) as (editor, _):
        uri = editor.open(NO_PINS.text(), PINS_FILE, "json")
        assert (await editor.execute("merrow.pullTools", server="mail", tools=["send"]))["written"] is True
        editor.change(uri, (folder / PINS_FILE).read_text() + "\n")
        refused = await refusal(editor, "merrow.pullTools", server="mail", tools=["count"])
        assert "not saved" in refused.message
    assert read_pins((folder / PINS_FILE).read_text()).names() == ["mail.send"]


async def test_pins_of_servers_that_may_not_be_started_are_not_compared_unasked(folder: Path) -> None:
    Workspace(folder, folder / ".config")
    (folder / ".config" / "config.toml").unlink()
    propose(folder, mail=mailer(folder))
    async with editor_with(folder, CANCEL) as (editor, people):
        (problem,) = (await editor.execute("merrow.checkTools"))["problems"]
        assert "merrow tools trust mail" in problem
        assert people.asked == []
        refused = await refusal(editor, "merrow.checkTools", servers=["mail"])
        assert refused.code == types.LSPErrorCodes.RequestCancelled


async def test_a_server_that_is_added_is_written_into_the_users_settings(folder: Path) -> None:
    async with editor_with(folder) as (editor, people):
        added = await editor.execute("merrow.addServer", name="mail", command=[sys.executable, str(MAILER), "x"])
        assert (added["name"], added["settings"]) == ("mail", str(folder / ".config" / "config.toml"))
        propose(folder, other=mailer(folder))
        await editor.execute("merrow.addServer", name="other", **{"from": str(folder / ".mcp.json")})
        listed = await editor.execute("merrow.tools")
        assert [(row["name"], row["trust"]) for row in listed["servers"]] == [("mail", "yours"), ("other", "yours")]
        assert "Say what the server is" in (await refusal(editor, "merrow.addServer", name="none")).message
        for wrong in ({"name": 7}, {"name": "x", "command": "a text"}, {"name": ""}):
            assert (await refusal(editor, "merrow.addServer", **wrong)).code == -32602
        assert people.asked == []


async def test_what_a_server_that_fails_wrote_is_told_with_the_refusal(folder: Path) -> None:
    async with editor_with(folder) as (editor, _):
        command = [sys.executable, "-c", "import sys; sys.exit('\\x1b[31mno database')"]
        await editor.execute("merrow.addServer", name="mail", command=command)
        refused = await refusal(editor, "merrow.pullTools", server="mail")
        assert "exit code 1" in refused.message
        assert "no database" in refused.data["told"]
        assert "\x1b" not in refused.data["told"]


async def test_a_workspace_that_is_not_trusted_starts_and_pins_nothing(folder: Path) -> None:
    propose(folder, mail=mailer(folder))
    async with editor_on(folder, capabilities=ASKS, options={"trusted": False}) as editor:
        for command, argument in (
            ("merrow.pullTools", {"server": "mail"}),
            ("merrow.checkTools", {}),
            ("merrow.trustServer", {"name": "mail"}),
            ("merrow.addServer", {"name": "x", "command": ["y"]}),
            ("merrow.newTool", {"name": "x"}),
        ):
            assert (await refusal(editor, command, **argument)).data["code"] == "untrusted", command
        assert [row["name"] for row in (await editor.execute("merrow.tools"))["servers"]] == ["mail"]
    assert not (folder / ".config" / "config.toml").exists()


async def hovered(editor: RunningEditor, uri: str, text: str, name: str) -> str:
    line = next(number for number, line in enumerate(text.splitlines()) if "<br/>" in line)
    place = types.Position(line, text.splitlines()[line].index(name) + 1)
    found = await editor.client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), place))
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


async def test_hover_says_whether_the_server_of_a_tool_may_be_started(folder: Path) -> None:
    space = Workspace(folder, folder / ".config")
    settings = (folder / ".config" / "config.toml").read_text()
    (folder / ".config" / "config.toml").write_text("")
    async with editor_with(folder, YES) as (editor, _):
        uri = editor.open(ONE)
        assert "isn't known here" in await hovered(editor, uri, ONE, "mail.send")
        propose(folder, mail=mailer(folder))
        assert "is not started before you agree" in await hovered(editor, uri, ONE, "SEND")
        await editor.execute("merrow.trustServer", name="mail")
        assert "you have agreed to it as it is" in await hovered(editor, uri, ONE, "mail.send")
        propose(folder, mail=mailer(folder, "more"))
        assert "is not started before you agree" in await hovered(editor, uri, ONE, "mail.send")
        propose(folder, mail={"command": "${input:key}"})
        assert "can't be used; `merrow tools list` says why" in await hovered(editor, uri, ONE, "mail.send")
        (folder / ".config" / "config.toml").write_text(settings)
        assert "in your own settings" in await hovered(editor, uri, ONE, "mail.send")
        (folder / ".config" / "config.toml").write_text("not settings")
        assert "server is" not in await hovered(editor, uri, ONE, "mail.send")
    assert space.mails == []


async def test_hover_says_whether_the_file_of_a_local_tool_may_be_run(folder: Path) -> None:
    file = folder / "tools" / "shout.py"
    file.parent.mkdir()
    async with editor_with(folder, YES) as (editor, _):
        uri = editor.open(LOCAL)
        assert "no such file in" in await hovered(editor, uri, LOCAL, "local.shout")
        file.write_text(SHOUT)
        unpinned = await hovered(editor, uri, LOCAL, "local.shout")
        assert "is not pinned" in unpinned
        assert "`merrow tools trust local.shout`" in unpinned
        await editor.execute("merrow.trustServer", name="local.shout")
        assert "agreed to its file" in await hovered(editor, uri, LOCAL, "local.shout")
        file.write_text(SHOUT.replace("text: str", "text: complex"))
        assert "can't be used; `merrow tools list` says why" in await hovered(editor, uri, LOCAL, "local.shout")
