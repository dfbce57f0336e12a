"""What went wrong at an endpoint, as one sentence that names the endpoint, the reason and the remedy."""

from __future__ import annotations

import errno
import json
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from merrow_runtime.errors import EmptyAnswerFailure, EndpointFailure, Remedy, RephrasedFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.origins import origin_of
from merrow_runtime.models.redaction import quoted
from merrow_runtime.usage import Usage

_LONGEST_MESSAGE = 100_000
_LOOKED_AT = 2000
_BAD_KEY = re.compile(r"(?i)\bkey\b.{0,20}\b(not valid|invalid|incorrect)|\b(invalid|incorrect) (api[ _-]?)?key\b")

_MEANT = (
    (429, re.compile(r"(?i)\brate.?limit|\btoo many requests\b|\binsufficient_quota\b")),
    (401, re.compile(r"(?i)\bauthentication_error\b|\binvalid_api_key\b")),
    (401, _BAD_KEY),
    (403, re.compile(r"(?i)\bpermission_(?:denied|error)\b")),
    (404, re.compile(r"(?i)\bmodel_not_found\b")),
    (400, re.compile(r"(?i)\binvalid_request(?:_error)?\b|\bcontext_length_exceeded\b")),
)
"""What servers call errors of which no status tells the kind."""

_OVERFLOW = re.compile(
    r"(?i)\bcontext_length_exceeded\b|\bexceed_context_size|\bcontext_?window_?exceeded"
    r"|\bmaximum (?:context|model) length\b|\bprompt is too long\b|\bmax_model_len\b"
    r"|\b(?:exceeds?|exceeded|(?:larg|long|great)er than) (?:the )?(?:available |maximum |model's? )*(?:context|token limit)\b"
)
"""How servers say that a prompt does not fit: OpenAI and Azure, llama.cpp, LiteLLM, vLLM, Anthropic's, Ollama."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error as an endpoint told it: its message and, where it says them, the parameter, code and type."""

    message: str = ""
    parameter: str = ""
    code: str = ""
    type: str = ""

    @classmethod
    def read(cls, body: object) -> ServerError:
        """Of the body of an answer, in the forms in which servers of the OpenAI protocol write errors."""
        if isinstance(body, list) and body:
            body = body[0]
        if isinstance(body, str):
            return cls() if "<html" in body[:2000].casefold() else cls(body[:_LONGEST_MESSAGE])
        if not isinstance(body, Mapping):
            return cls()
        error = body.get("error", body)
        if isinstance(error, str):
            return cls(error[:_LONGEST_MESSAGE])
        if not isinstance(error, Mapping):
            return cls()
        message = next((error[key] for key in ("message", "detail", "msg", "error") if error.get(key)), "")
        message = (message if isinstance(message, str) else str(message))[:_LONGEST_MESSAGE]
        asked, room = error.get("n_prompt_tokens"), error.get("n_ctx")
        if isinstance(asked, int) and isinstance(room, int) and str(room) not in message:  # llama.cpp's
            message = f"{message.rstrip('. ')}: {asked:,} tokens where {room:,} fit"
        return cls(
            message,
            str(error.get("param") or ""),
            str(error.get("code") or ""),
            str(error.get("type") or ""),
        )

    @classmethod
    def told_by(cls, content: bytes) -> ServerError:
        """Of the content of an answer that has an error's status."""
        text = content.decode("utf-8", "replace").strip()
        try:
            return cls.read(json.loads(text))
        except (ValueError, RecursionError):
            return cls.read(text)

    @classmethod
    def in_chunk(cls, chunk: object) -> ServerError | None:
        """Of an event of a streamed answer; None where it is no error. What some servers send as ``event: error`` has the words
        and nothing else.
        """
        if isinstance(chunk, Mapping) and ("choices" in chunk or "usage" in chunk):
            return None
        error = cls.read(chunk)
        return error if error.message else None

    @property
    def is_overflow(self) -> bool:
        """Whether the prompt, with the answer that it asks for, is longer than the model's context."""
        return _OVERFLOW.search(f"{self.code} {self.type} {self.message[:_LOOKED_AT]}") is not None

    @property
    def status(self) -> int:
        """The status that the error has by its own words, 500 where they say none."""
        words = f"{self.code} {self.type} {self.message[:_LOOKED_AT]}"
        return next((status for status, pattern in _MEANT if pattern.search(words)), 500)


class Failures:
    """Makes the failures of one endpoint; ``secrets`` are kept out of their texts, ``key_variable`` is where its key is set."""

    def __init__(self, origin: str, secrets: tuple[str, ...], key_variable: str = "OPENAI_API_KEY") -> None:
        self._origin = origin
        self._secrets = secrets
        self._key_variable = key_variable

    def of_status(
        self,
        status: int,
        error: ServerError,
        headers: Mapping[str, str] | None,
        model: str,
        *,
        paid: bool = False,
    ) -> EndpointFailure:
        """The failure of an answer with an error's status, or with 0 of an error inside an answer that has none; ``paid`` tells
        that a part of an answer came before it.
        """
        details = self._said(status, error)
        failure = self._of_status(status or error.status, error, details, retry_after(headers or {}), model)
        failure.paid = paid
        return failure

    def _of_status(
        self, status: int, error: ServerError, details: str, wait: float | None, model: str
    ) -> EndpointFailure:
        if status == 407:
            return self._by_proxy(status)
        if 300 <= status < 400:
            return self._failure(
                f"answered with a redirect (HTTP {status}), which is not followed so that the key stays where it was sent;"
                " give the address it leads to as the base URL",
                fatal=True,
            )
        if status == 401 or (status == 400 and _BAD_KEY.search(error.message)):
            return self._failure(
                f"refused the key{details}; set the right one in {self._key_variable}", fatal=True, remedy="key"
            )
        if error.is_overflow:
            return self._failure(
                f"finds the prompt too long for `{model}`{details}; shorten it, limit the node's `memory:`, or give the model a"
                " larger context"
            )
        if _is_about_model(status, error, model):
            return self._failure(
                f"has no model `{model}` for this key{details}; name one that it has with `model:` or --model",
                fatal=True,
                model=model,
                remedy="model",
            )
        if status == 403:
            return self._failure(
                f"doesn't allow this{details}; ask for access, or use another key", fatal=True, remedy="key"
            )
        if status == 404:
            return self._failure(
                f"has nothing at this address{details}; check the base URL, which mostly ends in /v1",
                fatal=True,
            )
        if status == 402 or "insufficient_quota" in (error.code, error.type):
            return self._failure(f"says that the account has no credit left{details}; pay it up", fatal=True)
        if status == 429:
            return self._failure(
                f"allows no more requests for now{details}; wait, or lower the concurrency",
                transient=True,
                retry_after=wait,
                too_many=True,
            )
        if status in (408, 409, 425) or error.code == "json_validate_failed" or (status >= 500 and status != 501):
            return self._failure(f"failed{details}; try again later", transient=True, retry_after=wait)
        return self._failure(f"refused the request{details}; change what it complains of")

    def of_connection(self, problem: BaseException, seconds: float | None) -> EndpointFailure:
        """The failure of a request that got no answer, from the exception that the client raised and its causes."""
        # They are there once a request was made; importing them here keeps this module light.
        import aiohttp
        import httpx2

        causes = list(_causes(problem))

        def caused_by(*kinds: type[BaseException]) -> bool:
            return any(isinstance(cause, kinds) for cause in causes)

        if caused_by(httpx2.DecodingError):
            return self.unusable("answered with a body that can't be decompressed; check the server and the proxy")
        if caused_by(aiohttp.ClientPayloadError):  # whatever it was that cut it off
            return self.cut_off()
        own = urlsplit(self._origin).hostname
        if any(isinstance(cause, aiohttp.ClientConnectorDNSError) and cause.host == own for cause in causes):
            return self._failure(
                "can't be found: its name doesn't resolve; check the base URL and the network",
                fatal=True,
                sent=False,
            )
        if caused_by(aiohttp.ClientSSLError) or any(_is_about_certificates(cause) for cause in causes):
            return self._failure(
                "has a certificate that can't be trusted, or speaks no TLS; check the base URL and SSL_CERT_FILE",
                fatal=True,
                sent=False,
            )
        refused = next((cause.status for cause in causes if isinstance(cause, aiohttp.ClientHttpProxyError)), None)
        if refused is not None:
            return self._by_proxy(refused)
        if caused_by(aiohttp.ClientProxyConnectionError, aiohttp.ClientConnectorDNSError):
            return self._by_proxy(None)
        if any(isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED for cause in causes):
            return self._failure("refuses connections; start the server, or check the base URL", fatal=True, sent=False)
        if caused_by(aiohttp.InvalidURL, httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            return self._failure("has an address that can't be used; check the base URL", fatal=True, sent=False)
        if caused_by(aiohttp.ClientConnectorError):
            return self._unreachable()
        if caused_by(aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError):
            return self._failure("cut the connection before it answered; try again later", transient=True)
        if caused_by(aiohttp.ConnectionTimeoutError):
            return self._failure(
                "takes too long to connect to; check the base URL and the network", transient=True, sent=False
            )
        if caused_by(TimeoutError):
            return self.too_slow(seconds)
        if caused_by(aiohttp.ClientResponseError):
            return self.unusable("answered with something that isn't HTTP; check the base URL and the proxy")
        if isinstance(problem, ValueError):
            return self._failure(
                "can't be sent a request: a header or an address has characters that it can't have; check the base URL, the"
                " proxy, OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS",
                fatal=True,
                sent=False,
            )
        return self._unreachable()

    def _unreachable(self) -> EndpointFailure:
        return self._failure("could not be reached; check the base URL and the network", transient=True, sent=False)

    def _by_proxy(self, status: int | None) -> EndpointFailure:
        """The failure of a request that got no further than a proxy, which answered with an error's status or not at all."""
        details = "" if status is None else f" (HTTP {status})"
        may_pass = status is not None and (status == 429 or status >= 500)
        wrong = "the user name and the password of the proxy are wrong or missing" if status == 407 else ""
        return self._failure(
            f"can't be reached through the proxy{details}{': ' if wrong else ''}{wrong}; check `proxy` in your settings or"
            " HTTPS_PROXY",
            transient=may_pass,
            fatal=not may_pass,
            sent=False,
        )

    def too_slow(self, seconds: float | None) -> EndpointFailure:
        """The failure of a request that took longer than it may."""
        limit = "in time" if seconds is None else f"within {seconds:g} seconds"
        reason = f"did not answer {limit}; raise `timeout:`, or try again later"
        return self._failure(reason, transient=True, paid=True)

    def cut_off(self) -> EndpointFailure:
        """The failure of an answer that came in part: it was written, and is paid mostly."""
        reason = "cut the connection before its answer was complete; try again later"
        return self._failure(reason, transient=True, paid=True)

    def too_large(self, limit: int) -> EndpointFailure:
        """The failure of an answer of more than ``limit`` bytes. It was written, and another try would be as long."""
        reason = (
            f"sent more than {limit / 2**20:g} MB, which no model's answer needs; check the base URL and the server"
        )
        return self._failure(reason, paid=True)

    def unusable(self, reason: str, *, transient: bool = True, usage: Usage | None = None) -> EndpointFailure:
        """The failure of an answer that is none, or no usable one: then ``usage`` is what it has used. ``reason`` goes on
        from the endpoint's name, with the remedy.
        """
        return self._failure(reason, transient=transient, usage=usage)

    def rephrased(self, what: str, model: str, status: int, error: ServerError) -> RephrasedFailure:
        """The failure of a request that is put otherwise next: the endpoint doesn't take ``what``."""
        details = self._said(status, error)
        return RephrasedFailure(
            f"The endpoint {self._origin} doesn't take {what} for `{model}`{details}; it is asked again without.",
            transient=True,
        )

    def empty(self, model: str, usage: Usage, *, thought: bool = False) -> EmptyAnswerFailure:
        """The failure of an answer without a text, or with thoughts alone, and with what it has used."""
        reason = f"gave an empty answer for `{model}`; try again, or use another model"
        if thought:
            reason = (
                f"sent the thoughts of `{model}` and no answer after them; try again, raise `max_tokens`, or use another"
                " model"
            )
        return EmptyAnswerFailure(f"The endpoint {self._origin} {reason}.", transient=True, usage=usage)

    def said(self, text: str) -> str:
        """A text from the endpoint as an error may show it."""
        return quoted(text, self._secrets)

    def _said(self, status: int, error: ServerError) -> str:
        """The status (an error inside an answer has none) and the words, as a sentence has them."""
        parts = [f"HTTP {status}" if status else "", self.said(error.message.rstrip(". \n"))]
        told = ": ".join(part for part in parts if part)
        return f" ({told})" if told else ""

    def _failure(
        self,
        reason: str,
        *,
        transient: bool = False,
        fatal: bool = False,
        model: str | None = None,
        retry_after: float | None = None,
        usage: Usage | None = None,
        paid: bool = False,
        remedy: Remedy | None = None,
        sent: bool = True,
        too_many: bool = False,
    ) -> EndpointFailure:
        return EndpointFailure(
            f"The endpoint {self._origin} {reason}.",
            transient=transient,
            fatal=fatal,
            model=model,
            retry_after=retry_after,
            usage=usage,
            paid=paid,
            remedy=remedy,
            sent=sent,
            too_many=too_many,
        )


def failures_of(connection: EndpointConnection) -> Failures:
    """The failures of the endpoint to which a connection leads."""
    azure = connection.azure
    variable = "OPENAI_API_KEY" if azure is None else azure.key_variable
    return Failures(origin_of(connection.base_url), (connection.api_key,) if connection.api_key else (), variable)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait: ``retry-after-ms``, or ``Retry-After`` (RFC 9110, 10.2.3) as seconds or as
    a date; None where it doesn't, or not legibly.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        moment = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


_WORDS_OF_NO_MODEL = ("unknown model", "invalid model name", "invalid model identifier", "not a valid model")
"""What servers say besides: LiteLLM (400) and LM Studio among them."""


def _is_about_model(status: int, error: ServerError, model: str) -> bool:
    if error.code in ("model_not_found", "model_not_available", "invalid_model", "DeploymentNotFound") and status < 500:
        return True
    if status not in (400, 403, 404):
        return False
    text = error.message.casefold()
    names = error.parameter == "model" or (model and model.casefold() in text) or "model" in text
    return bool(names) and (
        status == 404
        or any(word in text for word in ("not found", "does not exist", "not exist", "no such", *_WORDS_OF_NO_MODEL))
    )


def _is_about_certificates(cause: BaseException) -> bool:
    """Whether TLS ended over a certificate; the server's refusal of one can come after the connection is made."""
    return isinstance(cause, ssl.CertificateError) or (
        isinstance(cause, ssl.SSLError) and "CERTIFICATE" in str(cause.reason).upper()
    )


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        inner: Any = getattr(problem, "os_error", None)
        if isinstance(inner, BaseException):
            yield inner
        problem = problem.__cause__ or problem.__context__
