"""Runs that call tools, in nodes or as an agent's model asks for it, killed at any moment, and judged by what the server did.

.venv/bin/python -m tests.tools.kills 100
.venv/bin/python -m tests.tools.kills 100 agent
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

from tests.patience import PATIENCE
from tests.runtime.openai_server import Received, Reply, Step, serving
from tests.tools.agents import calls, mail, write
from tests.tools.mails import ROW, Workspace

from merrow_runtime.people.answering import answer, open_questions
from merrow_runtime.store.database import Store

MAILS = ["slow 1", "slow 2", "slow 3"]


def _begun(*arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "merrow_server", *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def _servers(log: Path) -> list[int]:
    """The processes of the server that are there."""
    processes = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(log) in words:
            processes.append(int(place.parent.name))
    return processes


def _gone(log: Path) -> bool:
    """Whether all servers end by themselves."""
    end = time.monotonic() + PATIENCE
    while _servers(log):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def answered(request: Received) -> Step:
    """What the model of an agent says: it sends the mails one after another."""
    sent = sum(1 for message in request.body["messages"] if message["role"] == "tool")
    if sent == len(MAILS):
        return Reply("They are sent.")
    # The endpoint takes some time, too, so that the process is killed while it waits for that.
    return calls(mail(MAILS[sent]), text=None, delay=0.05)


def tried(folder: Path, seed: int, most: int = 4, *, agent: bool = False) -> int:
    """Run the workflow `ROW`, or an ``agent`` that sends the same mails, kill it up to ``most`` times after some time of work,
    and bring it to its end each time; how often a call was cut off. A mail that was begun is sent once, and never again; nothing
    is left behind, and nothing that was answered is asked again.
    """
    space = Workspace(folder, folder / "config")
    (folder / "merrow.toml").touch()
    arguments = ["run", "flow.mmd", "--input", "PROBLEM=ann"]
    if not agent:
        space.write(ROW)
        return _tried(space, arguments, Random(seed), most)
    write(space, "mail.send")
    if seed % 2:
        space.settings()  # A person allows each mail.
    with serving(answered) as server:
        cut_off = _tried(space, [*arguments, "--base-url", server.base_url, "--model", "m"], Random(seed), most)
        asked = Counter(json.dumps(body["messages"]) for body in server.bodies)
    # A process that is killed may lose the one answer that is on its way, and no other.
    assert sum(asked.values()) <= len(MAILS) + 1 + most, asked
    return cut_off


def _tried(space: Workspace, arguments: list[str], random: Random, most: int) -> int:
    folder = space.folder
    cut_off = kills = 0
    while True:
        process = _begun(*arguments, folder=folder)
        before = len(space.mails)
        if kills < most:
            # From the first sign of work on: what comes before is the start of Python.
            end = time.monotonic() + PATIENCE
            while process.poll() is None and not _servers(space.log) and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(random.uniform(0, 1.2))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
        _, errors = process.communicate(timeout=PATIENCE * 3)
        assert _gone(space.log), "a server is left"
        with closing(Store.open()) as store:
            runs = store.runs(1)
            if not runs:
                assert before == 0
                continue
            run = runs[0].id
            if process.returncode == 0:
                break
            assert process.returncode in (3, -signal.SIGKILL), (process.returncode, errors.decode())
            for ask in open_questions(store, run):
                if ask.key.step.endswith("permission"):
                    answer(store, run, ask.visit.name, {"answer": "once"})
                    continue
                cut_off += 1
                shown = " ".join(part["text"] for part in ask.question["shown"])
                (number,) = (body for body in MAILS if body in shown)
                was_sent = any(mail["body"] == number for mail in space.mails)
                answer(store, run, ask.visit.name, {"answer": "done" if was_sent else "not done", "note": "ann"})
        arguments = ["resume", run]
    assert [mail["body"] for mail in space.mails] == MAILS
    return cut_off


def main(count: int, kind: str = "row") -> None:
    cut_off = 0
    for seed in range(count):
        with tempfile.TemporaryDirectory() as place:
            os.environ["MERROW_STATE_DIR"] = f"{place}/state"
            os.environ["MERROW_CONFIG_DIR"] = f"{place}/config"
            cut_off += tried(Path(place), seed, agent=kind == "agent")
        print(f"{seed + 1} workflows, {cut_off} calls cut off", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
