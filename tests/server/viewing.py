"""A process of ``merrow view``, and a reader of what its pages are told."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
from tests.patience import PATIENCE
from tests.server.program import end_at_once

Event = tuple[str, Any]


class Stream:
    """What a page is told, from the beginning."""

    def __init__(self, client: httpx2.Client, path: str) -> None:
        self._client, self._path = client, path
        self.seen: list[Event] = []

    def until(self, wanted: Callable[[str, Any], object], do: Callable[[int], object] = lambda _: None) -> Any:
        """The data of the first event that is ``wanted``; ``do`` is called with the number of events behind each other one."""
        self.seen = []
        with self._client.stream("GET", self._path) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            name, limit = "", time.monotonic() + PATIENCE
            for line in answer.iter_lines():
                assert time.monotonic() < limit, f"it told only of {self.seen}"
                key, _, value = line.partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    data = json.loads(value)
                    self.seen.append((name, data))
                    if wanted(name, data):
                        return data
                    do(len(self.seen))
        raise AssertionError(f"it ended after {[name for name, _ in self.seen]}")


class Viewed:
    """A process that shows something, and a client that knows its address."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", "view", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(env or {})},
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.fullmatch(r"(.*) is shown at (http://127\.0\.0\.1:\d+)(/[^/\s]+)(/\S*)\n", self.said)
        assert found is not None, self.said + self.process.stdout.read()
        self.title, self.origin, self.root, self.path = found.groups()
        self.client = httpx2.Client(base_url=self.origin + self.root, timeout=PATIENCE)

    def stream(self, path: str) -> Stream:
        return Stream(self.client, path)

    def get(self, path: str) -> httpx2.Response:
        return self.client.get(path)

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.client.close()
        end_at_once(self.process)


@contextlib.contextmanager
def viewed(*arguments: str, env: dict[str, str] | None = None) -> Iterator[Viewed]:
    shown = Viewed(*arguments, "--no-open", env=env)
    try:
        yield shown
    finally:
        shown.close()
