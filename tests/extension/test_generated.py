"""package.json, the TypeScript constants and the README's tables say what the tables of settings and commands say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from merrow_server.language_server import make_server
from merrow_server.lsp.settings import read_editor_settings

REPOSITORY = Path(__file__).resolve().parents[2]
EXTENSION = REPOSITORY / "vscode-extension"


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    return found


def test_the_generated_files_are_up_to_date() -> None:
    command = [sys.executable, REPOSITORY / "scripts" / "generate_extension.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_server_has_nothing_to_say_about_the_settings_that_the_editor_sends() -> None:
    properties = manifest()["contributes"]["configuration"]["properties"]
    sent = {name.removeprefix("merrow."): value["default"] for name, value in properties.items()}
    settings, problems = read_editor_settings(sent)
    assert problems == []
    assert settings == read_editor_settings({})[0]


def test_no_command_of_the_extension_has_the_name_of_one_of_the_server() -> None:
    """The client registers the server's commands in the editor; a second one of the name would end it."""
    own = {command["command"] for command in manifest()["contributes"]["commands"]}
    assert own.isdisjoint(make_server().protocol.fm.commands)
    assert len(own) > 10


def test_what_is_let_through_in_restricted_mode_are_commands_of_the_server() -> None:
    text = (EXTENSION / "src" / "server" / "restricted.ts").read_text("utf-8")
    allowed = set(re.findall(r"^  '(merrow\.\w+)',$", text, re.MULTILINE))
    assert {"merrow.fix", "merrow.graph"} <= allowed
    assert allowed - {"merrow.cancel"} <= set(make_server().protocol.fm.commands)


def test_what_a_workspace_must_not_choose_unseen_is_restricted() -> None:
    trust = manifest()["capabilities"]["untrustedWorkspaces"]
    assert trust["supported"] == "limited"
    assert set(trust["restrictedConfigurations"]) == {"merrow.python", "merrow.endpoint", "merrow.model"}
    properties = manifest()["contributes"]["configuration"]["properties"]
    assert all("key" not in name.casefold() for name in properties)


def test_the_walkthrough_offers_commands_that_there_are() -> None:
    found = json.dumps(manifest()["contributes"]["walkthroughs"])
    own = {command["command"] for command in manifest()["contributes"]["commands"]}
    linked = set(re.findall(r"(?:command:|onCommand:)(merrow\.\w+)", found))
    assert linked
    assert linked <= own
    for media in re.findall(r'"(walkthrough/\w+\.md)"', found):
        assert (EXTENSION / media).is_file()


@pytest.mark.parametrize(
    "page", ["README.md", *(f"walkthrough/{name}.md" for name in ("see", "repair", "run", "models"))]
)
def test_every_picture_of_a_page_is_there(page: str) -> None:
    named = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (EXTENSION / page).read_text("utf-8"))
    assert named
    for picture in named:
        assert ((EXTENSION / page).parent / picture).is_file()


def test_version_and_licence_are_those_of_merrow() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    assert f'version = "{manifest()["version"]}"' in project
    assert (EXTENSION / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()
