"""What a program can't hold, said when it is compiled, and what it leaves out, said in its docstring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from merrow_analysis.definitions.schema import CALL_KEYS, INTERFACE_KEYS, MERMAID_NODE_KEYS
from merrow_analysis.definitions.stores import DOCUMENT
from merrow_analysis.definitions.validator_schema import VALIDATION_KEYS
from merrow_analysis.definitions.validators import ValidatorCheck
from merrow_analysis.tools.pins import LOCAL, PinnedTool
from merrow_runtime.errors import UsageFailure
from merrow_runtime.program.validating import resolve_validation
from merrow_runtime.workflow import Workflow

_HELD = frozenset(
    {
        *CALL_KEYS, "agents", "aims", "budget", "drawn", "inputs", "libraries", "operators", "outputs", "prompts", "redo",
        "environments", "refine", "stores", "tools", "types", "validators", "version",
    }
)  # fmt: skip
"""The keys of a file's header of which a program holds all that they say."""
_HELD_AT_NODES = frozenset(
    {
        *CALL_KEYS, *INTERFACE_KEYS, *MERMAID_NODE_KEYS, *VALIDATION_KEYS, "agent",
        "aims", "ask", "default", "depth", "format", "if", "locked", "memory",
        "op", "prompt", "returns", "role", "samples", "template", "turns", "type", "workflow",
    }
)  # fmt: skip
_RUN_CODE = frozenset({"Programmer", "Test"})
CHECKS_WITH_CODE = frozenset({"regex", "python", "tests"})
"""Kinds of checks that are made in the sandbox."""


def check_compiled(workflow: Workflow) -> None:
    """Raise `UsageFailure` that names each thing that a program can't hold."""
    reasons = list(dict.fromkeys(_reasons(workflow)))
    if reasons:
        raise UsageFailure(f"{workflow.name} can't be compiled. {' '.join(reasons)}")


def _reasons(workflow: Workflow) -> Iterator[str]:
    yield from _tools_apart(workflow)
    yield from _stores_apart(workflow)
    yield from _recipes_apart(workflow)
    for reached in workflow.reached():
        settings = reached.analysis.settings
        for key in _header(reached):
            if str(key) not in _HELD and str(key) not in settings.machine_keys:
                yield f"A program can't hold `{key}:`: use merrow run."
        if settings.refine is not None and settings.refine.ask:
            yield "`refine: {ask: true}` asks a person, which a program can't: use merrow run."
        for node in reached.graph.nodes:
            spec = node.spec
            own = frozenset() if spec is None else spec.parameters | {spec.instruction_key or "role"}
            ports = frozenset() if spec is None else frozenset(spec.ports)
            for key in node.resolution.parameters:
                if key not in _HELD_AT_NODES | own | ports and node.kind != "decision":
                    yield f"A program can't hold `{key}:` of node {node.id}: use merrow run."


def _tools_apart(workflow: Workflow) -> Iterator[str]:
    """Of a called file in another folder: its tools may be others by the same names, and a program is in one folder."""
    known: dict[str, PinnedTool] = {}
    for reached in workflow.reached():
        for name, pin in pins_of_file(reached).items():
            if pin is None:
                continue
            elsewhere = "/" in reached.place
            if (elsewhere and pin.server == LOCAL) or known.setdefault(name, pin).same != pin.same:
                yield (
                    f"A program can't hold the tool {name} of {reached.place}, which is not that of {workflow.name}: use merrow"
                    " run."
                )


def _stores_apart(workflow: Workflow) -> Iterator[str]:
    """Of a called file in another folder, from which the paths of its stores start."""
    for reached in workflow.reached():
        files = [store.name for store in reached.analysis.settings.stores.values() if not store.is_kept]
        if files and "/" in reached.place:
            yield (
                f"A program can't hold the store {files[0]} of {reached.place}, whose documents are not beside"
                f" {workflow.name}: use merrow run."
            )


def _recipes_apart(workflow: Workflow) -> Iterator[str]:
    """Of environments: recipes in a folder beside the workflow, which need not be beside a program."""
    for reached in workflow.reached():
        for environment in reached.analysis.settings.environments.values():
            if environment.recipes is not None and not PurePath(environment.recipes).is_absolute():
                yield (
                    f"A program can't hold the environment {environment.name}, whose `recipes` have no absolute path: give one,"
                    " or use merrow run."
                )


def pins_of_file(workflow: Workflow) -> dict[str, PinnedTool | None]:
    """The tools that a file names in its header, with their pins; None for one that is not pinned, which nothing uses then."""
    outside = workflow.graph.core.language.outside
    names = workflow.analysis.settings.tools
    return {name: None if outside is None else outside.tools.find(name).pin for name in names}


def types_not_declared(workflow: Workflow) -> frozenset[str]:
    """The types that a file has from its tools and its stores alone."""
    outside, settings = workflow.graph.core.language.outside, workflow.analysis.settings
    signatures = [] if outside is None else [outside.tools.find(name).signature for name in settings.tools]
    named = {name for one in signatures if one is not None for name in (*one.words, *one.records)}
    named |= {DOCUMENT} if settings.stores else set()
    return frozenset(named - {str(name) for name in settings.types})


def _header(workflow: Workflow) -> Mapping[str, object]:
    """The keys of the header of a file that say what it does."""
    front = workflow.analysis.settings.document.values.get("workflow")
    return front if isinstance(front, dict) else {}


def runs_code(workflow: Workflow) -> bool:
    """Whether a run may need the sandbox: for what models write, or for checks of validators."""
    for reached in workflow.reached():
        if any(node.spec is not None and node.spec.name in _RUN_CODE for node in reached.graph.nodes):
            return True
        if any(check.kind in CHECKS_WITH_CODE for check in checks_of(reached)):
            return True
    return False


def checks_of(workflow: Workflow) -> list[ValidatorCheck]:
    """The checks of all validators that nodes of one file name."""
    validations = (resolve_validation(node, workflow.analysis.settings) for node in workflow.graph.nodes)
    return [check for validation in validations if validation is not None for _, check in validation.checks]


def left_out(*, runs: bool, tools: bool, stores: bool) -> list[str]:
    """What is not in the program, as lines of its docstring. ``runs`` says that it may run code that models write, ``tools`` that
    it may use tools, ``stores`` that it has stores.
    """
    limits = [
        "It runs as with `merrow run`, but keeps no journal: it can't be resumed, and no answers are cached.",
        "--record and --replay write and read the same recordings.",
    ]
    if runs:
        limits.append(
            "Code that models write, or validators, runs in a sandbox, or the run ends; --allow-unsafe-code runs it without one."
        )
    if tools:
        limits.append(
            "Tools that your settings don't call `repeatable` are called on a terminal alone, where you can be asked."
            " Started again after it was killed, the program continues, and calls none of them twice."
        )
    if stores:
        limits.append(
            "Documents are read from where they are beside it, and what it remembers is kept as merrow run keeps it."
        )
    return limits
