"""Any server that speaks the OpenAI protocol, over aiohttp."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from merrow_runtime.models.answers import Answer
from merrow_runtime.models.connections import Client, Connection, acquire, release, sendable
from merrow_runtime.models.dialects import Dialect, Dialects, DialectStore, after_ignored_schema, after_refusal
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.models.event_stream import data_of_events
from merrow_runtime.models.failures import Failures, ServerError, told_by
from merrow_runtime.models.limits import TooLargeError, UndecodableError, pieces, whole
from merrow_runtime.models.origins import origin_of
from merrow_runtime.models.prices import Price, PriceTable, packaged_prices
from merrow_runtime.models.thinking import ThinkingFilter, split_thinking
from merrow_runtime.models.tokens import estimate_tokens, prompt_tokens
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage

if TYPE_CHECKING:
    import aiohttp

DEFAULT_TIMEOUT = 600.0
"""Seconds for one try where the request says nothing."""
_FORM_STATUSES = frozenset({400, 404, 415, 422, 500, 501})
"""Statuses with which servers refuse a request for its form (500 and 501: those that fail in a chat template)."""
_PATH = "/chat/completions"
_DONE = b"[DONE]"
"""The data of the event after the last one."""


class OpenAIEndpoint:
    """An OpenAI-compatible server. One try a call: no retries, but a request that the server refused for its form is put
    otherwise at once (`Dialect`), which costs nothing and is learned.

    ``prices`` go before the packaged ones. Raises `UsageFailure` for a base URL or a key that can't be sent.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        dialects: DialectStore | None = None,
        prices: PriceTable | None = None,
    ) -> None:
        self._origin = origin_of(connection.base_url)
        self._connection = sendable(connection)
        self._dialects = Dialects(self._origin, dialects)
        self._prices = packaged_prices() if prices is None else prices.over(packaged_prices())
        self._failures = Failures(self._origin, (key,) if (key := self._connection.api_key) else ())
        self._client: Client | None = None
        self._opening = asyncio.Lock()

    @property
    def origin(self) -> str:
        return self._origin

    @property
    def connection(self) -> Connection:
        """Where and how its requests go: endpoints for which this is equal share connections, and what bounds them."""
        return self._connection

    def price(self, model: str) -> Price | None:
        """The price of a model here; None where it isn't known."""
        return self._prices.price_of(self._origin, model)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer; with ``on_text`` the answer is streamed, thinking left out. Raises `EndpointFailure`."""
        client = await self._open()
        dialect = self._dialects.of(request.model)
        seconds = request.timeout or DEFAULT_TIMEOUT
        while True:
            body = dialect.body(request, stream=on_text is not None)
            started = time.perf_counter()
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._ask(client, body, seconds, ThinkingFilter(dialect.thinks), on_text)
            except TimeoutError:
                raise self._failures.too_slow(seconds) from None
            except _RefusedError as refused:
                if "content_filter" in (refused.error.code, refused.error.type):
                    answer = Answer.refused(self._failures.said(refused.error.message) or "content filter")
                else:
                    following = self._rephrased(request.model, dialect, body, refused)
                    if following is None:
                        raise self._failures.of_status(
                            refused.status, refused.error, refused.headers, request.model
                        ) from None
                    dialect = following
                    continue
            return self._reply(request, dialect, answer, time.perf_counter() - started)

    async def close(self) -> None:
        """Let connections go; a later call opens them again."""
        if self._client is not None:
            self._client = None
            await release(self._connection)

    async def open(self) -> None:
        """Make ready for calls, which the first one would do else: a process needs most of a second for it."""
        await self._open()

    async def _open(self) -> Client:
        async with self._opening:
            if self._client is None:
                self._client = await acquire(self._connection)
            return self._client

    async def _ask(
        self, client: Client, body: dict[str, Any], seconds: float, shown: ThinkingFilter, on_text: OnText | None
    ) -> Answer:
        """Send one request and read its answer. Raises `_RefusedError` for an error that the server told, otherwise
        `EndpointFailure`.
        """
        import aiohttp

        try:
            async with client.send(_PATH, seconds, body) as response:
                if response.status // 100 != 2:
                    raise _RefusedError(response.status, await told_by(response), response.headers)
                return await self._read(response, shown, on_text, streamed="stream" in body)
        except TooLargeError as problem:
            raise self._failures.too_large(problem.limit) from None
        except UndecodableError:
            raise self._failures.undecodable() from None
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise self._failures.of_connection(problem, seconds, proxied=client.is_proxied) from None

    async def _read(
        self, response: aiohttp.ClientResponse, shown: ThinkingFilter, on_text: OnText | None, *, streamed: bool
    ) -> Answer:
        kind = response.headers.get("content-type", "")
        try:
            if streamed and "event-stream" in kind:
                return await self._streamed(response, shown, on_text)
            content = await whole(response)
            is_json = not streamed and kind.partition(";")[0].endswith("json")
            read = json.loads(content) if is_json else content.decode("utf-8", "replace")
            return self._shown(self._whole(read), on_text)
        except (ValueError, RecursionError):  # also a number of more digits than Python reads
            raise self._failures.unusable("answered with broken JSON; try again later") from None

    async def _streamed(
        self, response: aiohttp.ClientResponse, shown: ThinkingFilter, on_text: OnText | None
    ) -> Answer:
        answer = Answer()
        async for data in data_of_events(pieces(response)):
            if data.startswith(_DONE):
                break
            if not data:
                continue  # a sign of life
            chunk = json.loads(data)
            if isinstance(chunk, Mapping) and chunk.get("error"):
                raise _RefusedError.told({"error": chunk["error"]})
            piece = shown.feed(answer.add(chunk)) if isinstance(chunk, Mapping) else ""
            if piece and on_text is not None:
                on_text(piece)
        rest = shown.finish()
        if rest and on_text is not None:
            on_text(rest)
        if not answer.reason:
            raise self._failures.cut_off()
        return answer

    def _whole(self, body: object) -> Answer:
        """The answer in a body that came at once: parsed, or as text where the server didn't call it JSON."""
        if isinstance(body, str):
            body = self._parsed(body)
        answer = Answer()
        if isinstance(body, Mapping):
            answer.add(body)
        if answer.error is not None and not answer.has_choice:
            raise _RefusedError.told(answer.error)
        if not answer.has_choice:
            raise self._failures.unusable(
                "answered with JSON that holds no answer; check that it speaks the OpenAI protocol"
            )
        return answer

    def _parsed(self, text: str) -> object:
        try:
            parsed: object = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            return parsed
        if "<html" in text[:2000].casefold() or "<!doctype" in text[:200].casefold():
            raise self._failures.unusable(
                "answered with a web page; check the base URL, which mostly ends in /v1, and the proxy", transient=False
            )
        told = self._failures.said(text)
        what = f"something that isn't JSON ({told})" if told else "an empty body"
        raise self._failures.unusable(f"answered with {what}; try again later, or check the base URL")

    def _shown(self, answer: Answer, on_text: OnText | None) -> Answer:
        """Of an answer that came at once although it was asked for in pieces, the one piece."""
        if on_text is not None and answer.content:
            text = split_thinking(answer.content).text
            if text:
                on_text(text)
        return answer

    def _rephrased(
        self, model: str, dialect: Dialect, body: Mapping[str, Any], refused: _RefusedError
    ) -> Dialect | None:
        """The dialect to put the request in next; None where the server did not refuse its form."""
        if refused.status not in _FORM_STATUSES:
            return None
        error = refused.error
        following = after_refusal(dialect, body, error.message, error.parameter, error.code)
        if following is None or "invalid schema" in error.message.casefold():
            # Not this model's dialect: this one schema goes beyond what can be forced.
            return following
        return self._dialects.learn(model, dialect, following)

    def _reply(self, request: ModelRequest, dialect: Dialect, answer: Answer, seconds: float) -> ModelReply:
        split = split_thinking(answer.content)
        if split.thinks != "no" and split.thinks != dialect.thinks:
            known = self._dialects.of(request.model)
            self._dialects.learn(request.model, known, replace(known, thinks=split.thinks))
        text = answer.refusal or split.text
        if request.schema is not None and answer.finish == "stop" and text.strip() and not _is_json(text):
            self._dialects.learn(request.model, dialect, after_ignored_schema(dialect))
        usage = self._usage(request, answer)
        if answer.reason == "error":
            raise self._failures.unusable("broke its answer off with an error; try again later", usage=usage)
        if not text.strip() and answer.finish == "stop":
            if answer.calls_tools:
                reason = "answered with a call of a tool that it wasn't offered"
                raise self._failures.unusable(reason, transient=False, usage=usage)
            raise self._failures.empty(request.model, usage)
        thinking = "\n".join(part for part in (answer.thinking, split.thinking) if part)
        return ModelReply(text, answer.finish, usage, answer.model or request.model, seconds, thinking)

    def _usage(self, request: ModelRequest, answer: Answer) -> Usage:
        """What the server counted; where it didn't, what the offline rule says, marked so."""
        prompt, completion = answer.prompt_tokens, answer.completion_tokens
        usage = Usage(
            prompt_tokens(request) if prompt is None else prompt,
            estimate_tokens(answer.thinking + answer.content + answer.refusal) if completion is None else completion,
            1,
            None,
            estimated=prompt is None or completion is None,
        )
        price = self.price(request.model)
        return usage if price is None else replace(usage, cost_usd=price.cost(usage, answer.cached_tokens))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class _RefusedError(Exception):
    """The server answered with an error, by its status or inside its answer."""

    def __init__(self, status: int, error: ServerError, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status, self.error, self.headers = status, error, headers

    @classmethod
    def told(cls, body: object) -> Self:
        """An error inside an answer: its code is a status where it is one, otherwise it counts as the server's fault."""
        error = ServerError.read(body)
        status = int(error.code) if error.code.isdecimal() and 400 <= int(error.code) < 600 else 500
        return cls(status, error, {})
