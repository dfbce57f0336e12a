"""What validation costs beside the sandbox and the model: runs of many results with and without validators.

    .venv/bin/python -m benchmarks.validation [RESULTS]

A fan of Customs is answered by an endpoint in this process that takes no time. The difference to the same run without
`validate` is what validating costs, per result. Checks that run in the sandbox are measured with a sandbox that answers at
once: its own time is the sandbox's.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from typing import Any

import merrow_runtime
from merrow_runtime import RunOptions, check_workflow
from merrow_runtime.calls.effects import Effects
from merrow_runtime.models.endpoint import OnText
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.sandbox import Limits, SandboxJob, SandboxResult
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.usage import Usage

ROUNDS = 7
CHECKS: dict[str, Any] = {
    "if": {"if": "len(output) < 200 and 'km' in output"},
    "schema": {"schema": {"type": "object", "properties": {"km": {"type": "number"}}, "required": ["km"]}},
    "regex and python": [{"regex": "km"}, {"python": "def check(output, inputs):\n    return True"}],
    "if, refused twice": {"if": "'third' in output"},
}
ANSWER = '{"km": 12}'


class Endpoint:
    """Answers at once; its third attempt says so."""

    origin = "http://bench.test"

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        del on_text
        attempt = sum(one.role == "assistant" for one in request.messages)
        return ModelReply(ANSWER if attempt < 2 else "third", usage=Usage(10, 10, 1, 0.0))

    async def close(self) -> None:
        pass


class Instant:
    """A sandbox that answers at once, as where all checks pass."""

    limits = Limits()

    def request_of(self, job: SandboxJob) -> dict[str, Any]:
        return {"code": job.code, "arguments": list(job.arguments), "timeout_s": job.timeout_s}

    async def run(self, job: SandboxJob) -> SandboxResult:
        del job
        return SandboxResult("ok", '{"failed": [], "passed": 2}')


def _text(results: int, checks: Any) -> str:
    keys = "" if checks is None else ", validate: v"
    front = json.dumps({"model": "m", **({} if checks is None else {"validators": {"v": checks}})})
    lines = [f'    N{n}@{{ op: Custom, prompt: "Say {n}."{keys} }}' for n in range(results)]
    edges = [f"    PROBLEM --> N{n} --> J" for n in range(results)]
    ends = ["    J@{ op: Assemble, how: concat }", "    PROBLEM([P]):::Interface", "    RETURN([R]):::Interface"]
    return "\n".join(
        ["---", f"workflow: {front}", "---", "flowchart TD", *ends, *lines, *edges, "    J --> RETURN", ""]
    )


async def _seconds(results: int, checks: Any) -> float:
    flow = check_workflow(_text(results, checks))
    options = RunOptions(stream=False)
    began = time.process_time()
    result = await merrow_runtime.run(flow, {"problem": "x"}, endpoint=Endpoint(), store=MemoryStore(), options=options)
    if result.status != "finished":
        raise RuntimeError(result.error)
    return time.process_time() - began


async def measure(results: int) -> dict[str, float]:
    """Milliseconds of processor time a result, beside what the run takes without validators; by check."""
    Effects.sandbox = Instant()  # type: ignore[assignment,method-assign]
    rounds: dict[str, list[float]] = {name: [] for name in ("none", *CHECKS)}
    for _ in range(ROUNDS + 1):
        for name in rounds:
            rounds[name].append(await _seconds(results, CHECKS.get(name)))
    best = {name: statistics.median(times[1:]) for name, times in rounds.items()}
    return {name: 1000 * (seconds - best["none"]) / results for name, seconds in best.items() if name != "none"} | {
        "a result without a validator": 1000 * best["none"] / results
    }


def main() -> None:
    """Print the figures as a table."""
    results = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    figures = asyncio.run(measure(results))
    sys.stdout.write("| checks | ms a result |\n|---|---:|\n")
    for name, milliseconds in figures.items():
        sys.stdout.write(f"| {name} | {milliseconds:.2f} |\n")


if __name__ == "__main__":
    main()
