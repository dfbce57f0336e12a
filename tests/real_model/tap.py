"""A wire tap between Merrow and a real server: hands everything on and remembers what was asked and answered. Like some gateways,
it allows no longer answers than it is set to; else it changes nothing.

with tapped("http://127.0.0.1:8080") as tap:
    ... tap.base_url ... tap.answers[0].usage ...
"""

from __future__ import annotations

import http.client
import json
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.patience import PATIENCE

PIECE = 65_536
HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "host",
    "accept-encoding",
    "server",
    "date",
}


@dataclass
class Exchange:
    """One request for an answer, and what the server sent back until now."""

    asked: Any
    status: int = 0
    received: bytes = b""
    whole: bool = False

    @property
    def chunks(self) -> list[Any]:
        """The objects of the answer: one, or as many as were streamed."""
        text = self.received.decode(errors="replace")
        if not self.asked.get("stream"):
            return [json.loads(text)] if self.whole else []
        lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
        parsed = []
        for line in lines:
            with suppress(json.JSONDecodeError):
                parsed.append(json.loads(line))
        return parsed

    @property
    def text(self) -> str:
        """What the model wrote."""
        choices = [choice for chunk in self.chunks for choice in chunk.get("choices", ())]
        return "".join((choice.get("delta") or choice.get("message") or {}).get("content") or "" for choice in choices)

    @property
    def usage(self) -> tuple[int, int] | None:
        """Tokens of the prompt and of the answer as the server counts them; None where it has not said so."""
        found = [chunk["usage"] for chunk in self.chunks if chunk.get("usage")]
        return (found[-1]["prompt_tokens"], found[-1]["completion_tokens"]) if found else None

    @property
    def finish(self) -> str | None:
        choices = [choice for chunk in self.chunks for choice in chunk.get("choices", ())]
        return next((choice["finish_reason"] for choice in reversed(choices) if choice.get("finish_reason")), None)


@dataclass
class Tap:
    """``base_url`` is what Merrow is given. ``most`` is the number of requests that were open at the same time at most.
    ``longest`` is how many tokens an answer may have, None for as many as are asked for.
    """

    target: str
    longest: int | None = None
    base_url: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    most: int = 0
    _open: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def answers(self) -> list[Exchange]:
        """What was answered as a whole."""
        return [one for one in self.exchanges if one.whole and one.status == 200]

    @property
    def usage(self) -> tuple[int, int]:
        """The sums of the tokens of all answers, as the server counts them."""
        counted = [one.usage or (0, 0) for one in self.answers]
        return sum(asked for asked, _ in counted), sum(answered for _, answered in counted)

    def wait_until(self, there: Callable[[Tap], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: there(self), PATIENCE), self.exchanges

    def sent(self, asked: Any) -> Any:
        """The request as the server gets it."""
        if self.longest is None:
            return asked
        name = "max_completion_tokens" if "max_completion_tokens" in asked else "max_tokens"
        return {**asked, name: min(asked.get(name) or self.longest, self.longest)}

    @contextmanager
    def changing(self, opened: int = 0) -> Iterator[None]:
        with self._changed:
            self._open += opened
            self.most = max(self.most, self._open)
            yield
            self._changed.notify_all()


@contextmanager
def tapped(target: str, longest: int | None = None) -> Iterator[Tap]:
    """Tap the server at ``target``, an address without a path."""
    tap = Tap(target, longest)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._hand_on(b"", None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            exchange = Exchange(json.loads(body))
            with tap.changing(opened=1):
                tap.exchanges.append(exchange)
            # Who asks may be gone before the answer is whole: killed, cancelled, out of time.
            try:
                with suppress(ConnectionError):
                    self._hand_on(json.dumps(tap.sent(exchange.asked)).encode(), exchange)
            finally:
                with tap.changing(opened=-1):
                    pass

        def _hand_on(self, body: bytes, exchange: Exchange | None) -> None:
            address = urlsplit(target)
            assert address.hostname is not None
            with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)) as ask:
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
                ask.request(self.command, self.path, body or None, headers)
                # A server stops an answer that nobody waits for any more: it must see that.
                if self.connection in select.select([self.connection, ask.sock], [], [], PATIENCE)[0]:
                    return
                reply = ask.getresponse()
                self.send_response(reply.status)
                for name, value in reply.getheaders():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                while piece := reply.read1(PIECE):
                    # Known here before it is known there: who waits for a piece finds it.
                    if exchange is not None:
                        with tap.changing():
                            exchange.status, exchange.received = reply.status, exchange.received + piece
                    self.wfile.write(piece)
                    self.wfile.flush()
                if exchange is not None:
                    with tap.changing():
                        exchange.status, exchange.whole = reply.status, True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    tap.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield tap
    finally:
        server.shutdown()
        server.server_close()
