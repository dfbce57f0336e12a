"""What each failure of an endpoint is told as, and what it means for other tries and other calls."""

from __future__ import annotations

import errno
import json
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

PASSES, FINAL = {"transient": True}, {"fatal": True}
FINAL_UNSENT, PASSES_UNSENT = {"fatal": True, "sent": False}, {"transient": True, "sent": False}
PASSES_PAID = {"transient": True, "paid": True}
CUT_OFF = "cut the connection before its answer was complete"
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


async def test_a_refusal_says_who_refuses_what_the_server_said_and_what_to_do() -> None:
    sentence, _ = await told(Status(401, "no"))
    assert sentence == "It refused the key (HTTP 401: no); set the right one in OPENAI_API_KEY."


PASSING = (408, 409, 425, 500, 502, 504, 520, 529, 599)


@pytest.mark.parametrize(
    ("step", "says", "meaning"),
    [
        *((Raw(b"", status=status), f"redirect (HTTP {status})", FINAL) for status in (300, 301, 307, 399)),
        (Status(400, "no"), "refused the request (HTTP 400: no)", {}),
        (Status(499, "no. "), "refused the request (HTTP 499: no)", {}),
        (Status(501, ""), "refused the request (HTTP 501)", {}),
        *((Status(status, "no"), "refused the request", {}) for status in (405, 410, 411, 413, 415, 418, 422, 451)),
        (Status(401, "no"), "refused the key (HTTP 401: no)", FINAL_KEY),
        (Status(400, "Your key is invalid"), "refused the key", FINAL_KEY),
        (Status(400, "invalid API key"), "refused the key", FINAL_KEY),
        (Status(400, body=[{"error": {"message": "API key not valid."}}]), "refused the key", FINAL_KEY),
        (Status(400, "invalid keyword"), "refused the request", {}),
        (Status(422, "the key is invalid"), "refused the request", {}),
        (Status(403, "no"), "doesn't allow this", FINAL_KEY),
        (Status(404, "no"), "nothing at this address", FINAL),
        (Status(402, "no"), "no credit left", FINAL),
        (Status(429, "no", code="insufficient_quota"), "no credit left", FINAL),
        (Status(429, "no", type="insufficient_quota"), "no credit left", FINAL),
        (Status(429, "no"), "no more requests for now", PASSES),
        (Status(429, "no", headers={"Retry-After": "7"}), "no more requests", {"transient": True, "retry_after": 7.0}),
        (Status(503, "no", headers={"Retry-After": "7"}), "It failed", {"transient": True, "retry_after": 7.0}),
        *((Status(status, "no"), f"It failed (HTTP {status}: no)", PASSES) for status in PASSING),
        (Status(400, "no", code="json_validate_failed"), "It failed", PASSES),
        (Status(400, "no", code="context_length_exceeded"), "the prompt too long for `gpt-test`", {}),
        (Status(407, "no"), "through the proxy (HTTP 407)", {"fatal": True, "sent": False}),
        # A server that fails has the model all the same.
        *((Status(status, "gpt-test not found", code="model_not_found"), "It failed", PASSES) for status in (500, 503)),
    ],
    ids=lambda value: f"{value.status} {getattr(value, 'message', '')}" if isinstance(value, Raw | Status) else "",
)
async def test_each_refusal_is_told_as_what_it_is_and_has_its_meaning(
    step: Step, says: str, meaning: dict[str, Any]
) -> None:
    for streamed in (False, True):
        sentence, found = await told(step, streamed=streamed)
        assert says in sentence
        assert found == meaning


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
    assert (f"no model `gpt-test` for this key (HTTP {status}: {message})" in sentence) is is_about_model
    assert (meaning == FINAL_MODEL) is is_about_model
    assert ("model" in meaning) is is_about_model


COUNTED = {"prompt_tokens": 7, "completion_tokens": 900}
USED = {"usage": Usage(7, 900, 1, None)}
THOUGHTS = {"reasoning_content": "It is a heron."}


def of_error(**fields: object) -> Raw:
    return Raw(json.dumps({"error": fields}).encode())


@pytest.mark.parametrize(
    ("step", "says", "meaning"),
    [
        (Raw(b"<html>Sign in</html>", "text/html"), "web page", {}),
        (Raw(b"  <!DOCTYPE thing>", "text/plain"), "web page", {}),
        (Raw(b"busy\n now", "text/plain"), "isn't JSON (busy now)", PASSES),
        (Raw(b" ", "text/plain"), "empty body", PASSES),
        (Reply(" ", usage=COUNTED), "an empty answer for `gpt-test`", {"transient": True, **USED}),
        (Reply("4", finish="error", usage=COUNTED), "broke its answer off", {"transient": True, **USED}),
        (
            Reply(None, finish="tool_calls", message={"tool_calls": [{"id": "1"}]}, usage=COUNTED),
            "call of a tool",
            USED,
        ),
        (of_error(message="full", code=503), "It failed (HTTP 503: full)", PASSES),
        (of_error(message="full", code=400), "refused the request (HTTP 400: full)", {}),
        (of_error(message="full", code=399), "It failed (full)", PASSES),
        (of_error(message="full", code=599), "It failed (HTTP 599: full)", PASSES),
        (of_error(message="full", code=600), "It failed (full)", PASSES),
        (Raw(b'{"error": "full"}'), "It failed (full)", PASSES),
        (Raw(b'{"error": "rate limit exceeded"}'), "no more requests for now", PASSES),
        (of_error(message="no", type="invalid_request_error"), "refused the request (no)", {}),
        (of_error(message="no", type="authentication_error"), "refused the key (no)", FINAL_KEY),
        (
            Reply(None, message=THOUGHTS, usage=COUNTED),
            "thoughts of `gpt-test` and no answer",
            {"transient": True, **USED},
        ),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, Raw | Reply) else "",
)
async def test_each_answer_that_is_none_is_told_as_what_it_is_and_has_its_meaning(
    step: Step, says: str, meaning: dict[str, Any]
) -> None:
    for streamed in (False, True):
        sentence, found = await told(step, streamed=streamed)
        assert says in sentence
        assert found == meaning


@pytest.mark.parametrize(
    ("body", "kind", "streamed", "says", "meaning"),
    [
        (b"{broken", "application/json", False, "broken JSON", PASSES),
        (b"{broken", "text/json; charset=utf-8", True, "isn't JSON ({broken)", PASSES),
        (b"data: {broken\n\n", "text/event-stream", True, "broken JSON", PASSES),
        (
            b'data: {"error": {"message": "full", "code": "429"}}\n\n',
            "text/event-stream",
            True,
            "(HTTP 429: full)",
            PASSES,
        ),
        (b'data: {"choices": [{"delta": {"content": "4"}}]}\n\n', "text/event-stream", True, CUT_OFF, PASSES_PAID),
        (b'{"choices": []}', "application/json", False, "JSON that holds no answer", PASSES),
    ],
)
async def test_each_broken_answer_is_told_as_what_it_is_and_has_its_meaning(
    body: bytes, kind: str, streamed: bool, says: str, meaning: dict[str, Any]
) -> None:
    sentence, found = await told(Raw(body, kind), streamed=streamed)
    assert says in sentence
    assert found == meaning


async def test_what_can_not_be_opened_is_told_before_the_first_call() -> None:
    async with endpoint_at("https://x.test/v1", proxy="socks5://proxy:1080") as endpoint:
        with pytest.raises(EndpointFailure, match="SOCKS is not supported") as caught:
            await endpoint.open()
    assert facts(caught.value) == FINAL_UNSENT


CONNECTION: Any = SimpleNamespace(host="x.test", port=443, ssl=True, is_ssl=True)
PROXY: Any = SimpleNamespace(host="proxy.test", port=3128, ssl=True, is_ssl=True)
REQUEST: Any = SimpleNamespace(real_url="https://x.test/v1")
CERTIFICATE = "has a certificate that can't be trusted"
CUT = "cut the connection before it answered"
UNREACHED = "could not be reached"
BY_PROXY = "can't be reached through the proxy"


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
    ("problem", "says", "meaning"),
    [
        (caused(aiohttp.ClientPayloadError(), ConnectionResetError()), CUT_OFF, PASSES_PAID),
        (aiohttp.ClientConnectorDNSError(CONNECTION, OSError()), "its name doesn't resolve", FINAL_UNSENT),
        (aiohttp.ClientConnectorDNSError(PROXY, OSError()), BY_PROXY, FINAL_UNSENT),
        (caused(openai.APIConnectionError(request=REQUEST), httpx2.DecodingError("")), "can't be decompressed", PASSES),
        (aiohttp.ClientConnectorSSLError(CONNECTION, OSError()), CERTIFICATE, FINAL_UNSENT),
        (aiohttp.ClientConnectorCertificateError(CONNECTION, ssl.CertificateError()), CERTIFICATE, FINAL_UNSENT),
        (ssl.CertificateError(), CERTIFICATE, FINAL_UNSENT),
        (caused(aiohttp.ClientOSError(), of_tls("CERTIFICATE_REQUIRED")), CERTIFICATE, FINAL_UNSENT),
        (caused(aiohttp.ClientOSError(), of_tls("tlsv13 alert certificate required")), CERTIFICATE, FINAL_UNSENT),
        (connector(of_tls("BAD_CERTIFICATE")), CERTIFICATE, FINAL_UNSENT),
        (caused(aiohttp.ClientOSError(), of_tls("INTERNAL_ERROR")), CUT, PASSES),
        (connector(OSError(errno.ECONNREFUSED, "no")), "refuses connections", FINAL_UNSENT),
        (connector(OSError(errno.EHOSTUNREACH, "no")), UNREACHED, PASSES_UNSENT),
        (caused(RuntimeError(), context=aiohttp.InvalidURL("http://")), "an address that can't be used", FINAL_UNSENT),
        (aiohttp.ServerDisconnectedError(), CUT, PASSES),
        (aiohttp.ClientOSError(errno.EPIPE, "no"), CUT, PASSES),
        (ConnectionResetError(), CUT, PASSES),
        (aiohttp.ConnectionTimeoutError(), "takes too long to connect to", PASSES_UNSENT),
        (aiohttp.SocketTimeoutError(), "did not answer within 2.5 seconds", PASSES_PAID),
        (aiohttp.ClientResponseError(REQUEST, ()), "isn't HTTP", PASSES),
        (ValueError(), "OPENAI_CUSTOM_HEADERS", FINAL_UNSENT),
        (caused(RuntimeError(), ValueError()), UNREACHED, PASSES_UNSENT),
        (OSError(), UNREACHED, PASSES_UNSENT),
        (endless(), UNREACHED, PASSES_UNSENT),
        (aiohttp.ClientProxyConnectionError(CONNECTION, OSError(errno.ECONNREFUSED, "no")), BY_PROXY, FINAL_UNSENT),
        (by_proxy(407), "the user name and the password of the proxy", FINAL_UNSENT),
        *((by_proxy(status), f"{BY_PROXY} (HTTP {status})", FINAL_UNSENT) for status in (428, 430, 499)),
        *((by_proxy(status), f"{BY_PROXY} (HTTP {status})", PASSES_UNSENT) for status in (429, 500, 504)),
    ],
    ids=repr,
)
def test_each_way_in_which_no_answer_comes_is_told_as_what_it_is_and_has_its_meaning(
    problem: BaseException, says: str, meaning: dict[str, Any]
) -> None:
    failure = Failures("https://x.test", ()).of_connection(problem, 2.5)
    assert str(failure).startswith("The endpoint https://x.test ")
    assert says in str(failure)
    assert facts(failure) == meaning


def test_an_answer_without_a_limit_of_time_or_beyond_that_of_size_is_told() -> None:
    failures = Failures("https://x.test", ())
    late, large = failures.too_slow(None), failures.too_large(64 * 2**20)
    assert "did not answer in time" in str(late)
    assert "more than 64 MB" in str(large)
    assert (facts(late), facts(large)) == (PASSES_PAID, {"paid": True})
