"""Episodes whose process is killed at any moment, and that go on as if nothing had been.

.venv/bin/python -m tests.environments.kills 50
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from random import Random

from tests.environments.play import REACT, player, solution
from tests.patience import PATIENCE
from tests.runtime.openai_server import Received, Reply, serving

from merrow_runtime.store.database import Store

TASK = {"seed": 10, "depth": 3}


def acts(run: str) -> list[tuple[str, str, str]]:
    """What was done in the episode of a run: the step, the command, what was seen."""
    with closing(Store.open()) as store:
        calls = [call for call in store.calls(run) if call.kind == "act" and call.key.node == "GAME"]
    commands = [str(call.request.get("action", "")).rpartition("\n")[2] for call in calls]
    return [(call.key.step, command, call.result["observation"]) for call, command in zip(calls, commands, strict=True)]


def tried(folder: Path, seed: int, kills: int) -> int:
    """Play an episode, killing its process up to ``kills`` times; how often it was killed within the episode. What was done and
    seen is what it would have been without that, and no question was put to the model twice but the one that was cut off.
    """
    random, play = Random(seed), player(TASK)
    (folder / "game.mmd").write_text(REACT)
    asked: list[str] = []

    def answer(request: Received) -> Reply:
        reply = play(request)
        asked.append(str(reply.text))
        time.sleep(0.02)
        return reply

    within = done = 0
    with serving(answer) as model:
        arguments = ["run", "game.mmd", "--input", f"problem={json.dumps(TASK)}", "--base-url", model.base_url]
        while True:
            process = subprocess.Popen(
                [sys.executable, "-m", "merrow_server", *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            if done < kills:
                before = len(asked)
                # From the first question on: what comes before is the start of Python.
                end = time.monotonic() + PATIENCE
                while process.poll() is None and len(asked) == before and time.monotonic() < end:
                    time.sleep(0.002)
                time.sleep(random.uniform(0, 0.06))
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    done += 1
            _, errors = process.communicate(timeout=PATIENCE * 3)
            with closing(Store.open()) as store:
                run = store.runs(1)[0].id
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, errors.decode()
            within += 0 < len(acts(run)) <= len(solution(TASK))
            arguments = ["resume", run, "--base-url", model.base_url]
    kept = acts(run)
    commands = solution(TASK)
    assert [step for step, _, _ in kept] == [f"act {number}" for number in range(len(commands) + 1)]
    assert [command for _, command, _ in kept[1:]] == [f"> {command}" for command in commands]
    assert kept[-1][2].startswith("Crafted 1 ")
    assert len(asked) <= len(commands) + done
    return within


def main(count: int) -> None:
    killed = seed = 0
    while killed < count:
        with tempfile.TemporaryDirectory() as place:
            os.environ["MERROW_STATE_DIR"] = f"{place}/state"
            os.environ["MERROW_CONFIG_DIR"] = f"{place}/config"
            killed += tried(Path(place), seed, 5)
        seed += 1
        print(f"{seed} episodes, {killed} kills within them", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
