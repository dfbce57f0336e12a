"""Pages in a headless browser that may load nothing but the product's files: what their scripts do wrong, and what is visible.

The browser is driven through its debugging pipe. Every request of a page is answered here: with a file of the product, or not at
all. What is looked at is looked at from a world of its own, in which nothing that the page has changed in JavaScript holds.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from merrow_runtime.sandbox.browsers import OPTIONS, without_own_sandbox
from merrow_runtime.sandbox.programs import ProgramEndedError, SandboxProgram, environment_in

ORIGIN = "https://product.invalid"
_SETTLE_S = 0.7
"""How long scripts have after the page has loaded."""
_MOST_READ = 32 * 1024 * 1024
_MOST_ERRORS = 20
_READ_AT_ONCE = 65536


@dataclass(frozen=True, slots=True)
class PageVisit:
    """What a page showed: ``errors`` of its scripts, and ``seen``, what the script that looked at it returned."""

    errors: tuple[str, ...]
    seen: Any


def visit(program: SandboxProgram, browser: str, files: Mapping[str, str], page: str, script: str) -> PageVisit:
    """Load a page of a product, and evaluate a script in a world of its own there.

    Raises:
        ProgramEndedError: the browser ended, was ended, or said too much before that.
    """
    with program:
        command = [
            browser,
            *OPTIONS,
            *without_own_sandbox(),
            "--remote-debugging-pipe",
            "--block-new-web-contents",
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
            f"--user-data-dir={program.folder / 'profile'}",
            "about:blank",
        ]
        process = program.piped(command, environment_in(program.folder))
        return _Session(process, files).visit(page, script)


class _Session:
    def __init__(self, process: subprocess.Popen[bytes], files: Mapping[str, str]) -> None:
        self._process = process
        self._files = files
        self._messages = self._read()
        self._number = 0
        self._session: str | None = None
        self._errors: list[str] = []
        self._loaded = False

    def visit(self, page: str, script: str) -> PageVisit:
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Inspector", "Page", "Runtime", "Debugger"):
            self._ask(f"{domain}.enable")
        # An error that the page's own handlers say is nothing is an error all the same.
        self._ask("Debugger.setPauseOnExceptions", state="uncaught")
        self._ask("Fetch.enable", patterns=[{"urlPattern": "*"}])
        self._ask("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        self._ask("Page.navigate", url=f"{ORIGIN}/{page}")
        while not self._loaded:
            self._hear(next(self._messages))
        self._settle()
        frame = self._ask("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = self._ask("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
        reply = self._ask("Runtime.evaluate", expression=script, contextId=world, returnByValue=True)
        return PageVisit(tuple(self._errors), reply.get("result", {}).get("value"))

    def _settle(self) -> None:
        """Let scripts go on for a while, and hear of their errors."""
        until = time.monotonic() + _SETTLE_S
        while time.monotonic() < until:
            # A page can't hold this up: the browser itself answers.
            self._ask("Target.getTargetInfo")
            time.sleep(0.05)

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = self._send(method, parameters)
        while True:
            message = next(self._messages)
            if message.get("id") == number:
                if "error" in message:
                    raise ProgramEndedError(f"the browser refused {method}: {message['error'].get('message')}")
                answer: dict[str, Any] = message.get("result", {})
                return answer
            self._hear(message)

    def _send(self, method: str, parameters: Mapping[str, Any]) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": dict(parameters)}
        if self._session is not None:
            message["sessionId"] = self._session
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write(json.dumps(message).encode() + b"\0")
                pipe.flush()
        except OSError:
            raise ProgramEndedError("the browser ended, or did not finish in time") from None
        return self._number

    def _hear(self, message: Mapping[str, Any]) -> None:
        """What the browser says unasked."""
        parameters = message.get("params", {})
        match message.get("method"):
            case "Fetch.requestPaused":
                self._answer(parameters)
            case "Inspector.targetCrashed":
                raise ProgramEndedError("it needed too much processor time or memory")
            case "Page.loadEventFired":
                self._loaded = True
            case "Page.javascriptDialogOpening":
                self._send("Page.handleJavaScriptDialog", {"accept": True})
            case "Debugger.paused":
                if parameters.get("reason") == "exception":
                    top: dict[str, Any] = next(iter(parameters.get("callFrames", [])), {})
                    self._failed(
                        {"exception": parameters.get("data", {}), "url": top.get("url"), **top.get("location", {})}
                    )
                self._send("Debugger.resume", {})
            case "Runtime.exceptionThrown":
                self._failed(parameters.get("exceptionDetails", {}))

    def _failed(self, details: Mapping[str, Any]) -> None:
        if len(self._errors) < _MOST_ERRORS:
            self._errors.append(_thrown(details))

    def _answer(self, paused: Mapping[str, Any]) -> None:
        """A file of the product for its address; for any other address what a machine without network has."""
        request = paused["requestId"]
        place = urlsplit(paused["request"]["url"])
        path = unquote(place.path).lstrip("/")
        text = self._files.get(path) if f"{place.scheme}://{place.netloc}" == ORIGIN else None
        if text is None:
            self._send("Fetch.failRequest", {"requestId": request, "errorReason": "InternetDisconnected"})
            return
        kind = mimetypes.guess_type(path)[0] or "text/plain"
        self._send(
            "Fetch.fulfillRequest",
            {
                "requestId": request,
                "responseCode": 200,
                "responseHeaders": [{"name": "Content-Type", "value": f"{kind}; charset=utf-8"}],
                "body": base64.b64encode(text.encode("utf-8", "replace")).decode(),
            },
        )

    def _read(self) -> Iterator[dict[str, Any]]:
        """The browser's messages."""
        pipe = self._process.stdout
        waiting, total = b"", 0
        while pipe is not None:
            data = pipe.read1(_READ_AT_ONCE) if hasattr(pipe, "read1") else pipe.read(_READ_AT_ONCE)
            if not data:
                break
            total += len(data)
            if total > _MOST_READ:
                raise ProgramEndedError("the page said too much")
            *messages, waiting = (waiting + data).split(b"\0")
            for message in messages:
                yield json.loads(message)
        raise ProgramEndedError("the browser ended, or did not finish in time")


def _thrown(details: Mapping[str, Any]) -> str:
    """The first line of what a script threw, with its place."""
    thrown = details.get("exception", {})
    text = str(thrown.get("description") or thrown.get("value") or details.get("text", ""))
    file = urlsplit(str(details.get("url", ""))).path.lstrip("/")
    place = f" ({file}, line {int(details.get('lineNumber', 0)) + 1})" if file else ""
    return f"{text.splitlines()[0][:200] if text else 'an error'}{place}"
