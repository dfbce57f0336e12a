"""Runs the program many times in little time: each call is a fork of one process that has it loaded.

A call has a process, a folder and an environment of its own, as a start from nothing has; only what it imports, and what the
compiler knows of Merrow's own source, is there already.
Tests of what is imported, of signals and of kills start a process from nothing.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_DRIVER = """
import base64, gc, importlib, json, os, signal, sys, termios, time

if os.fork():
    os._exit(0)  # so that it is nobody's child: tests look at theirs

import merrow_server.cli
for name in merrow_server.cli.COMMANDS:
    merrow_server.cli.program.get_command(None, name)
import merrow_server.cli.sessions.evaluation, merrow_server.cli.texts.evaluations, merrow_server.rendering.forecast_text
import merrow_server.evaluations.evaluation_data, merrow_server.evaluations.prepared_evaluation, merrow_server.evaluations.tables
import merrow_server.cases.suites, merrow_server.suggestions.prepared_suggestions, merrow_server.opening, merrow_server.compiling
import merrow_server.cli.sessions.run, merrow_server.cli.sessions.run_display, merrow_server.changes.patterns
import merrow_server.extractions.extraction_words, merrow_optimizer.crossover.children, merrow_optimizer.planning.choosing
import merrow_optimizer.evaluation.sessions, merrow_optimizer.optimization.rounds, merrow_optimizer.suggestions.session
import merrow_optimizer.planning.plan_workflow, merrow_optimizer.mutations.subgraph, merrow_analysis.formatting
import merrow_runtime.running.api, merrow_runtime.store.database, merrow_runtime.sandbox
import merrow_runtime.models.openai_endpoint, openai, aiohttp, rich.live, rich.progress, rich.markdown
import merrow_optimizer.repair.remedies, merrow_optimizer.repair.search
from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.workflow import check_workflow

compile_workflow(check_workflow(  # also imports every rule
    "---\\nworkflow: {prompts: {a: b}}\\n---\\nflowchart TD\\n    PROBLEM([P]):::Interface -->|input| A\\n"
    "    A@{op: Custom, role: a}\\n    A --> RETURN([R]):::Interface\\n    classDef Interface fill:#eee\\n", name="a.mmd"))

for module in (merrow_optimizer.repair.remedies, merrow_optimizer.repair.search):
    module.monotonic = lambda: 0.0  # a search ends by what it reads, however busy the machine is

gc.collect()
gc.freeze()  # else a collection in a call writes to all that it shares with this process

def perform(call, terminal):
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    if "coverage" in sys.modules:  # scripts/ran_by.py: what runs here counts as the test's that asked for it
        sys.modules["coverage"].Coverage.current().switch_context(os.environ["PYTEST_CURRENT_TEST"])
    time.tzset()
    if terminal is None:
        given, shown = os.open(call["stdin"], os.O_RDONLY), os.O_WRONLY
        numbers = given, os.open(call["stdout"], shown), os.open(call["stderr"], shown)
    else:
        numbers = (terminal if call["typed"] else os.open(call["stdin"], os.O_RDONLY)), terminal, terminal
    for number, opened in enumerate(numbers):
        os.dup2(opened, number)
    for opened in {*numbers} - {0, 1, 2}:
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode, encoding="utf-8") for number, mode in enumerate("rww"))
    if call["program"] is not None:
        sys.argv = ["-c", *call["arguments"]]
        exec(call["program"], {"__name__": "__main__"})
        return 0
    return merrow_server.cli.main(call["arguments"])

for line in sys.stdin.buffer:
    call = json.loads(line)
    reader = terminal = None
    if call["stdout"] is None:
        reader, terminal = os.openpty()
        mode = termios.tcgetattr(terminal)
        mode[1] &= ~termios.OPOST  # else the terminal itself adds returns
        mode[3] &= ~termios.ECHO  # and shows what is typed
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
    child = os.fork()
    if child == 0:
        if reader is not None:
            os.close(reader)
        code = 1
        signal.alarm(3600)
        try:
            code = perform(call, terminal)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for thread in __import__("threading").enumerate()[1:]:
                thread.join(10)
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
    shown = b""
    if reader is not None:
        os.close(terminal)
        os.write(reader, call["typed"].encode())
        while True:
            try:
                piece = os.read(reader, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(reader)
    _, status = os.waitpid(child, 0)
    answer = {"code": os.waitstatus_to_exitcode(status), "shown": base64.b64encode(shown).decode()}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


class Forks:
    """A process that has the program loaded, and forks for each call; one call at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._process.wait()

    def call(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        *,
        folder: str,
        stdin: str,
        stdout: str | None = None,
        stderr: str | None = None,
        typed: str = "",
        program: str | None = None,
    ) -> tuple[int, bytes]:
        """The exit code of a call and what it showed on a terminal, which it has where ``stdout`` is None. ``stdin``, ``stdout``
        and ``stderr`` are paths of files that exist; what is ``typed`` comes from the terminal in place of ``stdin``.
        ``program`` is Python text to run in place of the program.
        """
        call: dict[str, Any] = {
            "arguments": arguments,
            "environment": dict(environment),
            "folder": folder,
            "stdin": stdin,
            "stdout": stdout,
            "stderr": stderr,
            "typed": typed,
            "program": program,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(call).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["code"], base64.b64decode(answer["shown"])

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()


_idle: list[Forks] = []


def forked(arguments: tuple[str, ...], stdin: bytes, environment: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error of one call in the current folder. Calls of several threads go on at once."""
    forks = _idle.pop() if _idle else Forks()
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = streams = [Path(folder, name) for name in ("stdin", "stdout", "stderr")]
        for stream in streams:
            stream.write_bytes(stdin if stream is given else b"")
        code, _ = forks.call(
            arguments, environment, folder=str(Path.cwd()), stdin=str(given), stdout=str(out), stderr=str(err)
        )
        _idle.append(forks)
        return code, out.read_bytes(), err.read_bytes()
