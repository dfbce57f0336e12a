"""A server on loopback for `benchmarks.runtime`: it answers every chat completion after 50 ms, and prints its port.

It reads no more of HTTP than it must, so that its own CPU time is small beside that of whoever asks.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import cast

_END = b"\r\n\r\n"


class Answering(asyncio.Protocol):
    """One connection: requests with Content-Length, one after another."""

    seconds = 0.05
    number = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._read = b""

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(_END)) >= 0:
            head = self._read[:end].lower()
            start = head.find(b"content-length:")
            length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(self._read) < end + len(_END) + length:
                return
            self._read = self._read[end + len(_END) + length :]
            asyncio.get_running_loop().call_later(self.seconds, self._answer)

    def _answer(self) -> None:
        if self._transport.is_closing():
            return
        Answering.number += 1
        content = json.dumps(
            {
                "id": f"chatcmpl-{Answering.number}",
                "object": "chat.completion",
                "created": 1700000000,
                "model": "loopback",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": f"This is answer {Answering.number}."},
                        "finish_reason": "stop",
                    }
                ],
                "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
            }
        ).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        self._transport.write(head.encode() + content)


async def serve(seconds: float) -> None:
    Answering.seconds = seconds
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=2000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
