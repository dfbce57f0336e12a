"""What each refusal of an endpoint is told as, word for word, and what it means for other tries and other calls."""

from __future__ import annotations

import errno
import ssl
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx2
import openai
import pytest
from tests.runtime.models.making import asking, endpoint_at, unseen
from tests.runtime.openai_server import OpenAIServer, Raw, Reply, Status, Step

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.failures import Failures
from merrow_runtime.usage import Usage

KEY_REFUSED = "set the right one in OPENAI_API_KEY."
UNKNOWN = "name one that it has with `model:` or --model."
DENIED = "ask for access, or use another key."
BUSY = "wait, or lower the concurrency."
COMPLAINT = "change what it complains of."
NO_PATH = "check the base URL, which mostly ends in /v1."
PASSES, FINAL = {"transient": True}, {"fatal": True}
FINAL_UNSENT, PASSES_UNSENT = {"fatal": True, "sent": False}, {"transient": True, "sent": False}
PASSES_PAID = {"transient": True, "paid": True}
CUT_OFF = "cut the connection before its answer was complete; try again later."
FINAL_KEY = {"fatal": True, "remedy": "key"}
FINAL_MODEL = {"fatal": True, "model": "gpt-test", "remedy": "model"}


def facts(failure: EndpointFailure) -> dict[str, Any]:
    """What the failure says for programs, but for what every failure says."""
    usual = EndpointFailure("")
    names = ("transient", "fatal", "model", "retry_after", "usage", "paid", "remedy", "sent")
    return {name: getattr(failure, name) for name in names if getattr(failure, name) != getattr(usual, name)}


async def told(step: Step, *, streamed: bool = False, model: str = "gpt-test") -> tuple[str, dict[str, Any]]:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(step)
        with pytest.raises(EndpointFailure) as caught:
            await endpoint.complete(asking(model=model), unseen if streamed else None)
        assert len(server.requests) == 1
        return str(caught.value).replace(f"The endpoint {server.origin} ", "It "), facts(caught.value)


def redirect(status: int) -> str:
    return (
        f"It answered with a redirect (HTTP {status}), which is not followed so that the key stays where it was sent; give"
        " the address it leads to as the base URL."
    )


@pytest.mark.parametrize(
    ("step", "sentence", "meaning"),
    [
        (Raw(b"", status=300), redirect(300), FINAL),
        (Raw(b"", status=399), redirect(399), FINAL),
        (Status(400, "no"), f"It refused the request (HTTP 400: no); {COMPLAINT}", {}),
        (Status(499, "no. "), f"It refused the request (HTTP 499: no); {COMPLAINT}", {}),
        (Status(501, ""), f"It refused the request (HTTP 501); {COMPLAINT}", {}),
        (Status(401, "no"), f"It refused the key (HTTP 401: no); {KEY_REFUSED}", FINAL_KEY),
        (
            Status(400, "Your key is invalid"),
            f"It refused the key (HTTP 400: Your key is invalid); {KEY_REFUSED}",
            FINAL_KEY,
        ),
        (
            Status(400, "invalid API key"),
            f"It refused the key (HTTP 400: invalid API key); {KEY_REFUSED}",
            FINAL_KEY,
        ),
        (
            Status(400, body=[{"error": {"message": "API key not valid. Please pass a valid API key."}}]),
            f"It refused the key (HTTP 400: API key not valid. Please pass a valid API key); {KEY_REFUSED}",
            FINAL_KEY,
        ),
        (Status(400, "invalid keyword"), f"It refused the request (HTTP 400: invalid keyword); {COMPLAINT}", {}),
        (
            Status(422, "the key is invalid"),
            f"It refused the request (HTTP 422: the key is invalid); {COMPLAINT}",
            {},
        ),
        (Status(403, "no"), f"It doesn't allow this (HTTP 403: no); {DENIED}", FINAL_KEY),
        (Status(404, "no"), f"It has nothing at this address (HTTP 404: no); {NO_PATH}", FINAL),
        (
            Status(402, "no"),
            "It says that the account has no credit left (HTTP 402: no); pay it up.",
            FINAL,
        ),
        (
            Status(429, "no", code="insufficient_quota"),
            "It says that the account has no credit left (HTTP 429: no); pay it up.",
            FINAL,
        ),
        (
            Status(429, "no", type="insufficient_quota"),
            "It says that the account has no credit left (HTTP 429: no); pay it up.",
            FINAL,
        ),
        (Status(429, "no"), f"It allows no more requests for now (HTTP 429: no); {BUSY}", PASSES),
        (
            Status(429, "no", headers={"Retry-After": "7"}),
            f"It allows no more requests for now (HTTP 429: no); {BUSY}",
            {"transient": True, "retry_after": 7.0},
        ),
        (
            Status(503, "no", headers={"Retry-After": "7"}),
            "It failed (HTTP 503: no); try again later.",
            {"transient": True, "retry_after": 7.0},
        ),
        *(
            (Status(status, "no"), f"It failed (HTTP {status}: no); try again later.", PASSES)
            for status in (408, 409, 425, 500, 502, 529, 599)
        ),
        (
            Status(400, "no", code="json_validate_failed"),
            "It failed (HTTP 400: no); try again later.",
            PASSES,
        ),
        (
            Status(400, "no", code="context_length_exceeded"),
            "It finds the prompt too long for `gpt-test` (HTTP 400: no); shorten it, limit the node's `memory:`, or give the"
            " model a larger context.",
            {},
        ),
        (
            Status(407, "no"),
            "It can't be reached through the proxy (HTTP 407): the user name and the password of the proxy are wrong or"
            " missing; check `proxy` in your settings or HTTPS_PROXY.",
            {"fatal": True, "sent": False},
        ),
    ],
    ids=lambda value: f"{value.status} {getattr(value, 'message', '')}" if isinstance(value, Raw | Status) else "",
)
async def test_each_refusal_has_its_sentence_and_its_meaning(
    step: Step, sentence: str, meaning: dict[str, Any]
) -> None:
    assert await told(step) == (sentence, meaning)
    assert await told(step, streamed=True) == (sentence, meaning)


@pytest.mark.parametrize(
    ("status", "message", "code", "parameter", "is_about_model"),
    [
        (404, "gpt-test", None, None, True),
        (404, "There is no GPT-Test here", None, None, True),
        (404, "which model?", None, None, True),
        (404, "no", None, "model", True),
        (404, "no", None, "seed", False),
        (400, "gpt-test is not found", None, None, True),
        (400, "gpt-test does not exist", None, None, True),
        (400, "gpt-test: it may not exist", None, None, True),
        (400, "no such model", None, None, True),
        (400, "unknown model", None, None, True),
        (403, "the model was not found", None, None, True),
        (400, "it was not found", None, "model", True),
        (400, "it was not found", None, None, False),
        (400, "gpt-test is tired", None, None, False),
        (422, "gpt-test is not found", None, None, False),
        (499, "no", "model_not_found", None, True),
        (400, "no", "model_not_available", None, True),
        (400, "no", "invalid_model", None, True),
    ],
)
async def test_which_refusals_are_about_the_model(
    status: int, message: str, code: str | None, parameter: str | None, is_about_model: bool
) -> None:
    sentence, meaning = await told(Status(status, message, code=code, param=parameter))
    if is_about_model:
        assert sentence == f"It has no model `gpt-test` for this key (HTTP {status}: {message}); {UNKNOWN}"
        assert meaning == FINAL_MODEL
    else:
        assert "has no model" not in sentence
        assert "model" not in meaning


async def test_a_server_that_fails_has_the_model_all_the_same() -> None:
    for status in (500, 503):
        assert await told(Status(status, "gpt-test not found", code="model_not_found")) == (
            f"It failed (HTTP {status}: gpt-test not found); try again later.",
            PASSES,
        )


LATER = "try again later."
COUNTED = {"prompt_tokens": 7, "completion_tokens": 900}


@pytest.mark.parametrize(
    ("step", "sentence", "meaning"),
    [
        (
            Raw(b"<html>Sign in</html>", "text/html"),
            "It answered with a web page; check the base URL, which mostly ends in /v1, and the proxy.",
            {},
        ),
        (
            Raw(b"  <!DOCTYPE thing>", "text/plain"),
            "It answered with a web page; check the base URL, which mostly ends in /v1, and the proxy.",
            {},
        ),
        (
            Raw(b"busy\n now", "text/plain"),
            "It answered with something that isn't JSON (busy now); try again later, or check the base URL.",
            PASSES,
        ),
        (
            Raw(b" ", "text/plain"),
            "It answered with an empty body; try again later, or check the base URL.",
            PASSES,
        ),
        (
            Reply(" ", usage=COUNTED),
            "It gave an empty answer for `gpt-test`; try again, or use another model.",
            {"transient": True, "usage": Usage(7, 900, 1, None)},
        ),
        (
            Reply("4", finish="error", usage=COUNTED),
            f"It broke its answer off with an error; {LATER}",
            {"transient": True, "usage": Usage(7, 900, 1, None)},
        ),
        (
            Reply(None, finish="tool_calls", message={"tool_calls": [{"id": "1"}]}, usage=COUNTED),
            "It answered with a call of a tool that it wasn't offered.",
            {"usage": Usage(7, 900, 1, None)},
        ),
        (
            Raw(b'{"error": {"message": "full", "code": 503}}'),
            f"It failed (HTTP 503: full); {LATER}",
            PASSES,
        ),
        (
            Raw(b'{"error": {"message": "full", "code": 400}}'),
            f"It refused the request (HTTP 400: full); {COMPLAINT}",
            {},
        ),
        (Raw(b'{"error": {"message": "full", "code": 399}}'), f"It failed (full); {LATER}", PASSES),
        (Raw(b'{"error": {"message": "full", "code": 599}}'), f"It failed (HTTP 599: full); {LATER}", PASSES),
        (Raw(b'{"error": {"message": "full", "code": 600}}'), f"It failed (full); {LATER}", PASSES),
        (Raw(b'{"error": "full"}'), f"It failed (full); {LATER}", PASSES),
        (
            Raw(b'{"error": "rate limit exceeded"}'),
            f"It allows no more requests for now (rate limit exceeded); {BUSY}",
            PASSES,
        ),
        (
            Raw(b'{"error": {"message": "no", "type": "invalid_request_error"}}'),
            f"It refused the request (no); {COMPLAINT}",
            {},
        ),
        (
            Raw(b'{"error": {"message": "no", "type": "authentication_error"}}'),
            f"It refused the key (no); {KEY_REFUSED}",
            FINAL_KEY,
        ),
        (
            Reply(None, message={"reasoning_content": "It is a heron."}, usage=COUNTED),
            "It sent the thoughts of `gpt-test` and no answer after them; try again, raise `max_tokens`, or use another model.",
            {"transient": True, "usage": Usage(7, 900, 1, None)},
        ),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, Raw | Reply) else "",
)
async def test_each_answer_that_is_none_has_its_sentence_and_its_meaning(
    step: Step, sentence: str, meaning: dict[str, Any]
) -> None:
    assert await told(step) == (sentence, meaning)
    assert await told(step, streamed=True) == (sentence, meaning)


@pytest.mark.parametrize(
    ("body", "kind", "streamed", "sentence", "meaning"),
    [
        (b"{broken", "application/json", False, f"It answered with broken JSON; {LATER}", PASSES),
        (
            b"{broken",
            "text/json; charset=utf-8",
            True,
            "It answered with something that isn't JSON ({broken); try again later, or check the base URL.",
            PASSES,
        ),
        (b"data: {broken\n\n", "text/event-stream", True, f"It answered with broken JSON; {LATER}", PASSES),
        (
            b'data: {"error": {"message": "full", "code": "429"}}\n\n',
            "text/event-stream",
            True,
            f"It allows no more requests for now (HTTP 429: full); {BUSY}",
            PASSES,
        ),
        (
            b'data: {"choices": [{"delta": {"content": "4"}}]}\n\n',
            "text/event-stream",
            True,
            f"It {CUT_OFF}",
            PASSES_PAID,
        ),
        (
            b'{"choices": []}',
            "application/json",
            False,
            "It answered with JSON that holds no answer; check that it speaks the OpenAI protocol.",
            PASSES,
        ),
    ],
)
async def test_each_broken_answer_has_its_sentence_and_its_meaning(
    body: bytes, kind: str, streamed: bool, sentence: str, meaning: dict[str, Any]
) -> None:
    assert await told(Raw(body, kind), streamed=streamed) == (sentence, meaning)


async def test_what_can_not_be_opened_is_told_before_the_first_call() -> None:
    async with endpoint_at("https://x.test/v1", proxy="socks5://proxy:1080") as endpoint:
        with pytest.raises(EndpointFailure) as caught:
            await endpoint.open()
    assert str(caught.value) == (
        "The proxy for https://x.test has an address that can't be used: it must be like `http://proxy:3128`, and SOCKS is"
        " not supported; correct `proxy` in your settings, or HTTPS_PROXY, HTTP_PROXY or ALL_PROXY."
    )
    assert facts(caught.value) == FINAL_UNSENT


CONNECTION: Any = SimpleNamespace(host="x.test", port=443, ssl=True, is_ssl=True)
PROXY: Any = SimpleNamespace(host="proxy.test", port=3128, ssl=True, is_ssl=True)
REQUEST: Any = SimpleNamespace(real_url="https://x.test/v1")
CERTIFICATE = "has a certificate that can't be trusted, or speaks no TLS; check the base URL and SSL_CERT_FILE."
CUT = "cut the connection before it answered; try again later."
UNREACHED = "could not be reached; check the base URL and the network."
BAD_PROXY = "; check `proxy` in your settings or HTTPS_PROXY."


def connector(problem: OSError) -> aiohttp.ClientConnectorError:
    return aiohttp.ClientConnectorError(CONNECTION, problem)


def by_proxy(status: int) -> aiohttp.ClientHttpProxyError:
    return aiohttp.ClientHttpProxyError(REQUEST, (), status=status)


def caused(problem: BaseException, cause: BaseException | None = None, context: BaseException | None = None) -> Any:
    problem.__cause__, problem.__context__ = cause, context
    return problem


def of_tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "no")
    error.reason = reason
    return error


def endless() -> BaseException:
    problem = RuntimeError()
    return caused(problem, caused(OSError(), problem))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("problem", "sentence", "meaning"),
    [
        (caused(aiohttp.ClientPayloadError(), ConnectionResetError()), CUT_OFF, PASSES_PAID),
        (
            aiohttp.ClientConnectorDNSError(CONNECTION, OSError()),
            "can't be found: its name doesn't resolve; check the base URL and the network.",
            FINAL_UNSENT,
        ),
        (
            aiohttp.ClientConnectorDNSError(PROXY, OSError()),
            f"can't be reached through the proxy{BAD_PROXY}",
            FINAL_UNSENT,
        ),
        (
            caused(openai.APIConnectionError(request=REQUEST), httpx2.DecodingError("")),
            "answered with a body that can't be decompressed; check the server and the proxy.",
            PASSES,
        ),
        (aiohttp.ClientConnectorSSLError(CONNECTION, OSError()), CERTIFICATE, FINAL_UNSENT),
        (aiohttp.ClientConnectorCertificateError(CONNECTION, ssl.CertificateError()), CERTIFICATE, FINAL_UNSENT),
        (ssl.CertificateError(), CERTIFICATE, FINAL_UNSENT),
        (caused(aiohttp.ClientOSError(), of_tls("CERTIFICATE_REQUIRED")), CERTIFICATE, FINAL_UNSENT),
        (caused(aiohttp.ClientOSError(), of_tls("tlsv13 alert certificate required")), CERTIFICATE, FINAL_UNSENT),
        (connector(of_tls("BAD_CERTIFICATE")), CERTIFICATE, FINAL_UNSENT),
        (caused(aiohttp.ClientOSError(), of_tls("INTERNAL_ERROR")), CUT, PASSES),
        (
            connector(OSError(errno.ECONNREFUSED, "no")),
            "refuses connections; start the server, or check the base URL.",
            FINAL_UNSENT,
        ),
        (connector(OSError(errno.EHOSTUNREACH, "no")), UNREACHED, PASSES_UNSENT),
        (
            caused(RuntimeError(), context=aiohttp.InvalidURL("http://")),
            "has an address that can't be used; check the base URL.",
            FINAL_UNSENT,
        ),
        (aiohttp.ServerDisconnectedError(), CUT, PASSES),
        (aiohttp.ClientOSError(errno.EPIPE, "no"), CUT, PASSES),
        (ConnectionResetError(), CUT, PASSES),
        (
            aiohttp.ConnectionTimeoutError(),
            "takes too long to connect to; check the base URL and the network.",
            PASSES_UNSENT,
        ),
        (
            aiohttp.SocketTimeoutError(),
            "did not answer within 2.5 seconds; raise `timeout:`, or try again later.",
            PASSES_PAID,
        ),
        (
            aiohttp.ClientResponseError(REQUEST, ()),
            "answered with something that isn't HTTP; check the base URL and the proxy.",
            PASSES,
        ),
        (
            ValueError(),
            "can't be sent a request: a header or an address has characters that it can't have; check the base URL, the"
            " proxy, OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS.",
            FINAL_UNSENT,
        ),
        (caused(RuntimeError(), ValueError()), UNREACHED, PASSES_UNSENT),
        (OSError(), UNREACHED, PASSES_UNSENT),
        (endless(), UNREACHED, PASSES_UNSENT),
        (
            aiohttp.ClientProxyConnectionError(CONNECTION, OSError(errno.ECONNREFUSED, "no")),
            f"can't be reached through the proxy{BAD_PROXY}",
            FINAL_UNSENT,
        ),
        (
            by_proxy(407),
            "can't be reached through the proxy (HTTP 407): the user name and the password of the proxy are wrong or missing"
            f"{BAD_PROXY}",
            FINAL_UNSENT,
        ),
        (by_proxy(428), f"can't be reached through the proxy (HTTP 428){BAD_PROXY}", FINAL_UNSENT),
        (by_proxy(430), f"can't be reached through the proxy (HTTP 430){BAD_PROXY}", FINAL_UNSENT),
        (by_proxy(499), f"can't be reached through the proxy (HTTP 499){BAD_PROXY}", FINAL_UNSENT),
        (by_proxy(429), f"can't be reached through the proxy (HTTP 429){BAD_PROXY}", PASSES_UNSENT),
        (by_proxy(500), f"can't be reached through the proxy (HTTP 500){BAD_PROXY}", PASSES_UNSENT),
        (by_proxy(504), f"can't be reached through the proxy (HTTP 504){BAD_PROXY}", PASSES_UNSENT),
    ],
    ids=repr,
)
def test_each_way_in_which_no_answer_comes_has_its_sentence_and_its_meaning(
    problem: BaseException, sentence: str, meaning: dict[str, Any]
) -> None:
    failures = Failures("https://x.test", ())
    failure = failures.of_connection(problem, 2.5)
    assert str(failure) == f"The endpoint https://x.test {sentence}"
    assert facts(failure) == meaning


def test_an_answer_without_a_limit_of_time_or_beyond_that_of_size_is_told() -> None:
    failures = Failures("https://x.test", ())
    late, large = failures.too_slow(None), failures.too_large(64 * 2**20)
    assert str(late) == "The endpoint https://x.test did not answer in time; raise `timeout:`, or try again later."
    assert str(large) == (
        "The endpoint https://x.test sent more than 64 MB, which no model's answer needs; check the base URL and the server."
    )
    assert (facts(late), facts(large)) == (PASSES_PAID, {"paid": True})
