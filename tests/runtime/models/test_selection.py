"""Which endpoint is chosen, which key goes to it, and that no file of a workspace has a say in either."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.models.making import KEY, asking
from tests.runtime.openai_server import OpenAIServer, Reply

from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.origins import is_loopback, origin_of
from merrow_runtime.models.prices import Price, PriceTable
from merrow_runtime.models.selection import EndpointChoice, ModelOptions, choose_endpoint, decide
from merrow_runtime.models.trust import WorkspaceValue, workspace_values
from merrow_runtime.models.user_settings import UserSettings

OPENAI = "https://api.openai.com"
MINE = "https://models.example.com"
EVIL = "https://evil.example"
WITH_KEY = {"OPENAI_API_KEY": KEY}


def chosen(
    options: ModelOptions | None = None,
    environment: dict[str, str] | None = None,
    settings: UserSettings | None = None,
    *workspace: tuple[str, object],
) -> EndpointChoice:
    values = [WorkspaceValue(key, value, "flow.mmd") for key, value in workspace]
    return decide(options or ModelOptions(), environment or {}, settings or UserSettings(), values)


def key_of(choice: EndpointChoice) -> str | None:
    assert KEY not in repr(choice)
    return None if choice.connection is None else choice.connection.api_key


def test_command_line_goes_before_environment_before_settings() -> None:
    settings = UserSettings(base_url=f"{MINE}/v1")
    environment = {"OPENAI_BASE_URL": "https://two.example/v1"}
    assert chosen(settings=settings).origin == MINE
    assert chosen(environment=environment, settings=settings).origin == "https://two.example"
    options = ModelOptions(base_url="https://one.example/v1")
    assert chosen(options, environment, settings).origin == "https://one.example"


SECRETS_OF_THE_MACHINE = st.sampled_from(["base_url", "api_base", "openai_base_url", "BASE-URL"])


@given(
    key=SECRETS_OF_THE_MACHINE,
    environment=st.sampled_from([{}, WITH_KEY, {**WITH_KEY, "OPENAI_BASE_URL": f"{MINE}/v1"}]),
)
def test_no_endpoint_comes_out_of_the_workspace(key: str, environment: dict[str, str]) -> None:
    choice = chosen(None, environment, None, (key, f"{EVIL}/v1"))
    assert choice.origin == chosen(None, environment).origin
    assert any(EVIL in notice and "flow.mmd" in notice and "trusted_origins" in notice for notice in choice.notices)


@pytest.mark.parametrize("key", ["api_key", "api_key_env", "proxy", "https_proxy", "interpreter", "organization"])
def test_other_settings_of_the_machine_are_ignored_whoever_is_trusted(key: str) -> None:
    settings = UserSettings(trusted_origins=frozenset({EVIL}))
    choice = chosen(None, WITH_KEY, settings, (key, f"{EVIL}/?{KEY}"))
    assert (choice.origin, key_of(choice)) == (OPENAI, KEY)
    assert any(f"`{key}`" in notice for notice in choice.notices)
    assert KEY not in "".join(choice.notices)


def test_a_trusted_origin_may_be_named_by_the_workspace_but_gets_no_key_of_another() -> None:
    settings = UserSettings(trusted_origins=frozenset({MINE}))
    choice = chosen(None, WITH_KEY, settings, ("base_url", f"{MINE}/v1"))
    assert (choice.origin, choice.source, key_of(choice)) == (MINE, "workspace", None)
    typed = chosen(ModelOptions(api_key=KEY), WITH_KEY, settings, ("base_url", f"{MINE}/v1"))
    assert key_of(typed) is None
    own = UserSettings(trusted_origins=frozenset({MINE}), api_key_env={MINE: "MINE_KEY"})
    assert key_of(chosen(None, {"MINE_KEY": "mine-01234"}, own, ("base_url", f"{MINE}/v1"))) == "mine-01234"


@pytest.mark.parametrize("wrong", ["ftp://models.example.com", "not an address", "", 3, None])
def test_an_address_in_the_workspace_that_is_none_is_ignored_and_the_next_is_taken(wrong: object) -> None:
    settings = UserSettings(trusted_origins=frozenset({MINE, OPENAI}))
    values = (("base_url", wrong), ("base_url", f"{MINE}/v1"), ("api_base", f"{OPENAI}/v1"))
    choice = chosen(None, {}, settings, *values)
    assert (choice.origin, choice.source) == (MINE, "workspace")
    assert choice.notices[:1] == ("flow.mmd: `base_url` is ignored: it is not an address of an endpoint.",)
    assert not any("trusted_origins" in notice for notice in choice.notices)


def test_what_no_shared_file_may_set_is_found_in_a_block() -> None:
    block = {"model": "m", "Base_URL": EVIL, "api-key": KEY, "retries": 2, "api_key_env": "HOME"}
    assert [value.key for value in workspace_values(block, "merrow.toml")] == ["Base_URL", "api-key", "api_key_env"]


def test_a_base_url_that_is_none_names_its_variable() -> None:
    with pytest.raises(UsageFailure, match="OPENAI_BASE_URL"):
        chosen(environment={"OPENAI_BASE_URL": "my-server"})
    assert chosen(ModelOptions(base_url=f"{MINE}/v1"), {"OPENAI_BASE_URL": "my-server"}).origin == MINE


async def test_the_chosen_endpoint_is_really_asked() -> None:
    async with OpenAIServer() as server:
        environment = {**WITH_KEY, "OPENAI_BASE_URL": server.base_url}
        endpoint = choose_endpoint(ModelOptions(), environment, UserSettings())
        server.script(Reply("42"))
        assert (await endpoint.complete(asking())).text == "42"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        await endpoint.close()


def test_the_command_line_takes_precedence_for_model_and_concurrency() -> None:
    settings = UserSettings(base_url=f"{MINE}/v1", model="of-the-settings", concurrency=3)
    typed = chosen(ModelOptions(model="typed", concurrency=5), settings=settings)
    kept = chosen(settings=settings)
    by_default = chosen(settings=UserSettings(base_url=f"{MINE}/v1"))
    found = [
        (choice.model, choice.connection and choice.connection.concurrency) for choice in (typed, kept, by_default)
    ]
    assert found == [("typed", 5), ("of-the-settings", 3), (None, 64)]


@pytest.mark.parametrize(
    ("base_url", "environment", "goes_along"),
    [
        (f"{OPENAI}/v1", {}, True),
        (f"{MINE}/v1", {}, False),
        (f"{MINE}/v1", {"OPENAI_BASE_URL": f"{MINE}/other"}, True),
        (f"{OPENAI}/v1", {"OPENAI_BASE_URL": f"{MINE}/v1"}, False),
        (f"{MINE}/v1", {"OPENAI_BASE_URL": "offline"}, False),
        (f"{MINE}/v1", {"OPENAI_BASE_URL": "no address"}, False),
    ],
)
def test_headers_of_the_environment_go_where_the_environment_means(
    base_url: str, environment: dict[str, str], goes_along: bool
) -> None:
    connection = chosen(ModelOptions(base_url=base_url), environment).connection
    assert connection is not None
    assert connection.environment_headers is goes_along


def test_an_unencrypted_endpoint_without_a_key_is_nothing_to_remark() -> None:
    assert chosen(ModelOptions(base_url="http://models.example.com/v1")).notices == ()


LOCAL = "http://localhost:11434"
AT_HOME = EndpointConnection(f"{LOCAL}/v1", None, 4, max_tokens=4096, is_guessed=True)
NOT_SENT = (
    f"OPENAI_API_KEY is not sent to {MINE}, which it was not set for; to send it, add"
    f' "{MINE}" = "OPENAI_API_KEY" to `[api_key_env]` in your own settings.'
)
PRICES = PriceTable({MINE: {"*": Price(1, 2)}})


@pytest.mark.parametrize(
    ("options", "environment", "settings", "choice", "key"),
    [
        *(
            (ModelOptions(), environment, UserSettings(), EndpointChoice("merrow:offline", "nothing"), None)
            for environment in ({}, {"OPENAI_API_KEY": "  ", "OPENAI_BASE_URL": ""})
        ),
        (
            ModelOptions(base_url=" Offline ", model="m"),
            WITH_KEY,
            UserSettings(model="n"),
            EndpointChoice("merrow:offline", "command line", model="m"),
            None,
        ),
        (
            ModelOptions(),
            {"OPENAI_BASE_URL": "merrow:offline"},
            UserSettings(model="n", base_url=f"{MINE}/v1"),
            EndpointChoice("merrow:offline", "environment", model="n"),
            None,
        ),
        (
            ModelOptions(),
            {"OPENAI_API_KEY": f" {KEY} "},
            UserSettings(),
            EndpointChoice(
                OPENAI,
                "default",
                EndpointConnection(f"{OPENAI}/v1", KEY, 64, environment_headers=True),
                "OPENAI_API_KEY",
            ),
            KEY,
        ),
        (
            ModelOptions(base_url=" ", api_key="typed-0123"),
            WITH_KEY,
            UserSettings(concurrency=3, proxy="http://p:1", prices=PRICES),
            EndpointChoice(
                OPENAI,
                "default",
                EndpointConnection(f"{OPENAI}/v1", "typed-0123", 3, "http://p:1", environment_headers=True),
                "command line",
                prices=PRICES,
            ),
            "typed-0123",
        ),
        (
            ModelOptions(concurrency=5),
            WITH_KEY,
            UserSettings(base_url=f"{MINE}/v1", concurrency=3, proxy=False),
            EndpointChoice(MINE, "settings", EndpointConnection(f"{MINE}/v1", None, 5, False), notices=(NOT_SENT,)),
            None,
        ),
        (
            ModelOptions(),
            WITH_KEY,
            UserSettings(base_url=f"{LOCAL}/v1"),
            EndpointChoice(LOCAL, "settings", AT_HOME),
            None,
        ),
        (
            ModelOptions(),
            {"MINE_KEY": "mine-0123"},
            UserSettings(base_url=f"{MINE}/v1", api_key_env={MINE: "MINE_KEY"}),
            EndpointChoice(
                MINE,
                "settings",
                EndpointConnection(f"{MINE}/v1", "mine-0123"),
                f"MINE_KEY (your settings name it for {MINE})",
            ),
            "mine-0123",
        ),
        (
            ModelOptions(),
            {**WITH_KEY, "MINE_KEY": " "},
            UserSettings(base_url=f"{MINE}/v1", api_key_env={MINE: "MINE_KEY"}),
            EndpointChoice(
                MINE,
                "settings",
                EndpointConnection(f"{MINE}/v1"),
                notices=(f"MINE_KEY, which your settings name for the key of {MINE}, is not set.",),
            ),
            None,
        ),
        (
            ModelOptions(),
            {**WITH_KEY, "THEIRS": "theirs-0123"},
            UserSettings(api_key_env={OPENAI: "THEIRS"}),
            EndpointChoice(
                OPENAI,
                "default",
                EndpointConnection(f"{OPENAI}/v1", environment_headers=True),
                f"THEIRS (your settings name it for {OPENAI})",
            ),
            "theirs-0123",
        ),
        (
            ModelOptions(),
            WITH_KEY,
            UserSettings(api_key_env={OPENAI: "THEIRS"}),
            EndpointChoice("merrow:offline", "nothing"),
            None,
        ),
        (
            ModelOptions(),
            {**WITH_KEY, "OPENAI_BASE_URL": " http://m.example/v1 "},
            UserSettings(),
            EndpointChoice(
                "http://m.example",
                "environment",
                EndpointConnection("http://m.example/v1", environment_headers=True),
                "OPENAI_API_KEY",
                notices=("The key goes to http://m.example unencrypted; use an https address where there is one.",),
            ),
            KEY,
        ),
        (
            ModelOptions(base_url=f"{LOCAL}/v1"),
            WITH_KEY,
            UserSettings(),
            EndpointChoice(
                LOCAL,
                "command line",
                AT_HOME,
                "OPENAI_API_KEY",
            ),
            KEY,
        ),
    ],
)
def test_each_choice_is_made_and_told_as_a_whole(
    options: ModelOptions,
    environment: dict[str, str],
    settings: UserSettings,
    choice: EndpointChoice,
    key: str | None,
) -> None:
    found = chosen(options, environment, settings)
    assert key_of(found) == key
    # A key is no part of what is shown.
    if choice.connection is not None:
        choice = replace(choice, connection=replace(choice.connection, api_key=key))
    assert found == choice


def test_each_setting_of_a_shared_file_that_is_ignored_is_told() -> None:
    settings = UserSettings(trusted_origins=frozenset({MINE}))
    values = (("Base-URL", f"{EVIL}/v1"), ("api_key", KEY), ("api_base", 3), ("openai_base_url", f"{MINE}/v1"))
    choice = chosen(None, WITH_KEY, settings, *values)
    assert (choice.origin, choice.source, key_of(choice)) == (MINE, "workspace", None)
    assert choice.notices == (
        f"flow.mmd: `Base-URL` ({EVIL}) is ignored in a file that can be shared; to allow it, add"
        f' "{EVIL}" to `trusted_origins` in your own settings.',
        "flow.mmd: `api_key` is ignored in a file that can be shared; set it in the environment, in your own settings or on"
        " the command line.",
        "flow.mmd: `api_base` is ignored: it is not an address of an endpoint.",
        NOT_SENT,
    )


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Host.Example.:443/v1", "https://host.example"),
        ("http://host:80", "http://host"),
        ("http://host:443/", "http://host:443"),
        ("https://host:80", "https://host:80"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        (" http://host/v1 ", "http://host"),
        (f"http://{'a' * 63}.b", f"http://{'a' * 63}.b"),
        ("http://host/v1?x=1#y", "http://host"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    ("origin", "is_here"),
    [
        ("http://localhost:1", True),
        ("http://a.localhost", True),
        ("http://127.0.0.2", True),
        ("http://[::1]:8080", True),
        ("http://notlocalhost", False),
        ("http://128.0.0.1", False),
        ("http://host", False),
        ("", False),
    ],
)
def test_this_very_machine_is_known_by_its_names(origin: str, is_here: bool) -> None:
    assert is_loopback(origin) is is_here


def test_an_address_that_is_none_is_told_without_repeating_it() -> None:
    for url in ("ftp://h/v1", "h/v1", "http://h:x/v1", f"http://{'a' * 64}/v1", "http://"):
        with pytest.raises(UsageFailure) as caught:
            origin_of(url)
        assert str(caught.value) == (
            "The base URL is not an address such as `https://host/v1`; correct it where it is set."
        )
    for url in ("http://me:pw@h/v1", "http://me@h/v1", "http://:pw@h/v1", "http://@h/v1"):
        with pytest.raises(UsageFailure) as caught:
            origin_of(url, "proxy")
        assert str(caught.value) == (
            "The proxy holds a user name or a password; give the key in an environment variable instead."
        )
