"""``python -m benchmarks.evaluate_peers``: the evaluator beside others on one loopback endpoint, one call an item, 50 at a time.

Each program runs as a person starts it, in an environment of its own, with its results kept on disk, once for 1 item and once
for all: the difference is what items take, the first is its start. Peers that are not installed are left out, and that is said:

    python -m venv benchmarks/peers/.venv-inspect && benchmarks/peers/.venv-inspect/bin/pip install inspect-ai openai
    python -m venv benchmarks/peers/.venv-dspy && benchmarks/peers/.venv-dspy/bin/pip install dspy
    npm install --prefix benchmarks/peers/promptfoo promptfoo
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / "peers"
FLOW = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "Answer."}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""
CONCURRENCY = 50


@dataclass(frozen=True)
class Run:
    """What a process took: seconds by the clock, of CPU with its children, and MB of memory at most."""

    wall: float
    cpu: float
    memory: float


Command = Callable[[str, Path, Path], Sequence[str]]
"""What starts a program: for the address of the endpoint, the file of items, and a folder of its own."""


def merrow(address: str, items: Path, folder: Path) -> list[str]:
    (folder / "flow.mmd").write_text(FLOW, encoding="utf-8")
    own = ["--dataset", str(items), "--gold", "answer", "--metric", "contains", "--base-url", address]
    more = ["--concurrency", str(CONCURRENCY), "--fresh", "--format", "json", "--part", "all"]
    return [sys.executable, "-m", "merrow_server", "evaluate", str(folder / "flow.mmd"), *own, *more]


def of_python(environment: str, program: str) -> Command:
    return lambda address, items, folder: [
        str(PEERS / environment / "bin/python"),
        str(PEERS / program),
        address,
        str(items),
        str(folder),
    ]


def promptfoo(address: str, items: Path, folder: Path) -> list[str]:
    records = [json.loads(line) for line in items.read_text(encoding="utf-8").splitlines()]
    config = {
        "prompts": ["{{problem}}"],
        "providers": [{"id": "openai:chat:loopback", "config": {"apiBaseUrl": address, "apiKey": "none"}}],
        "tests": [
            {"vars": {"problem": one["problem"]}, "assert": [{"type": "contains", "value": one["answer"]}]}
            for one in records
        ],
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    program = str(PEERS / "promptfoo/node_modules/.bin/promptfoo")
    options = ["-j", str(CONCURRENCY), "--no-cache", "--no-progress-bar", "--no-table", "-o", str(folder / "out.json")]
    return [program, "eval", "-c", str(folder / "config.json"), *options]


PROGRAMS: dict[str, tuple[Path | None, Command]] = {
    "Merrow": (None, merrow),
    "inspect-ai": (PEERS / ".venv-inspect/bin/python", of_python(".venv-inspect", "inspect_peer.py")),
    "DSPy Evaluate": (PEERS / ".venv-dspy/bin/python", of_python(".venv-dspy", "dspy_peer.py")),
    "promptfoo": (PEERS / "promptfoo/node_modules/.bin/promptfoo", promptfoo),
}


@contextmanager
def answering(seconds: float) -> Iterator[str]:
    """An endpoint that answers after so many seconds."""
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.runtime_server", str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None  # noqa: S101
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.terminate()
        server.wait()


def measured(command: Command, address: str, count: int) -> Run:
    """One evaluation of ``count`` items, in a folder that is deleted behind it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        items = folder / "own.jsonl"
        rows = [{"id": f"q{n}", "problem": f"What is {n} plus {n}?", "answer": "answer"} for n in range(count)]
        items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": name}
        own = {
            "MERROW_STATE_DIR": name,
            "MERROW_CONFIG_DIR": name,
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        # Packages of peers are compiled when they are installed, a checkout when it first runs.
        compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        arguments = list(command(address, items, folder))
        with (folder / "said").open("wb") as said:
            started = time.perf_counter()
            process = subprocess.Popen(
                arguments, stdout=said, stderr=subprocess.STDOUT, env={**compiled, **quiet, **own}, cwd=folder
            )
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 100):  # 100: promptfoo, where an item is wrong
            raise SystemExit(f"{arguments[0]}: {(folder / 'said').read_text(errors='replace')[-2000:]}")
        return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delays", type=int, nargs="*", default=[0, 20, 200], help="milliseconds of the endpoint")
    given = parser.parse_args()
    there = {name: command for name, (needed, command) in PROGRAMS.items() if needed is None or needed.exists()}
    for name in PROGRAMS.keys() - there.keys():
        print(f"{name} is not installed and left out.", file=sys.stderr)
    print("| endpoint | program | items/s | of the ideal | Merrow is | CPU an item | memory | start |")
    print("|---|---|---|---|---|---|---|---|")
    for delay in given.delays:
        runs: dict[str, list[tuple[Run, Run]]] = {name: [] for name in there}
        with answering(delay / 1000) as address:
            for _ in range(given.rounds):
                for name, command in there.items():
                    runs[name].append((measured(command, address, 1), measured(command, address, given.items)))
        table(delay, given.items, runs)


def table(delay: int, items: int, runs: dict[str, list[tuple[Run, Run]]]) -> None:
    """Print a line for each program: medians over the rounds."""
    speed = {
        name: statistics.median((items - 1) / max(1e-9, whole.wall - one.wall) for one, whole in several)
        for name, several in runs.items()
    }
    for name, several in runs.items():
        cpu = statistics.median((whole.cpu - one.cpu) / (items - 1) for one, whole in several)
        memory = max(whole.memory for _, whole in several)
        start = statistics.median(one.wall for one, _ in several)
        ideal = f"{speed[name] * delay / 1000 / CONCURRENCY:.0%}" if delay else ""
        ratio = "" if name == "Merrow" else f"{speed['Merrow'] / speed[name]:.1f} times as fast"
        print(
            f"| {delay} ms | {name} | {speed[name]:,.0f} | {ideal} | {ratio} | {cpu * 1000:.2f} ms | {memory:,.0f} MB"
            f" | {start:.1f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
