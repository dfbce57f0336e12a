"""Certificates, proxies and headers on the way to an endpoint, and the sentence where one of them can't be used."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.runtime.models.making import KEY, asking, endpoint_at
from tests.runtime.openai_server import OpenAIServer, Reply

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.reach import reach

CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""A self-signed certificate for 127.0.0.1, with its private key; it protects nothing."""
_ANSWER = json.dumps({"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}]}).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_ANSWER), _ANSWER)
HALF = ANSWER[:-10]
ALERT = b"\x15\x03\x03\x00\x02\x02\x50"
"""A TLS alert (internal error), which is sent unencrypted on an encrypted connection."""
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@asynccontextmanager
async def sending(*pieces: bytes, tls: bool = False) -> AsyncIterator[int]:
    """A server that sends these pieces after the head of a request and closes the connection; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            beneath = writer.transport._ssl_protocol._transport if piece is ALERT else writer  # type: ignore[attr-defined]
            beneath.write(piece)
            await asyncio.sleep(0.02)
        writer.close()

    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def failing(base_url: str, proxy: str | bool = False) -> EndpointFailure:
    async with endpoint_at(base_url, proxy=proxy) as endpoint:
        with pytest.raises(EndpointFailure) as caught:
            await endpoint.complete(asking())
    assert KEY not in str(caught.value)
    return caught.value


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One that names no proxy and no certificates."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    return monkeypatch


# Certificates


async def test_a_certificate_is_trusted_if_the_environment_names_it(environment: pytest.MonkeyPatch) -> None:
    async with sending(ANSWER, tls=True) as port:
        failure = await failing(f"https://127.0.0.1:{port}/v1")
        assert failure.fatal
        assert not failure.sent
        assert "certificate" in str(failure)
        environment.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        async with endpoint_at(f"https://127.0.0.1:{port}/v1") as endpoint:
            assert (await endpoint.complete(asking())).text == "42"


async def test_certificates_that_cannot_be_read_are_told(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    failure = await failing("https://models.invalid/v1")
    assert "SSL_CERT_FILE" in str(failure)
    assert failure.fatal
    assert not failure.sent


@pytest.mark.parametrize(
    ("pieces", "words", "paid"),
    [((ALERT,), "cut the connection before it answered", False), ((HALF, ALERT), "answer was complete", True)],
)
async def test_tls_that_breaks_later_is_no_matter_of_certificates(
    environment: pytest.MonkeyPatch, pieces: tuple[bytes, ...], words: str, paid: bool
) -> None:
    environment.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    async with sending(*pieces, tls=True) as port:
        failure = await failing(f"https://127.0.0.1:{port}/v1")
    assert words in str(failure)
    assert failure.transient
    assert failure.sent
    assert failure.paid == paid


# Proxies


@pytest.mark.parametrize(
    "proxy",
    ["socks5://localhost", "SOCKS5h://localhost:1080", "ftp://localhost", "http://me:pw@localhost:x", "http://[::1"],
)
async def test_a_proxy_that_cannot_be_used_is_told(environment: pytest.MonkeyPatch, proxy: str) -> None:
    environment.setenv("ALL_PROXY", proxy)
    base_url = "https://models.invalid/v1"
    reached = await reach(EndpointConnection(base_url, KEY))
    failure = await failing(base_url, proxy)
    assert failure.fatal
    assert not failure.sent
    assert "The proxy for" in str(failure)
    assert "pw" not in str(failure)
    assert (reached.ok, reached.sentence) == (False, str(failure))


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_found_is_not_taken_for_the_endpoint(scheme: str) -> None:
    failure = await failing(f"{scheme}://127.0.0.2/v1", "http://merrow-nowhere.invalid:3128")
    assert "through the proxy" in str(failure)
    assert failure.fatal
    assert not failure.sent


@pytest.mark.parametrize(
    ("status", "scheme", "fatal", "words"),
    [
        *(
            (407, scheme, True, "(HTTP 407): the user name and the password of the proxy")
            for scheme in ("http", "https")
        ),
        (403, "https", True, "through the proxy (HTTP 403)"),
        (429, "https", False, "through the proxy (HTTP 429)"),
        (500, "https", False, "through the proxy (HTTP 500)"),
        (503, "https", False, "through the proxy (HTTP 503)"),
    ],
)
async def test_what_a_proxy_says_is_told(status: int, scheme: str, fatal: bool, words: str) -> None:
    async with sending(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status) as port:
        failure = await failing(f"{scheme}://models.invalid/v1", f"http://127.0.0.1:{port}")
    assert words in str(failure)
    assert (failure.fatal, failure.transient) == (fatal, not fatal)
    assert not failure.sent


@pytest.mark.parametrize(
    ("base_url", "excepted"),
    [
        ("http://[ff02::1]:8080/v1", "ff02::1"),
        ("http://[ff02::1]/v1", "other.invalid, [ff02::1]"),
        ("http://models.invalid:8080/v1", "models.invalid:8080"),
        ("http://a.models.invalid/v1", ".models.invalid"),
        ("http://Models.Invalid/v1", "MODELS.invalid"),
        ("http://models.invalid/v1", "*"),
    ],
)
async def test_no_proxy_excepts_names_addresses_and_ports(
    environment: pytest.MonkeyPatch, base_url: str, excepted: str
) -> None:
    async with OpenAIServer() as proxy:
        environment.setenv("ALL_PROXY", proxy.origin.removeprefix("http://"))
        async with endpoint_at(base_url) as endpoint:
            proxy.script(Reply("42"))
            assert (await endpoint.complete(asking())).text == "42"
        environment.setenv("NO_PROXY", excepted)
        async with endpoint_at(base_url) as endpoint:
            with pytest.raises(EndpointFailure):
                await endpoint.complete(asking(timeout=5.0))
        assert len(proxy.requests) == 1


async def test_the_proxy_of_the_scheme_goes_before_that_of_all(environment: pytest.MonkeyPatch) -> None:
    async with OpenAIServer() as proxy, OpenAIServer() as other:
        environment.setenv("ALL_PROXY", other.origin)
        environment.setenv("HTTP_PROXY", proxy.origin)
        environment.setenv("http_proxy", proxy.origin)
        async with endpoint_at("http://models.invalid/v1") as endpoint:
            await endpoint.complete(asking())
        assert (len(proxy.requests), len(other.requests)) == (1, 0)


# What is sent


@pytest.mark.parametrize("variable", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS"])
async def test_headers_that_cannot_be_sent_are_told(environment: pytest.MonkeyPatch, variable: str) -> None:
    async with OpenAIServer() as server:
        environment.setenv(variable, "x-y: one\rtwo")
        async with endpoint_at(server.base_url, environment_headers=True) as endpoint:
            with pytest.raises(EndpointFailure, match=variable) as caught:
                await endpoint.complete(asking())
        reached = await reach(EndpointConnection(server.base_url, KEY, environment_headers=True))
        assert server.requests == []
    assert caught.value.fatal
    assert not caught.value.sent
    assert "two" not in str(caught.value)
    assert (reached.ok, reached.sentence) == (False, str(caught.value))


async def test_a_header_of_the_environment_takes_the_place_of_one_in_other_letters(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("OPENAI_ORG_ID", "org-1")
    environment.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer other\nOpenAI-Organization: org-2")
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with endpoint_at(address, environment_headers=True) as endpoint:
            with pytest.raises(EndpointFailure):
                await endpoint.complete(asking())
    lines = [line.casefold() for line in heads[0].decode().split("\r\n")]
    assert [line for line in lines if line.startswith(("authorization:", "openai-organization:"))] == [
        "authorization: bearer other",
        "openai-organization: org-2",
    ]


async def test_doctor_treats_a_key_as_a_run_does() -> None:
    async with OpenAIServer(lambda _: Reply("")) as server:
        server.scripts_models = True
        refused = await reach(EndpointConnection(server.base_url, "schlüssel"))
        assert server.requests == []
        await reach(EndpointConnection(server.base_url, f" {KEY}\n"))
    assert refused.ok is False
    assert "characters that no key has" in refused.sentence
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("host", ["a..b", ".b", f"{'a' * 64}.b"])
async def test_a_host_that_no_name_server_takes_is_no_address(host: str) -> None:
    with pytest.raises(UsageFailure, match="is not an address"):
        await reach(EndpointConnection(f"http://{host}/v1"))


async def test_a_network_that_does_not_lead_there_is_told() -> None:
    failure = await failing("http://255.255.255.255:9/v1")
    assert "could not be reached" in str(failure)
    assert failure.transient
    assert not failure.sent


@pytest.mark.parametrize(
    "said", [b"\x15\x03\x01\x00\x02\x02F", b"220 mail.invalid\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
)
async def test_what_speaks_no_http_has_been_reached(said: bytes) -> None:
    async with sending(said) as port:
        failure = await failing(f"http://127.0.0.1:{port}/v1")
    assert "isn't HTTP" in str(failure)
    assert failure.transient
    assert failure.sent
