"""Starts many language servers in little time: each is a fork of one process that has the server's modules loaded.

A server has a process, an environment and a connection of its own, as one from nothing has; only what it imports is there
already. Tests of signals and of the process itself start one from nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_DRIVER = """
import gc, importlib, json, os, pkgutil, signal, socket, sys, time

from merrow_analysis.check import analyse
import merrow_server.cli.set_up.serve, merrow_server.language_server, merrow_server.features, merrow_server.jobs
import merrow_optimizer.evaluation.sessions, merrow_optimizer.planning
import merrow_runtime.running.api, merrow_runtime.store.database, merrow_runtime.models.openai_endpoint, openai, aiohttp
import merrow_optimizer.repair.remedies, merrow_optimizer.repair.search

for module in (merrow_optimizer.repair.remedies, merrow_optimizer.repair.search):
    module.monotonic = lambda: 0.0  # a search ends by what it reads, however busy the machine is

for package in (merrow_server.features, merrow_server.jobs):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)

analyse("---\\nworkflow: {model: m}\\n---\\nflowchart TD\\n    A@{op: Custom}\\n")  # imports every rule
gc.collect()
gc.freeze()  # else a collection in a server writes to all that it shares with this process
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a server: it ends its connection when it ends
for line in sys.stdin.buffer:
    call = json.loads(line)
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        code = 1
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection, _ = listener.accept()
            os.dup2(connection.fileno(), 0)
            os.dup2(connection.fileno(), 1)
            connection.close()
            listener.close()
            sys.stdin, sys.stdout = open(0, "r", encoding="utf-8"), open(1, "w", encoding="utf-8")
            os.chdir(call["folder"])
            os.environ.clear()
            os.environ.update(call["environment"])
            if "coverage" in sys.modules:  # scripts/ran_by.py: what runs here counts as the test's that asked for it
                sys.modules["coverage"].Coverage.current().switch_context(os.environ["PYTEST_CURRENT_TEST"])
            time.tzset()
            code = merrow_server.cli.main(["serve", *call["arguments"]])
        finally:
            os._exit(code)
    sys.stdout.write(f"{listener.getsockname()[1]}\\n")
    sys.stdout.flush()
    listener.close()
"""


@cache
def _driver() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-P", "-c", _DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def forked_server(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """The port on which a new server waits for its one client. It is in the folder of the test."""
    driver = _driver()
    assert driver.stdin is not None
    assert driver.stdout is not None
    call = {"arguments": arguments, "environment": dict(environment), "folder": str(Path.cwd())}
    driver.stdin.write(json.dumps(call).encode() + b"\n")
    driver.stdin.flush()
    return int(driver.stdout.readline())
