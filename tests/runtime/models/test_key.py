"""The key goes to the origin it was set for and nowhere else: no redirect, no error, no proxy of a workspace, no header."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.models.making import KEY, asking, endpoint_at, unseen
from tests.runtime.openai_server import OpenAIServer, Raw, Reply, Status, Step

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.openai_endpoint import OpenAIEndpoint
from merrow_runtime.models.redaction import quoted, redacted


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_no_redirect_is_followed(status: int, streamed: bool) -> None:
    async with OpenAIServer() as target, OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw(b"", status=status, headers={"Location": f"{target.base_url}/chat/completions"}))
        with pytest.raises(EndpointFailure, match="redirect"):
            await endpoint.complete(asking(), unseen if streamed else None)
        assert target.requests == []


ECHOES = [
    Status(401, f"Incorrect API key provided: {KEY}. You can find yours at ..."),
    Status(400, f"Authorization: Bearer {KEY} was malformed"),
    Status(500, body={"detail": {"headers": {"authorization": f"Bearer {KEY}"}}}),
    Status(403, body=f"key={KEY}"),
    Raw(f"<html>{KEY}</html>".encode(), "text/html"),
    Raw(f"upstream said {KEY}".encode(), "text/plain"),
    Raw(f'data: {{"error": {{"message": "bad key {KEY}"}}}}\n\n'.encode(), "text/event-stream"),
    Status(429, f"limit of org-1 for {KEY[:-4]}****"),
]


@pytest.mark.parametrize("step", ECHOES, ids=range(len(ECHOES)))
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_server_that_echoes_the_key_does_not_get_it_into_an_error(step: Step, streamed: bool) -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(step)
        with pytest.raises(EndpointFailure) as caught:
            await endpoint.complete(asking(), unseen if streamed else None)
    shown = str(caught.value) + repr(caught.value) + repr(caught.value.__cause__) + repr(endpoint)
    assert KEY not in shown
    assert KEY[3:-4] not in shown


@given(st.text(alphabet='abcXYZ019-_/+=%"\\', min_size=4, max_size=40), st.text(max_size=30), st.text(max_size=30))
def test_a_key_is_never_in_a_text_that_was_redacted(key: str, before: str, after: str) -> None:
    marked = f"{before}\u2063{key}\u2063{after}"
    assert key not in redacted(marked, [key]).replace("[hidden]", "\u2063")
    assert len(quoted(marked * 50, [key])) <= 303


@given(
    st.text("sk-0123456789abcdef", min_size=16, max_size=40), st.integers(0, 60), st.sampled_from(["", " ", "\u200b"])
)
def test_a_key_that_is_cut_off_in_a_long_text_is_not_shown_in_part(key: str, before: int, between: str) -> None:
    echoed = between.join(key)
    shown = quoted("\n" * (20_000 - before) + echoed + "x" * 60_000, [key])
    assert key[:8] not in shown.replace(between, "") if between else key[:8] not in shown


async def test_without_a_key_no_header_for_one_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    async with OpenAIServer() as server, endpoint_at(server.base_url, key=None) as endpoint:
        await endpoint.complete(asking())
    assert "authorization" not in server.requests[0].headers
    assert KEY not in str(server.requests[0].headers)


@pytest.mark.parametrize("meant", [False, True], ids=["another origin", "this origin"])
async def test_headers_of_the_environment_go_only_where_the_environment_means(
    monkeypatch: pytest.MonkeyPatch, meant: bool
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Extra: {KEY}")
    async with (
        OpenAIServer() as server,
        endpoint_at(server.base_url, key="other-key", environment_headers=meant) as endpoint,
    ):
        await endpoint.complete(asking())
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer other-key"
    assert ("openai-organization" in headers, "openai-project" in headers, "x-extra" in headers) == (meant,) * 3


async def test_requests_to_this_machine_pass_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with OpenAIServer() as proxy, OpenAIServer() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.origin)
        async with endpoint_at(server.base_url) as endpoint:
            await endpoint.complete(asking())
        assert (len(proxy.requests), len(server.requests)) == (0, 1)


async def test_a_proxy_of_the_users_settings_is_used() -> None:
    async with OpenAIServer() as proxy:
        async with endpoint_at("http://models.invalid/v1", proxy=proxy.origin) as endpoint:
            proxy.script(Reply("42"))
            assert (await endpoint.complete(asking())).text == "42"
        assert proxy.requests[0].path == "http://models.invalid/v1/chat/completions"


async def test_a_proxy_of_the_environment_is_used_for_other_machines_unless_switched_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with OpenAIServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.origin)
        monkeypatch.setenv("http_proxy", proxy.origin)
        async with endpoint_at("http://models.invalid/v1") as endpoint:
            await endpoint.complete(asking())
        assert len(proxy.requests) == 1
        async with endpoint_at("http://models.invalid/v1", proxy=False) as endpoint:
            with pytest.raises(EndpointFailure, match="doesn't resolve"):
                await endpoint.complete(asking())
        assert len(proxy.requests) == 1


@pytest.mark.parametrize("user", ["", "me:pass%40word@"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_gets_its_own_password_and_not_the_key(
    monkeypatch: pytest.MonkeyPatch, scheme: str, user: str
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Extra: {KEY}")
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
        address = f"http://{user}127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with endpoint_at(f"{scheme}://models.invalid/v1", proxy=address, environment_headers=True) as endpoint:
            with pytest.raises(EndpointFailure, match="cut the connection") as caught:
                await endpoint.complete(asking())
    lines = heads[0].decode().splitlines()
    assert lines[0].startswith("CONNECT models.invalid:443 " if scheme == "https" else "POST http://models.invalid/")
    said = [line.partition(": ")[2] for line in lines if line.casefold().startswith("proxy-authorization:")]
    assert said == ([f"Basic {base64.b64encode(b'me:pass@word').decode()}"] if user else [])
    # What is encrypted for the endpoint is not for the proxy to see.
    assert (KEY in heads[0].decode()) == (scheme == "http")
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        OpenAIEndpoint(EndpointConnection("https://api.openai.com/v1", key))
    assert key not in str(caught.value)


async def test_blanks_around_a_key_are_not_sent() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url, key=f" {KEY}\n") as endpoint:
        await endpoint.complete(asking())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [None, "other-key"])
async def test_no_header_of_the_environment_takes_the_place_of_ours(
    monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    names = (
        "Authorization",
        "authorization",
        "AUTHORIZATION",
        "content-type",
        "Accept",
        "user-agent",
        "X-Extra",
        "x-b",
    )
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "\n".join(f"{name}: Bearer {KEY}" for name in names))
    async with OpenAIServer() as server, endpoint_at(server.base_url, key=key) as endpoint:
        await endpoint.complete(asking())
        await endpoint.complete(asking(), unseen)
    for request in server.requests:
        assert KEY not in str(request.headers)
        assert request.headers.get("authorization") == (None if key is None else f"Bearer {key}")
        assert request.headers["content-type"] == "application/json"


TRANSFORMED: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "lower case": str.lower,
    "swapped case": str.swapcase,
    "spaced": " ".join,
    "a letter a line": "\n".join,
    "hidden blanks": "\u200b".join,
    "backwards": lambda key: key[::-1],
    "hexadecimal": lambda key: key.encode().hex(),
    "upper hexadecimal": lambda key: key.encode().hex().upper(),
    "spaced hexadecimal": lambda key: key.encode().hex(" "),
    "hexadecimal with colons": lambda key: key.encode().hex(":"),
    "Python bytes": lambda key: "".join(f"\\x{ord(letter):02x}" for letter in key),
    "JSON escapes": lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
    "HTML escapes": lambda key: "".join(f"&#x{ord(letter):x};" for letter in key),
    "all of a URL": lambda key: "".join(f"%{ord(letter):02X}" for letter in key),
    "part of a URL": lambda key: quote(key, safe=""),
    "JSON": json.dumps,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of the header": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "base64 of a user": lambda key: base64.b64encode(f":{key}".encode()).decode(),
    "base64 of a pair": lambda key: base64.b64encode(f"m:{key}\n".encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"{key}?".encode()).decode(),
}


@pytest.mark.thinned(24)
@pytest.mark.parametrize("form", TRANSFORMED)
@given(st.text(alphabet="abcXYZ019-_/+=%.~", min_size=20, max_size=60), st.text("abc ", max_size=4))
def test_a_key_is_recognised_in_other_forms(form: str, key: str, around: str) -> None:
    echoed = TRANSFORMED[form](key)
    shown = redacted(f"{around}|{echoed}|{around}", [key])
    assert echoed not in shown
    # What is left of it are quotes, and in base64 what is around the key: "Bearer " is ten letters.
    assert len(shown.replace("[hidden]", "")) <= 2 * len(around) + 2 + 14


@pytest.mark.parametrize("form", TRANSFORMED)
async def test_a_server_that_echoes_the_key_in_another_form_does_not_get_it_into_an_error(form: str) -> None:
    echoed = TRANSFORMED[form](KEY)
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Status(400, f"You sent <{echoed}> to us"))
        with pytest.raises(EndpointFailure) as caught:
            await endpoint.complete(asking())
    assert "[hidden]" in str(caught.value)
    assert echoed.split("\n", 1)[0][:12] not in str(caught.value).replace("HTTP 400", "") or form in (
        "a letter a line",
        "spaced",
    )
    assert " ".join(echoed.split()) not in str(caught.value)


@pytest.mark.parametrize("word", ["none", "test", "ollama", "EMPTY"])
def test_a_word_that_serves_as_a_key_leaves_other_words_alone(word: str) -> None:
    text = f"No{word.swapcase()} {' '.join(word.swapcase())} {word[::-1].swapcase()}"
    assert redacted(text, [word]) == text
