"""Make the recordings of the examples' cases from answers that were written by hand.

Each file of examples/replays/cases says what is answered in each case of the cases file of its name. The cases are really
recorded by ``merrow test --record``, against a server on loopback that gives these answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.make_replays import ANSWERS, EXAMPLES, NOTE, Answer, Script  # noqa: E402
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step  # noqa: E402

CASES = EXAMPLES / "replays" / "cases"
_IMPOSSIBLE = 418


def recordings() -> list[str]:
    """The names of the workflows whose cases have written answers."""
    return sorted(path.stem for path in CASES.glob("*.yaml"))


def answers_of(name: str) -> dict[str, list[Answer]]:
    """What is answered in each case of the workflow."""
    said: dict[str, Any] = yaml.safe_load((CASES / f"{name}.yaml").read_text("utf-8"))
    return {
        case: list(Script.read(ANSWERS / f"{one}.yaml").answers)
        if isinstance(one, str)
        else [Answer(**answer) for answer in one]
        for case, one in said.items()
    }


def _answering(answers: list[Answer]) -> Callable[[Received], Step]:
    left = list(answers)

    def answer(request: Received) -> Step:
        fitting = next((one for one in left if one.when in request.prompt), None)
        if fitting is None:
            return Status(_IMPOSSIBLE, f"No answer fits this prompt: {request.prompt}")
        left.remove(fitting)
        return Reply(fitting.says.rstrip("\n"), usage=False)

    return answer


async def record(name: str, folder: Path) -> str:
    """The recording of the cases of a workflow, made in ``folder``. Raises `ValueError` where the answers don't fit."""
    for path in (*EXAMPLES.glob(f"{name}.*"), *EXAMPLES.glob("inputs/*")):
        target = folder / path.relative_to(EXAMPLES)
        target.parent.mkdir(exist_ok=True, parents=True)
        if not path.name.endswith(".replay.jsonl"):
            target.write_bytes(path.read_bytes())
    environment = {**os.environ, "MERROW_STATE_DIR": str(folder / "state"), "OPENAI_API_KEY": "none"}
    for case, answers in answers_of(name).items():
        async with OpenAIServer(_answering(answers)) as server:
            process = await asyncio.create_subprocess_exec(
                *(
                    sys.executable,
                    "-m",
                    "merrow_server",
                    "test",
                    f"{name}.mmd::{case}",
                    "--record",
                    "--concurrency",
                    "1",
                ),
                cwd=folder,
                env={**environment, "OPENAI_BASE_URL": server.base_url},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            printed, _ = await process.communicate()
        if process.returncode != 0:
            raise ValueError(f"{name}::{case}: {printed.decode()}")
    return labelled((folder / f"{name}.replay.jsonl").read_text("utf-8"))


def labelled(recorded: str) -> str:
    """The recording as it is kept: labelled, without the times of the run that made it."""
    header, *lines = (json.loads(line) for line in recorded.splitlines())
    header |= {"written_by_hand": True, "note": NOTE}
    for line in lines:
        if line.get("kind") == "model":
            line["result"]["seconds"] = 0.0
        elif "kind" in line:
            line["result"] = {key: 0.0 if key == "seconds" else value for key, value in line["result"].items()}
    return "".join(json.dumps(line) + "\n" for line in [header, *lines])


def main() -> int:
    """Make all of them; 1 where the answers don't fit a workflow any more."""
    for name in recordings():
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = asyncio.run(record(name, Path(folder)))
            except ValueError as problem:
                sys.stderr.write(f"{problem}\n")
                return 1
        (EXAMPLES / f"{name}.replay.jsonl").write_text(text, "utf-8", newline="\n")
        sys.stdout.write(f"examples/{name}.replay.jsonl: {len(text.splitlines()) - 1} lines\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
