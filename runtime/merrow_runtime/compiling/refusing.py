"""What a program can't hold, said when it is compiled, and what it leaves out, said in its docstring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from merrow_analysis.definitions.schema import CALL_KEYS, INTERFACE_KEYS, MERMAID_NODE_KEYS
from merrow_analysis.definitions.types import WORKFLOW
from merrow_analysis.definitions.validator_schema import VALIDATION_KEYS
from merrow_analysis.definitions.validators import Check
from merrow_analysis.graph.boxes.composites import loop_settings
from merrow_runtime.errors import UsageFailure
from merrow_runtime.program.validating import resolve_validation
from merrow_runtime.workflow import Workflow

_HELD = frozenset(
    {
        *CALL_KEYS, "agents", "aims", "budget", "inputs", "libraries", "operators", "outputs", "prompts", "types", "validators",
        "version",
    }
)  # fmt: skip
"""The keys of a file's header of which a program holds all that they say."""
_HELD_AT_NODES = frozenset(
    {
        *CALL_KEYS, *INTERFACE_KEYS, *MERMAID_NODE_KEYS, *VALIDATION_KEYS, "agent",
        "aims", "ask", "default", "depth", "format", "if", "locked", "memory",
        "op", "prompt", "returns", "role", "samples", "template", "type", "workflow",
    }
)  # fmt: skip


_REVISED = frozenset({"redo", "refine"})
"""The keys that only a program holds which an installed Merrow carries out."""
_OR_RUNTIME = ", or --runtime"
_RUN_CODE = frozenset({"Programmer", "Test"})
CHECKS_WITH_CODE = frozenset({"regex", "python", "tests"})
"""Kinds of checks that are made in the sandbox."""


def check_compiled(workflow: Workflow, *, runtime: bool) -> None:
    """Raise `UsageFailure` that names each thing that a program can't hold; ``runtime`` says that Merrow carries it out."""
    reasons = list(dict.fromkeys(_reasons(workflow, runtime)))
    if reasons:
        raise UsageFailure(f"{workflow.name} can't be compiled. {' '.join(reasons)}")


def _reasons(workflow: Workflow, runtime: bool) -> Iterator[str]:
    held = _HELD | _REVISED if runtime else _HELD
    for one in workflow.reached():
        settings, graph = one.analysis.settings, one.graph
        for key in _header(one):
            if str(key) not in held and str(key) not in settings.machine_keys:
                yield f"A program can't hold `{key}:`, which only the runtime carries out: use merrow run{_OR_RUNTIME}."
        if runtime and settings.refine is not None and settings.refine.ask:
            yield "`refine: {ask: true}` asks a person, which a program can't: use merrow run."
        loops = [loop_settings(box).budget for box in graph.composites if box.kind == "loop"]
        limits = [settings.budget, *(limit for limit in loops if limit is not None)]
        if not runtime and any(limit.usd is not None for limit in limits):
            yield "`budget: usd` needs prices, which a program does not have: limit `tokens` or `seconds`, or use --runtime."
        if not runtime and any(name == WORKFLOW for node in graph.nodes for name in node.own_outputs.values()):
            yield f"A value of type Workflow is checked by Merrow itself: use merrow run{_OR_RUNTIME}."
        for node in graph.nodes:
            spec = node.spec
            if not runtime and spec is not None and spec.is_planned_call:
                yield f"Node {node.id} runs a workflow that is planned while it runs: use merrow run{_OR_RUNTIME}."
            own = frozenset() if spec is None else spec.parameters | {spec.instruction_key or "role"}
            ports = frozenset() if spec is None else frozenset(spec.ports)
            for key in node.resolution.parameters:
                if key not in _HELD_AT_NODES | own | ports and node.kind != "decision":
                    yield f"A program can't hold `{key}:` of node {node.id}: use merrow run."


def _header(workflow: Workflow) -> Mapping[str, object]:
    """The keys of the header of a file that say what it does."""
    said = workflow.analysis.settings.document.values.get("workflow")
    return said if isinstance(said, dict) else {}


def needs_runtime(workflow: Workflow) -> bool:
    """Whether only the runtime itself carries it out: it changes, or is planned, while it runs."""
    return any(
        any(key in _REVISED for key in _header(one))
        or any(node.spec is not None and node.spec.is_planned_call for node in one.graph.nodes)
        or any(name == WORKFLOW for node in one.graph.nodes for name in node.own_outputs.values())
        for one in workflow.reached()
    )


def runs_code(workflow: Workflow) -> bool:
    """Whether a run may need the sandbox: for what models write, or for checks of validators."""
    for one in workflow.reached():
        if any(node.spec is not None and node.spec.name in _RUN_CODE for node in one.graph.nodes):
            return True
        if any(check.kind in CHECKS_WITH_CODE for check in checks_of(one)):
            return True
    return False


def checks_of(workflow: Workflow) -> list[Check]:
    """The checks of all validators that nodes of one file name."""
    found = (resolve_validation(node, workflow.analysis.settings) for node in workflow.graph.nodes)
    return [check for one in found if one is not None for _, check in one.checks]


def left_out(workflow: Workflow, *, runtime: bool) -> list[str]:
    """What is not in the program, as lines of its docstring."""
    said = [
        "Not in the program: the journal and resuming a run, the cache of answers, costs in US dollars, what Merrow has",
        "learned about endpoints. Everything else is as with `merrow run`, and so are --record and --replay.",
    ]
    if runtime:
        said[0] = "Not in the program: the journal and resuming a run, the cache of answers, what Merrow has"
    if runs_code(workflow):
        said.append(
            "Code that models write, or validators, runs in a sandbox, or the run ends; --allow-unsafe-code runs it without one."
        )
    return said
