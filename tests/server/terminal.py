"""Runs the program on a real terminal, many times in little time: each call is a fork of one process that has it loaded."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DRIVER = """
import base64, json, os, sys, termios
import merrow_server.cli, merrow_runtime, rich.live, rich.progress, rich.markdown

def perform(call, terminal):
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    os.dup2(terminal if call["typed"] else os.open("stdin", os.O_RDONLY), 0)
    os.dup2(terminal, 1)
    os.dup2(terminal, 2)
    os.close(terminal)
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode, encoding="utf-8") for number, mode in enumerate("rww"))
    if call["program"] is not None:
        sys.argv = ["-c", *call["arguments"]]
        exec(call["program"], {"__name__": "__main__"})
        return 0
    return merrow_server.cli.main(call["arguments"])

for line in sys.stdin.buffer:
    call = json.loads(line)
    reader, terminal = os.openpty()
    mode = termios.tcgetattr(terminal)
    mode[1] &= ~termios.OPOST  # else the terminal itself adds returns
    mode[3] &= ~termios.ECHO  # and shows what is typed
    termios.tcsetattr(terminal, termios.TCSANOW, mode)
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            code = perform(call, terminal)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for thread in __import__("threading").enumerate()[1:]:
                thread.join(10)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(terminal)
    os.write(reader, call["typed"].encode())
    shown = b""
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(reader)
    os.waitpid(child, 0)
    sys.stdout.buffer.write(base64.b64encode(shown) + b"\\n")
    sys.stdout.buffer.flush()
"""


class Terminal:
    """A terminal for one call at a time."""

    def __init__(self, driver: subprocess.Popen[bytes]) -> None:
        self._driver = driver

    def __call__(self, *arguments: str, stdin: str = "", typed: str = "", program: str | None = None) -> str:
        """What is shown of a call with these arguments in the current folder; of ``program``, Python text, where given. What is
        ``typed`` comes from the terminal itself, in place of ``stdin``.
        """
        Path("stdin").write_text(stdin, encoding="utf-8", newline="")
        call = {
            "arguments": arguments,
            "program": program,
            "typed": typed,
            "folder": str(Path.cwd()),
            "environment": {**os.environ, "TERM": "xterm-256color", "COLUMNS": "300", "LINES": "60"},
        }
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.write(json.dumps(call).encode() + b"\n")
        self._driver.stdin.flush()
        return base64.b64decode(self._driver.stdout.readline()).decode()


@contextmanager
def terminals() -> Iterator[Terminal]:
    with subprocess.Popen([sys.executable, "-c", _DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as driver:
        yield Terminal(driver)
        assert driver.stdin is not None
        driver.stdin.close()
