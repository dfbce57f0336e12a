"""Any server that speaks the OpenAI protocol, through the ``openai`` package."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.answer_reader import EndpointAnswer
from merrow_runtime.models.connections import EndpointConnection, acquire, keyless_headers, release, sendable, timeout
from merrow_runtime.models.dialects import (
    Dialect,
    DialectStore,
    OriginDialects,
    after_ignored_schema,
    after_refusal,
)
from merrow_runtime.models.discovery import known_places
from merrow_runtime.models.embedding_reader import UnusableVectorsError, vectors_of
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.models.failures import ServerError, failures_of
from merrow_runtime.models.limits import EVENTS, TooLargeError
from merrow_runtime.models.origins import origin_of
from merrow_runtime.models.prices import Price, PriceTable, packaged_prices
from merrow_runtime.models.thinking import Shown, split_thinking
from merrow_runtime.models.tokens import calls_tokens, estimate_tokens, prompt_tokens
from merrow_runtime.models.tool_texts import calls_in
from merrow_runtime.models.written_calls import written_calls
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage
from merrow_runtime.values import canonical

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_TIMEOUT = 600.0
"""Seconds for one try where the request says nothing."""
_FORM_STATUSES = frozenset({0, 400, 404, 415, 422, 500, 501})
"""Statuses with which servers refuse a request for its form (500 and 501: those that fail in a chat template)."""


class OpenAIEndpoint:
    """An OpenAI-compatible server. One request a call: no retries. One that the server refused for its form ends as
    `RephrasedFailure`, which costs nothing and is learned (`Dialect`): the next is put otherwise.

    ``prices`` go before the packaged ones. Raises `UsageFailure` for a base URL or a key that can't be sent.
    """

    def __init__(
        self,
        connection: EndpointConnection,
        *,
        dialects: DialectStore | None = None,
        prices: PriceTable | None = None,
    ) -> None:
        self._origin = origin_of(connection.base_url)
        self._connection = sendable(connection)
        self._dialects = OriginDialects(self._origin, dialects)
        self._unforced: dict[tuple[str, str], Dialect] = {}
        """By model and schemas, how the server is asked where these schemas, of an answer or of tools, go beyond what it can
        force.
        """
        self._unlimited: set[str] = set()
        """Models that have no room for an answer of the length that is asked for where a request says nothing."""
        self._formless: set[str] = set()
        """Models whose server refuses to be told in which form it is to give vectors."""
        self._prices = packaged_prices() if prices is None else prices.over(packaged_prices())
        self._failures = failures_of(self._connection)
        self._client: AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    @property
    def origin(self) -> str:
        return self._origin

    @property
    def connection(self) -> EndpointConnection:
        """Where and how its requests go: endpoints for which this is equal share connections, and what bounds them."""
        return self._connection

    def price(self, model: str) -> Price | None:
        """The price of a model here; None where it isn't known."""
        return self._prices.price_of(self._origin, model)

    def refused(self, model: str) -> tuple[str, ...]:
        """See `merrow_runtime.models.endpoint.refused_at`."""
        return self._dialects.of(model).refused

    def answer_limit(self, model: str) -> int | None:
        """See `merrow_runtime.models.endpoint.answer_limit_at`."""
        if model in self._unlimited or self._dialects.of(model).limit == "none":
            return None
        return self._connection.max_tokens

    async def places(self) -> int | None:
        """How many requests the server answers at once, where nobody has said and it tells; else None."""
        if not self._connection.is_guessed:
            return None
        return await asyncio.to_thread(known_places, self._connection.base_url)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer; with ``on_text`` the answer is streamed, thinking left out. Raises `EndpointFailure`."""
        client = await self._open()
        dialect = self._dialect(request)
        seconds = request.timeout or DEFAULT_TIMEOUT
        body = dialect.body(self._limited(request), self._origin, stream=on_text is not None)
        answer = EndpointAnswer()
        started = time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                await self._ask(client, body, seconds, answer, Shown(dialect.thinks, on_text))
        except TimeoutError:
            raise self._failures.too_slow(seconds) from None
        except _RefusedError as refused:
            if "content_filter" in (refused.error.code, refused.error.type):
                answer = EndpointAnswer.refused(self._failures.said(refused.error.message) or "content filter")
            else:
                raise self._refused(request, dialect, body, refused, answer) from None
        return self._reply(request, dialect, answer, time.perf_counter() - started)

    async def embed(self, request: ModelRequest) -> ModelReply:
        """The vectors of the texts that a request embeds. Raises `EndpointFailure`."""
        client, model = await self._open(), request.model
        seconds = request.timeout or DEFAULT_TIMEOUT
        body: dict[str, Any] = {"model": model, "input": list(request.embeds)}
        if model not in self._formless:
            body["encoding_format"] = "float"
        started = time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                answer = await self._embedded(client, body, seconds)
        except TimeoutError:
            raise self._failures.too_slow(seconds) from None
        except _RefusedError as refused:
            error = refused.error
            if "encoding_format" in body and "encoding_format" in f"{error.parameter} {error.message[:1000]}":
                self._formless.add(model)
                raise self._failures.rephrased("`encoding_format`", model, refused.status, error) from None
            raise self._failures.of_status(refused.status, error, refused.headers, model) from None
        counted = EndpointAnswer(completion_tokens=0)
        counted.add(answer)
        usage = self._usage(request, counted)
        try:
            vectors = vectors_of(answer.get("data"), len(request.embeds))
        except UnusableVectorsError as problem:
            raise self._failures.unusable(str(problem), transient=False, usage=usage) from None
        seconds = time.perf_counter() - started
        return ModelReply("", "stop", usage, counted.model or model, seconds, vectors=vectors)

    async def close(self) -> None:
        """Let connections go; a later call opens them again."""
        if self._client is not None:
            self._client = None
            await release(self._connection)

    async def open(self) -> None:
        """Make ready for calls, which the first one would do else: a process needs most of a second for it."""
        await self._open()

    async def _open(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                self._client = await acquire(self._connection)
            return self._client

    async def _embedded(self, client: AsyncOpenAI, body: dict[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send texts to be embedded, and read the answer as JSON. Raises as `_ask` does."""
        async with self._sent(client.embeddings.with_raw_response.create, body, seconds) as response:
            is_json = response.headers.get("content-type", "").partition(";")[0].endswith("json")
            read = self._read(await response.http_response.aread(), is_json=is_json)
        if isinstance(read, Mapping) and read.get("error") and "data" not in read:
            raise _RefusedError.told(ServerError.read(read))
        return read if isinstance(read, Mapping) else {}

    async def _ask(
        self, client: AsyncOpenAI, body: dict[str, Any], seconds: float, answer: EndpointAnswer, shown: Shown
    ) -> None:
        """Send one request and read its answer. Raises `_RefusedError` for an error that the server told, otherwise
        `EndpointFailure`.
        """
        async with self._sent(client.chat.completions.with_raw_response.create, body, seconds) as response:
            kind = response.headers.get("content-type", "")
            if "stream" in body and "event-stream" in kind:
                await self._streamed(response, answer, shown)
            else:
                is_json = "stream" not in body and kind.partition(";")[0].endswith("json")
                self._whole(await response.http_response.aread(), answer, is_json=is_json)
                shown.at_once(answer.content)

    @asynccontextmanager
    async def _sent(self, create: Any, body: Mapping[str, Any], seconds: float) -> AsyncIterator[Any]:
        """The response to a request, and what goes wrong while it is read."""
        import aiohttp
        import httpx2
        import openai

        # What comes back stays plain data: made into the package's types, a hostile answer takes a hundred times the time
        # and ten times the memory.
        try:
            yield await create(**body, timeout=timeout(seconds), extra_headers=keyless_headers(self._connection))
        except openai.APIStatusError as problem:
            told = ServerError.told_by(problem.response.content)
            raise _RefusedError(problem.status_code, told, problem.response.headers) from None
        except TooLargeError as problem:
            raise self._failures.too_large(problem.limit) from None
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError, ValueError) as problem:
            raise self._failures.of_connection(problem, seconds) from None

    async def _streamed(self, response: Any, answer: EndpointAnswer, shown: Shown) -> None:
        import openai

        try:
            async with response.parse(to=openai.AsyncStream[object]) as chunks:
                async for chunk in chunks:
                    error = ServerError.in_chunk(chunk)
                    if error is not None:
                        raise _RefusedError.told(error)
                    shown.feed(answer.add(chunk) if isinstance(chunk, Mapping) else "")
        except openai.APIConnectionError:
            raise
        except openai.APIError as problem:
            raise _RefusedError.told(ServerError.read({"error": problem.body})) from None
        except (ValueError, RecursionError) as problem:
            if isinstance(problem, json.JSONDecodeError) and not problem.doc.startswith(("{", "[", '"')):
                raise _RefusedError.told(ServerError.read(problem.doc)) from None
            raise self._failures.unusable("answered with broken JSON; try again later") from None
        shown.finish()
        if not answer.reason and not response.http_response.extensions[EVENTS].is_done:
            raise self._failures.cut_off()

    def _whole(self, content: bytes, answer: EndpointAnswer, *, is_json: bool) -> None:
        """Take in an answer that came at once. ``is_json`` tells that the server calls it JSON."""
        body = self._read(content, is_json=is_json)
        if isinstance(body, Mapping):
            answer.add(body)
        if answer.error is not None and not answer.has_choice:
            raise _RefusedError.told(ServerError.read(answer.error))
        if not answer.has_choice:
            raise self._failures.unusable(
                "answered with JSON that holds no answer; check that it speaks the OpenAI protocol"
            )

    def _read(self, content: bytes, *, is_json: bool) -> object:
        """An answer that came at once, as plain data."""
        try:
            return json.loads(content if is_json else content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):  # also a number of more digits than Python reads
            raise self._unread(content.decode("utf-8", "replace"), is_json=is_json) from None

    def _unread(self, text: str, *, is_json: bool) -> EndpointFailure:
        """The failure of an answer that is no JSON."""
        if is_json:
            return self._failures.unusable("answered with broken JSON; try again later")
        if "<html" in text[:2000].casefold() or "<!doctype" in text[:200].casefold():
            return self._failures.unusable(
                "answered with a web page; check the base URL, which mostly ends in /v1, and the proxy", transient=False
            )
        told = self._failures.said(text)
        what = f"something that isn't JSON ({told})" if told else "an empty body"
        return self._failures.unusable(f"answered with {what}; try again later, or check the base URL")

    def _limited(self, request: ModelRequest) -> ModelRequest:
        """The request with an end for its answer; it is no part of what the request is known by."""
        limit = self.answer_limit(request.model) if request.max_tokens is None else None
        return request if limit is None else replace(request, max_tokens=limit)

    def _dialect(self, request: ModelRequest) -> Dialect:
        """How the request is put."""
        dialect = self._dialects.of(request.model)
        known = self._unforced.get(_unforced(request)) if self._unforced else None
        if known is None:
            return dialect
        schema = known.schema if dialect.schema == "json_schema" else dialect.schema
        return replace(dialect, schema=schema, tools=known.tools if dialect.tools == "native" else dialect.tools)

    def _refused(
        self,
        request: ModelRequest,
        dialect: Dialect,
        body: Mapping[str, Any],
        refused: _RefusedError,
        answer: EndpointAnswer,
    ) -> EndpointFailure:
        """The failure of a request that the server refused, or of an answer that it broke off."""
        error, model = refused.error, request.model
        following = None
        if error.is_overflow and request.max_tokens is None and dialect.limit in body and not answer.has_begun:
            # It may be that the prompt fits, and only such a long answer does not.
            self._unlimited.add(model)
            return self._failures.rephrased(
                f"an answer of {body[dialect.limit]:,} tokens", model, refused.status, error
            )
        if refused.status in _FORM_STATUSES and not answer.has_begun and not error.is_overflow:
            following = after_refusal(dialect, body, error.message, error.parameter, error.code)
        if following is None:
            return self._failures.of_status(refused.status, error, refused.headers, model, paid=answer.has_begun)
        if "invalid schema" in error.message.casefold():
            # Not this model's dialect: this one schema goes beyond what can be forced.
            self._unforced[_unforced(request)] = following
        else:
            self._dialects.learn(model, dialect, following)
        return self._failures.rephrased(dialect.differing(following), model, refused.status, error)

    def _reply(self, request: ModelRequest, dialect: Dialect, answer: EndpointAnswer, seconds: float) -> ModelReply:
        split = split_thinking(answer.content)
        if split.thinks != "no" and split.thinks != dialect.thinks:
            known = self._dialects.of(request.model)
            self._dialects.learn(request.model, known, replace(known, thinks=split.thinks))
        answered = answer.calls.calls
        text, calls = answer.refusal or split.text, answered if request.tools else ()
        talks = request.tools or any(message.calls for message in request.messages)
        if answer.refusal or request.schema is not None:
            pass
        elif talks and dialect.tools == "text":
            text, calls = calls_in(text, request.messages)
        elif request.tools and not calls and answer.finish == "stop":
            calls = written_calls(text, request.tools, request.messages)
            text = "" if calls else text
        if request.schema is not None and answer.finish == "stop" and text.strip() and not _is_json(text):
            self._dialects.learn(request.model, dialect, after_ignored_schema(dialect))
        usage = self._usage(request, answer)
        thinking = "\n".join(part for part in (answer.thinking, split.thinking) if part)
        if answer.reason == "error":
            raise self._failures.unusable("broke its answer off with an error; try again later", usage=usage)
        if not text.strip() and not calls and answer.finish == "stop":
            if answer.calls and not request.tools:
                reason = "answered with a call of a tool that it wasn't offered"
                raise self._failures.unusable(reason, transient=False, usage=usage)
            raise self._failures.empty(request.model, usage, thought=bool(thinking.strip()))
        own = answer.own.kept(self._origin, answer.calls.own) if calls and calls is answered else None
        return ModelReply(text, answer.finish, usage, answer.model or request.model, seconds, thinking, calls, own)

    def _usage(self, request: ModelRequest, answer: EndpointAnswer) -> Usage:
        """What the server counted; where it didn't, what the offline rule says, marked so."""
        prompt, completion = answer.prompt_tokens, answer.completion_tokens
        usage = Usage(
            prompt_tokens(request) if prompt is None else prompt,
            estimate_tokens(answer.thinking + answer.content + answer.refusal) + calls_tokens(answer.calls.calls)
            if completion is None
            else completion,
            1,
            None,
            estimated=prompt is None or completion is None,
        )
        price = self.price(request.model)
        return usage if price is None else replace(usage, cost_usd=price.cost(usage, answer.cached_tokens))


def _unforced(request: ModelRequest) -> tuple[str, str]:
    schema = None if request.schema is None else dict(request.schema.schema)
    return request.model, canonical([schema, [tool.to_json() for tool in request.tools]])


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class _RefusedError(Exception):
    """The server answered with an error, by its status or inside its answer."""

    def __init__(self, status: int, error: ServerError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.error, self.headers = status, error, headers

    @classmethod
    def told(cls, error: ServerError) -> Self:
        """An error inside an answer, whose own status says nothing: its code is one where it can be."""
        status = int(error.code) if error.code.isdecimal() and 400 <= int(error.code) < 600 else 0
        return cls(status, error)
