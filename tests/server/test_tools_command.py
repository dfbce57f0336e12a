"""`merrow tools`: servers are added, pinned, compared, listed and trusted, and nothing is started that nobody agreed to."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.outside.test_sessions import HERE
from tests.server.program import Outcome, in_process, write

from merrow_analysis.tools.pins import read_pins
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.outside.consent import Consents

Capture = pytest.CaptureFixture[str]
KEY = "sk-mine-and-secret"
PINS = Path("merrow.tools.json")
SERVER = """
import json, sys
open({mark!r}, "a").write("started")
TOOLS = {tools}
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    info = {{"name": "s", "version": "1"}}
    if method == "initialize":
        result = {{"protocolVersion": "2025-11-25", "capabilities": {{"tools": {{}}}}, "serverInfo": info}}
    elif method == "tools/list":
        result = {{"tools": TOOLS}}
    elif "id" in request:
        print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "error": {{"code": -32601, "message": "no"}}}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}), flush=True)
"""


def tool(name: str, description: str = "Does it.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}}


def serves(*tools: dict[str, Any], name: str = "server.py") -> list[str]:
    """The command of a server that has these tools; it writes to the file ``started``."""
    write(name, SERVER.format(tools=repr(tools), mark=str(Path("started").absolute())))
    return [sys.executable, str(Path(name).absolute())]


@pytest.fixture
def run(capsys: Capture) -> Any:
    Path(".git").mkdir()

    def call(*words: str) -> Outcome:
        return in_process(capsys, "tools", *words)

    return call


def propose(place: str, **servers: object) -> None:
    Path(place).parent.mkdir(exist_ok=True)
    Path(place).write_text(json.dumps({"mcpServers" if place == ".mcp.json" else "servers": servers}))


def test_add_pull_check(run: Any) -> None:
    Path("config").mkdir()
    Path("config/config.toml").write_text('model = "m"  # mine\n')
    command = serves(tool("search"), tool("fetch"))
    added = run("add", "web", "--env", "WEB_KEY", "--", *command, "-x")
    assert (added.code, added.err) == (0, "")
    text = Path("config/config.toml").read_text()
    assert text.startswith('model = "m"  # mine\n')
    server = read_user_settings().servers["web"]
    assert (server.command, server.env) == ((*command, "-x"), ("WEB_KEY",))
    assert "There is a server `web`" in run("add", "web", "--", "x").err
    Path("config/config.toml").write_text(text.replace('env = ["WEB_KEY"]\n', ""))
    pulled = run("pull", "web", "search")
    assert pulled.code == 0
    assert "web.search is not pinned." in pulled.out
    assert '+   "description": "Does it.",' in pulled.out
    assert [pin.full_name for pin in read_pins(PINS.read_text()).all()] == ["web.search"]
    assert "did you mean search?" in run("pull", "web", "serch").err
    run("pull", "web")
    assert [pin.name for pin in read_pins(PINS.read_text()).all()] == ["fetch", "search"]
    before = PINS.read_text()
    assert "nothing differs" in run("pull", "web").out
    assert run("check").out == "The servers say what is pinned.\n"
    serves(tool("search", "Sends it \x1b[31maway."))
    checked = run("check")
    assert checked.code == 1
    assert "MW504 web.search is not as it was pinned." in checked.out
    assert '-   "description": "Does it.",' in checked.out
    assert "\x1b[31m" not in checked.out
    assert "MW504 web.fetch is pinned, and its server does not have it any more." in checked.out
    told = run("check", "web", "--json")
    assert [one["tool"] for one in told.json["differs"]] == ["web.fetch", "web.search"]
    assert told.code == 1
    assert PINS.read_text() == before
    assert run("check", "none").code == 1
    run("pull", "web", "search", "--accept")
    assert [pin.name for pin in read_pins(PINS.read_text()).all()] == ["fetch", "search"]
    run("pull", "web", "--accept")
    assert [pin.name for pin in read_pins(PINS.read_text()).all()] == ["search"]


def test_what_can_not_be_seen_is_not_pinned_by_the_way(run: Any) -> None:
    run("add", "web", "--", *serves(tool("search", "Does\u200b it.\u202e")))
    refused = run("pull", "web")
    assert refused.code == 1
    assert "description: U+200B ZERO WIDTH SPACE" in refused.out
    assert "\u200b" not in refused.out + refused.err
    assert "add --accept" in refused.err
    assert not PINS.exists()
    assert run("pull", "web", "--accept").code == 0
    assert "\\u200b" in PINS.read_text()


def test_pins_are_those_of_the_workspace(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "web", "--", *serves(tool("search"), tool("bad name")))
    root = Path.cwd()
    Path("deep/er").mkdir(parents=True)
    monkeypatch.chdir("deep/er")
    pulled = run("pull", "web")
    assert "bad name" in pulled.err
    assert (root / PINS).exists()
    Path(PINS).write_text("{}")
    assert "does not have version 1" in run("check").err


def test_a_server_that_fails_is_quoted(run: Any) -> None:
    run("add", "web", "--", sys.executable, "-c", "import sys; sys.exit('\\x1b[31mno database')")
    failed = run("pull", "web")
    assert failed.code == 2
    assert "  \u241b[31mno database\n" in failed.err
    assert failed.err.endswith("The server `web` ended with exit code 1.\n")
    assert not PINS.exists()


@pytest.mark.parametrize("place", [".mcp.json", ".vscode/mcp.json"])
def test_a_proposal_starts_nothing_before_consent_to_all_of_it(run: Any, place: str) -> None:
    command, *words = serves(tool("search"))
    propose(place, web={"command": command, "args": words})
    assert "web  not trusted" in run("list").out
    for refused in (run("pull", "web"), run("check", "web"), run("trust", "web")):
        assert refused.code != 0
    assert "not started before you agree" in run("pull", "web").err
    assert "Nobody can be asked here" in run("trust", "web").err
    assert not Path("started").exists()
    shown = run("trust", "web", "--yes")
    assert json.dumps(command) in shown.err.replace("[", "").replace(",", " ")
    assert run("pull", "web").code == 0
    assert Path("started").exists()
    (row,) = run("list", "--json").json["servers"]
    (listed,) = row["tools"]
    assert (row["trust"], listed["tool"], listed["state"]) == ("trusted", "web.search", "pinned")
    assert [listed[key] for key in ("repeatable", "allow", "agreed", "last_used")] == [False, False, False, None]
    for change in ({"args": [*words, "x"]}, {"env": {"HOME": ""}}, {"cwd": "/"}, {"command": "sh"}):
        propose(place, web={"command": command, "args": words, **change})
        assert run("list", "--json").json["servers"][0]["trust"] == "untrusted", change
    propose(place, web={"command": command, "args": words})
    assert run("list", "--json").json["servers"][0]["trust"] == "trusted"
    assert "not trusted any more" in run("forget", "web").out
    assert run("list", "--json").json["servers"][0]["trust"] == "untrusted"
    assert "was not trusted" in run("forget", "web").out


def test_consent_is_for_one_workspace_and_what_variables_have(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url, words = "https://shop.example/${env:PART}?key=${env:WEB_KEY}", ["-m", "${env:PART}"]
    propose(".mcp.json", web={"url": url}, shop={"command": "python", "args": words})
    monkeypatch.setenv("PART", "mcp")
    monkeypatch.setenv("WEB_KEY", KEY)
    shown = run("trust", "web", "--yes")
    assert "https://shop.example/${env:PART}?key" in shown.err
    assert KEY not in shown.out + shown.err + Path("state/trusted.json").read_text()
    assert "web  trusted" in run("list").out
    run("trust", "shop", "--yes")
    assert "shop  trusted" in run("list").out
    monkeypatch.setenv("PART", "other")
    assert "web  not trusted" in run("list").out
    assert "shop  not trusted" in run("list").out
    monkeypatch.setenv("PART", "mcp")
    Path("other/.git").mkdir(parents=True)
    Path("other/.mcp.json").write_text(Path(".mcp.json").read_text())
    monkeypatch.chdir("other")
    assert "web  not trusted" in run("list").out


def test_the_users_servers_need_no_consent_and_no_workspace_takes_their_name(run: Any) -> None:
    run("add", "web", "--", *serves(tool("search")))
    propose(".mcp.json", web={"command": "sh", "args": ["-c", "touch owned"]})
    assert "is in your own settings and needs no consent" in run("trust", "web").out
    assert run("pull", "web").code == 0
    assert not Path("owned").exists()
    assert "delete [servers.web]" in run("forget", "web").out


def test_consents_that_are_damaged_are_none(tmp_path: Path) -> None:
    path = tmp_path / "trusted.json"
    for text in ("", "7", "[" * 100_000, '{"version": 1, "trusted": 7}', '{"version": 2, "trusted": {"a": {}}}'):
        path.write_text(text)
        assert not Consents(path).has("a")
    Consents(path).add("a", "web", "/w")
    assert Consents(path).has("a")
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (
            {"command": "x", "env": {"TOKEN": "${input:t}"}},
            "set the environment variable TOKEN, and write `${env:TOKEN}`",
        ),
        ({"command": "x", "args": ["${input:t}"]}, "put it into an environment variable"),
        ({"command": "x", "args": ["${userHome}"]}, "`${userHome}` is not supported"),
        ({"command": "x", "env": {"A": "${env:B}"}}, "A is given another value than the environment variable A has"),
        ({"command": "x", "env": {"A B": KEY}}, "`A B` in `env` is not the name of an environment variable"),
        ({"url": "https://x.example", "headers": {"Authorization": KEY}}, "`headers` is not supported so far"),
        ({"url": "https://x.example", "type": "sse"}, "servers of the type `sse` are not supported"),
        ({"url": f"https://a:{KEY}@x.example"}, "holds a user name or a password"),
        ({"command": ""}, "`command` is not a text"),
        ({"command": "x", "args": KEY}, "`args` is not a list of texts"),
        (KEY, "it is not an object"),
    ],
)
def test_definitions_that_can_not_be_used(run: Any, entry: object, sentence: str) -> None:
    propose(".mcp.json", web=entry)
    for outcome in (run("list"), run("add", "--from", ".mcp.json", "web"), run("trust", "web", "--yes")):
        assert sentence in outcome.out + outcome.err
        assert KEY not in outcome.out + outcome.err
    assert not Path("config/config.toml").exists()
    assert not Path("state/trusted.json").exists()


def test_a_server_is_copied_from_another_program(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    propose(".vscode/mcp.json", other={"command": "x"})
    Path("home/.cursor").mkdir(parents=True)
    Path("home/.cursor/mcp.json").write_text(
        '{// mine\n"mcpServers": {"web": {"command": "npx", "args": ["${workspaceFolder}/a", "http://x//y", "${env:HOST}",],'
        f' "env": {{"WEB_KEY": "{KEY}", "HOST": "${{env:HOST}}"}}, /* "cwd": "x" */ "cwd": "sub",}}}}}}'
    )
    copied = run("add", "--from", "cursor", "web")
    assert copied.code == 0
    assert "The value of WEB_KEY is not taken from the file: set the environment variable WEB_KEY." in copied.err
    server = read_user_settings().servers["web"]
    assert server.command == ("npx", f"{tmp_path}/a", "http://x//y", "${env:HOST}")
    assert (set(server.env), server.cwd) == ({"WEB_KEY", "HOST"}, f"{tmp_path}/sub")
    assert KEY not in Path("config/config.toml").read_text()
    assert "cursor has no server `wep`; did you mean web?" in run("add", "--from", "cursor", "wep").err
    assert "claude has no servers here" in run("add", "--from", "claude", "web").err
    assert run("add", "--from", "vscode", "other").code == 0
    Path("bad.json").write_text("{")
    assert "bad.json is not JSON." in run("add", "--from", "bad.json", "x").err
    Path("none.json").write_text("{}")
    assert "it has neither `servers` nor `mcpServers`" in run("add", "--from", "none.json", "x").err


def test_a_tool_of_ones_own(run: Any) -> None:
    assert run("new", "convert").code == 0
    assert "is there already" in run("new", "convert").err
    assert "name it with letters" in run("new", "class").err
    assert run("pull", "local").code == 0
    (pin,) = read_pins(PINS.read_text()).all()
    assert (pin.full_name, pin.description) == ("local.convert", "Repeat a text.")
    assert run("check").code == 0
    assert "Do you trust" not in run("trust", "local.convert", "--yes").err
    assert "local.convert  trusted" in run("list").out
    file = Path("tools/convert.py")
    file.write_text(file.read_text().replace("text * times", "text"))
    assert "local.convert  not trusted" in run("list").out
    assert run("check").code == 1
    file.write_text("def convert(): pass\n")
    assert "`convert` has no docstring" in run("list").out
    assert "`convert` has no docstring" in run("trust", "local.convert").err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("add", "Name the server or the tool"),
        ("add web", "Say what the server is: merrow tools add web -- COMMAND, or with --url URL."),
        ("add a.b -- x", "`a.b` can't name a server of tools"),
        ("add local -- x", "`local` names the tools that are files"),
        (f"add web --env {KEY} -- x", "--env takes the name of an environment variable, not its value."),
        ("add web --url ftp://x", "is not an address such as"),
        ("add web --url https://x.example --cwd .", "--env and --cwd are for a server that is a command"),
        ("add --from cursor web -- x", "--from copies a server as it is"),
        ("pull web --url https://x.example", "merrow tools pull does not take --url."),
        ("trust a b", "merrow tools trust takes one name."),
        ("pull wep", "There is no server `wep`. Did you mean web?"),
    ],
)
def test_misuse(run: Any, words: str, sentence: str) -> None:
    Path("config").mkdir()
    Path("config/config.toml").write_text('[servers.web]\ncommand = ["x"]\n')
    outcome = run(*words.split())
    assert outcome.code == 2
    assert sentence in outcome.err
    assert KEY not in outcome.err


def test_a_workspace_can_not_name_servers(capsys: Capture) -> None:
    write("w.mmd", "---\nworkflow:\n  servers: {web: {command: [touch, owned]}}\n---\nflowchart TD\n    A --> B\n")
    Path("merrow.toml").write_text('[servers.web]\ncommand = ["touch", "owned"]\n')
    ignored = "`servers` is ignored in a file that can be shared; set it in your own settings."
    assert in_process(capsys, "check", "w.mmd").out.count(ignored) == 2
    in_process(capsys, "tools", "list")
    assert "There is no server `web`" in in_process(capsys, "tools", "pull", "web").err
    assert not Path("owned").exists()


@pytest.mark.slow
def test_a_server_by_the_package_is_pinned(run: Any) -> None:
    run("add", "shop", "--", sys.executable, str(HERE / "honest.py"))
    assert run("pull", "shop", "price").code == 0
    (pin,) = read_pins(PINS.read_text()).all()
    assert pin.output_schema is not None


def test_without_the_package_a_sentence_says_how_to_install_it(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "web", "--", *serves(tool("search")))
    monkeypatch.setattr("merrow_runtime.outside.packages.find_spec", lambda _: None)
    assert re.search(
        r"Servers of tools need the extra `tools`; install \w+ with: .* -m pip install ", run("pull", "web").err
    )
