"""`[servers.NAME]` of the user's settings: what it may say, and the sentence for what it may not, which repeats no value."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runtime.models.making import KEY

from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.settings_text import with_server
from merrow_runtime.models.tool_servers import MAX_RESULT, TIMEOUT, ToolServer
from merrow_runtime.models.user_settings import read_user_settings

ALL = """
model = "m"  # mine

[servers.web]
command = ["npx", "-y", "some-server"]
env = ["WEB_KEY"]
cwd = "~/notes"
timeout = 5
repeatable = ["search"]
allow = true
max_result = 1000

[servers.shop]
url = " https://shop.example/mcp?key=${env:SHOP_KEY} "

[servers.old]
command = "python"
args = ["-m", "server"]
repeatable = false
"""


def read(tmp_path: Path, text: str) -> dict[str, ToolServer]:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return dict(read_user_settings(path).servers)


def test_all_that_can_be_said(tmp_path: Path) -> None:
    servers = read(tmp_path, ALL)
    web, shop, old = servers["web"], servers["shop"], servers["old"]
    assert web.command == ("npx", "-y", "some-server")
    assert (web.env, web.cwd, web.timeout, web.max_result) == (("WEB_KEY",), "~/notes", 5.0, 1_000)
    assert (web.may_repeat("search"), web.may_repeat("fetch"), web.may_call("fetch")) == (True, False, True)
    assert (shop.url, shop.command) == ("https://shop.example/mcp?key=${env:SHOP_KEY}", ())
    assert (shop.place, shop.variables) == ("https://shop.example", ("SHOP_KEY",))
    assert (old.command, old.timeout, old.max_result) == (("python", "-m", "server"), TIMEOUT, MAX_RESULT)
    assert not old.may_repeat("x")
    assert not old.may_call("x")
    assert read(tmp_path, "") == {}


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (f'command = ["{KEY}"]\nurl = "https://x.example"', "must have either a `command` or a `url`"),
        ("timeout = 3", "must have either a `command` or a `url`"),
        ("command = []", "must be a program with its arguments"),
        (f'command = ["x", 7, "{KEY}"]', "is not a list of texts"),
        (f'command = ["x\\u0000{KEY}"]', "is not a list of texts"),
        ('command = ["x"]\nargs = ["y"]', "belongs to a `command` that is a text"),
        (f'url = "ftp://{KEY}"', "is not an address such as"),
        (f'url = "https://a:{KEY}@x.example"', "holds a user name or a password"),
        ('url = "https://x.example"\nenv = ["A"]', "`env` and `cwd` are for a `command`"),
        (f'command = ["x"]\nenv = ["{KEY}"]', "is not a list of names of environment variables"),
        (f'command = ["x"]\nenv = {{ A = "{KEY}" }}', "is not a list of names of environment variables"),
        ('command = ["x"]\ntimeout = 0', "is not a number of seconds above 0"),
        ('command = ["x"]\ntimeout = true', "is not a number of seconds above 0"),
        ('command = ["x"]\nmax_result = 4000001', "is not a number of bytes above 0, at most 4,000,000"),
        ('command = ["x"]\nallow = "all"', "is not a list of texts"),
        (
            f'command = ["x"]\nheaders = {{ Authorization = "{KEY}" }}',
            "has no setting `headers`; the settings are `command`",
        ),
    ],
)
def test_what_can_not_be_said(tmp_path: Path, table: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        read(tmp_path, f"[servers.web]\n{table}\n")
    assert sentence in str(failure.value)
    assert KEY not in str(failure.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[servers."a b"]\ncommand = ["x"]', "`a b` can't name a server of tools: use letters"),
        ('[servers.local]\ncommand = ["x"]', "`[servers.local]` is for the tools that are files in the folder `tools`"),
        ("servers = 7", "`[servers]` has a table for each server: [servers.NAME]"),
        ("[servers]\nweb = 7", "`[servers]` has a table for each server: [servers.NAME]"),
    ],
)
def test_names(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        read(tmp_path, text)
    assert sentence in str(failure.value)


def test_a_server_is_added_and_all_else_stays(tmp_path: Path) -> None:
    server = ToolServer("new", ("a b", 'c"d', "ä\n"), env=("X",), cwd="/w")
    text = with_server(ALL, server, "config.toml")
    assert text.startswith(ALL.rstrip())
    assert read(tmp_path, text) == {**read(tmp_path, ALL), "new": server}
    assert read(tmp_path, with_server("", server, "config.toml")) == {"new": server}
    with pytest.raises(UsageFailure, match=r"There is a server `web` in config.toml already"):
        with_server(ALL, ToolServer("web", ("x",)), "config.toml")
    with pytest.raises(UsageFailure, match="can't be changed safely"):
        with_server("servers = {}\n", server, "config.toml")
    with pytest.raises(UsageFailure, match="not valid TOML"):
        with_server("servers = {\n", server, "config.toml")
