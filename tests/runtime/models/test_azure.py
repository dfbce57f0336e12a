"""Azure OpenAI: its addresses, keys and tokens, from the environment, the settings and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.runtime.models.making import KEY, asking, put, unseen
from tests.runtime.openai_server import OpenAIServer, Raw, Reply, Status

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.connections import Azure
from merrow_runtime.models.reach import reach
from merrow_runtime.models.selection import EndpointChoice, ModelOptions, decide
from merrow_runtime.models.user_settings import UserSettings, read_user_settings

VERSION = "2024-10-21"
HOST = "https://mine.openai.azure.com"
ENVIRONMENT = {"AZURE_OPENAI_ENDPOINT": HOST, "AZURE_OPENAI_API_KEY": KEY, "OPENAI_API_VERSION": VERSION}
TOKEN = "token-of-entra-0123456789"  # noqa: S105 (nobody's)


def chosen(
    environment: Mapping[str, str], base_url: str | None = None, settings: UserSettings | None = None
) -> EndpointChoice:
    return decide(ModelOptions(base_url=base_url), environment, settings or UserSettings())


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("more", "path", "headers"),
    [
        ({}, "gpt-test", {"api-key": KEY}),
        ({"AZURE_OPENAI_DEPLOYMENT": "my gpt"}, "my%20gpt", {"api-key": KEY}),
        ({"AZURE_OPENAI_AD_TOKEN": TOKEN}, "gpt-test", {"authorization": f"Bearer {TOKEN}"}),
    ],
    ids=["key", "deployment", "token"],
)
async def test_a_call_goes_to_the_deployment_with_key_or_token(
    more: dict[str, str], path: str, headers: dict[str, str], streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the package would find for itself counts for nothing: the choice is ours.
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "another-token")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "api-key: another\nAuthorization: Bearer another\nX-Extra: another")
    async with OpenAIServer() as server:
        choice = chosen({**ENVIRONMENT, "AZURE_OPENAI_ENDPOINT": f"{server.origin}/", **more})
        endpoint = choice.open()
        try:
            assert (await put(endpoint, asking("6 * 7"), unseen if streamed else None)).text == "6 * 7"
            server.script(Raw(b'{"data": [{"id": "gpt-test"}]}'))
            assert choice.connection is not None
            assert (await reach(choice.connection)).models == ("gpt-test",)
        finally:
            await endpoint.close()
    asked, listed = server.requests
    assert asked.path == f"/openai/deployments/{path}/chat/completions?api-version={VERSION}"
    assert listed.path == f"/openai/models?api-version={VERSION}"
    for request in (asked, listed):
        assert {
            name: request.headers[name] for name in ("api-key", "authorization") if name in request.headers
        } == headers
        assert "another" not in str(request.headers)


@pytest.mark.parametrize(
    ("address", "root", "deployment", "version"),
    [
        (HOST, HOST, None, VERSION),
        (f"{HOST}/openai/", HOST, None, VERSION),
        (
            f"{HOST}/openai/deployments/gpt%2D4o/chat/completions?api-version=2025-01-01-preview",
            HOST,
            "gpt-4o",
            "2025-01-01-preview",
        ),
        ("https://gate.example/azure/openai/deployments/x", "https://gate.example/azure", "x", VERSION),
    ],
)
def test_addresses_as_azure_shows_them_are_read(address: str, root: str, deployment: str | None, version: str) -> None:
    connection = chosen({**ENVIRONMENT, "AZURE_OPENAI_ENDPOINT": address}).connection
    assert connection is not None
    assert (connection.base_url, connection.azure) == (root, Azure(version, deployment))


@pytest.mark.parametrize("base_url", [f"{HOST}/openai/v1", f"{HOST}/openai/v1/"])
def test_azures_address_for_any_client_needs_no_version(base_url: str) -> None:
    connection = chosen({"AZURE_OPENAI_API_KEY": KEY}, base_url).connection
    assert connection is not None
    assert (connection.base_url, connection.api_key, connection.azure) == (base_url, KEY, None)


def test_without_a_version_it_is_said_what_to_set() -> None:
    with pytest.raises(UsageFailure, match=r"set OPENAI_API_VERSION, such as 2024-10-21, or .* /openai/v1"):
        chosen({"AZURE_OPENAI_API_KEY": KEY}, HOST)


def test_the_settings_may_say_version_and_deployment(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'base_url = "{HOST}"\n[azure]\napi_version = "2025-02-01"\ndeployment = "four"\n')
    connection = chosen({}, settings=read_user_settings(file)).connection
    assert connection is not None
    assert connection.azure == Azure("2025-02-01", "four")
    file.write_text('[azure]\nversion = "x"\n')
    with pytest.raises(UsageFailure, match="`api_version` and `deployment`"):
        read_user_settings(file)


@pytest.mark.parametrize(
    "other", ["https://models.example.com/v1", "https://openai.azure.com.example/v1", "http://127.0.0.1:9"]
)
def test_azures_key_goes_nowhere_else(other: str) -> None:
    typed = chosen(ENVIRONMENT, other)
    assert typed.connection is not None
    assert (typed.connection.api_key, typed.connection.azure) == (None, None)
    of_settings = chosen(ENVIRONMENT, settings=UserSettings(base_url="https://theirs.openai.azure.com"))
    assert of_settings.connection is not None
    assert of_settings.connection.api_key is None
    named = chosen({**ENVIRONMENT, "OPENAI_BASE_URL": "https://theirs.openai.azure.com"})
    assert named.connection is not None
    assert named.connection.api_key is None


def test_what_was_chosen_before_azure_is_chosen_still() -> None:
    assert chosen({**ENVIRONMENT, "OPENAI_API_KEY": KEY}).origin == "https://api.openai.com"
    assert chosen({"AZURE_OPENAI_ENDPOINT": HOST}).connection is None
    assert chosen(ENVIRONMENT).origin == HOST


async def test_failures_name_azures_variable_and_its_deployments() -> None:
    missing = "The API deployment for this resource does not exist."
    async with OpenAIServer() as server:
        endpoint = chosen({**ENVIRONMENT, "AZURE_OPENAI_ENDPOINT": server.origin}).open()
        try:
            server.script(Status(401, "Access denied"), Status(404, missing, code="DeploymentNotFound"), Reply("42"))
            with pytest.raises(EndpointFailure, match="set the right one in AZURE_OPENAI_API_KEY"):
                await endpoint.complete(asking())
            with pytest.raises(EndpointFailure, match="has no model `gpt-test`"):
                await endpoint.complete(asking())
        finally:
            await endpoint.close()
