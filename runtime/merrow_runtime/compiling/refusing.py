"""What a program can't hold, said when it is compiled, and what it leaves out, said in its docstring."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.schema import CALL_KEYS, INTERFACE_KEYS, MERMAID_NODE_KEYS
from merrow_analysis.definitions.types import WORKFLOW
from merrow_analysis.graph.boxes.composites import loop_settings
from merrow_runtime.errors import UsageFailure
from merrow_runtime.workflow import Workflow

_HELD = frozenset(
    {
        *CALL_KEYS, "agents", "aims", "budget", "inputs", "libraries", "operators", "outputs", "prompts", "types", "version",
    }
)  # fmt: skip
"""The keys of a file's header of which a program holds all that they say."""
_HELD_AT_NODES = frozenset(
    {
        *CALL_KEYS, *INTERFACE_KEYS, *MERMAID_NODE_KEYS, "agent", "aims", "ask", "default", "depth", "format", "if", "memory",
        "op", "prompt", "returns", "role", "samples", "template", "type", "workflow",
    }
)  # fmt: skip


def check_compiled(workflow: Workflow, *, runtime: bool) -> None:
    """Raise `UsageFailure` that names each thing that a program can't hold; ``runtime`` says that Merrow carries it out."""
    reasons = list(dict.fromkeys(_reasons(workflow, runtime)))
    if reasons:
        raise UsageFailure(f"{workflow.name} can't be compiled. {' '.join(reasons)}")


def _reasons(workflow: Workflow, runtime: bool) -> Iterator[str]:
    for one in workflow.reached():
        settings, graph = one.analysis.settings, one.graph
        block = settings.document.values.get("workflow")
        for key in block if isinstance(block, dict) else ():
            if str(key) not in _HELD and str(key) not in settings.machine_keys:
                yield f"A program can't hold `{key}:`, which only the runtime carries out: use merrow run."
        loops = [loop_settings(box).budget for box in graph.composites if box.kind == "loop"]
        limits = [settings.budget, *(limit for limit in loops if limit is not None)]
        if not runtime and any(limit.usd is not None for limit in limits):
            yield "`budget: usd` needs prices, which a program does not have: limit `tokens` or `seconds`, or use --runtime."
        if any(name == WORKFLOW for node in graph.nodes for name in node.own_outputs.values()):
            yield "A value of type Workflow is checked by Merrow itself: use merrow run."
        for node in graph.nodes:
            spec = node.spec
            if spec is not None and spec.is_planned_call:
                yield f"Node {node.id} runs a workflow that is planned while it runs: use merrow run."
                continue
            own = frozenset() if spec is None else spec.parameters | {spec.instruction_key or "role"}
            ports = frozenset() if spec is None else frozenset(spec.ports)
            for key in node.resolution.parameters:
                if key not in _HELD_AT_NODES | own | ports and node.kind != "decision":
                    yield f"A program can't hold `{key}:` of node {node.id}: use merrow run."


def left_out(workflow: Workflow, *, runtime: bool) -> list[str]:
    """What is not in the program, as lines of its docstring."""
    said = [
        "Not in the program: the journal and resuming a run, the cache of answers, costs in US dollars, what Merrow has",
        "learned about endpoints. Everything else is as with `merrow run`, and so are --record and --replay.",
    ]
    if runtime:
        said[0] = "Not in the program: the journal and resuming a run, the cache of answers, what Merrow has"
    runs_code = {"Programmer", "Test"} & {
        node.spec.name for one in workflow.reached() for node in one.graph.nodes if node.spec is not None
    }
    if runs_code:
        said.append(
            "Code that models write runs in a sandbox, or the run ends; --allow-unsafe-code runs it without one."
        )
    return said
