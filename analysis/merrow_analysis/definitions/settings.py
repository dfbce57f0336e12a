"""The settings of a workflow: the ``workflow:`` block of its front matter as plain objects, with its mistakes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Literal, cast

from merrow_analysis.definitions.environments import EnvironmentSettings, read_environments
from merrow_analysis.definitions.front_matter import EMPTY, FrontMatterDoc, read_front_matter
from merrow_analysis.definitions.schema import AGENT_KEYS, MEMORY_TEXT, WORKFLOW_KEYS
from merrow_analysis.definitions.stores import StoreSettings, read_stores
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.definitions.validation import Path, Violation, violations
from merrow_analysis.definitions.validators import Validator, read_validators

MemoryKind = Literal["none", "all", "agent", "last", "tokens", "summary"]

MACHINE_KEYS = frozenset(
    {
        "api_base",
        "api_key",
        "api_key_env",
        "api_key_name",
        "base_url",
        "http_proxy",
        "https_proxy",
        "interpreter",
        "key",
        "key_env",
        "notify",
        "openai_api_key",
        "openai_base_url",
        "organization",
        "proxies",
        "proxy",
        "python",
        "servers",
    }
)
"""Keys that say where a machine sends its requests or what it executes: never taken from a file that can be shared."""
_ONLY_USERS = frozenset({"notify", "servers"})
"""Those of them that only the user's settings may have."""

_MEMORY_TEXT = re.compile(MEMORY_TEXT)
_OWN_CHECKS = frozenset({"types", "operators"})
"""Blocks whose entries are checked where they are declared (`declare_types`, `declare_operators`)."""


def machine_setting_message(key: str) -> str:
    """Why a key of the machine is ignored in a file that can be shared, and where it belongs."""
    where = "in your own settings"
    if key.casefold() not in _ONLY_USERS:
        where = f"in the environment, {where} or on the command line"
    return f"`{key}` is ignored in a file that can be shared; set it {where}."


@dataclass(frozen=True, slots=True)
class Memory:
    """Which results of earlier steps a node sees; ``amount`` counts results (last) or tokens (tokens)."""

    kind: MemoryKind = "none"
    amount: int | None = None

    @property
    def text(self) -> str:
        """It as a label says it: ``all``, ``{last: 3}``. Metadata on one line says it in double quotes."""
        return self.kind if self.amount is None else f"{{{self.kind}: {self.amount}}}"


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """What a run may use at most; None is without a limit."""

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """Who does nodes: a ``role``, what it is told before their prompts, and defaults for their calls.

    ``instances`` is how many nodes of it run at once; None is without a limit.
    """

    name: str
    role: str
    prompt: str = ""
    model: str | None = None
    temperature: float | None = None
    instances: int | None = None

    @property
    def text(self) -> str:
        """What the agent adds at the start of each prompt."""
        own = self.prompt.strip()
        return f"Your role: {self.role}." + (f"\n\n{own}" if own else "")


RANKED_ANSWERS = 3
"""How many answers are ranked where nobody says how many; as many as `merrow plan` asks for."""


@dataclass(frozen=True, slots=True)
class Refine:
    """When a model looks at a workflow that runs, and what it may do; see `REFINE` of the schema. ``tokens`` and ``usd`` are None
    if there is no limit, ``model`` if it is the workflow's model, and ``candidates`` if ``rank`` determines the number.
    """

    every: int = 3
    on: tuple[str, ...] = ("failure", "invalid")
    max: int = 5
    strategy: str = "wait"
    candidates: int | None = None
    rank: str = "kept"
    ask: bool = False
    model: str | None = None
    view: int = 8000
    max_nodes: int = 50
    tokens: int | None = None
    usd: float | None = None

    @property
    def answers(self) -> int:
        """How many answers the model is asked for at once."""
        return self.candidates or (RANKED_ANSWERS if self.rank == "paper" else 1)


@dataclass(slots=True, eq=False)
class WorkflowSettings:
    """What the front matter says about the workflow. Values that are wrong are left out and told in ``violations``.

    ``declared`` says that there is a ``workflow:`` block, ``opted_out`` that it is ``false``, ``says_memory`` that it has
    ``memory:``. ``types``,
    ``operators`` and ``prompts`` are as written. ``document`` has the places. Shared between equal front matters:
    don't change it.
    """

    document: FrontMatterDoc = EMPTY
    declared: bool = False
    opted_out: bool = False
    version: int | None = None
    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    timeout: float | None = None
    retries: int | None = None
    on_error: str | None = None
    memory: Memory = Memory()
    says_memory: bool = False
    budget: BudgetSettings = BudgetSettings()
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    drawn: bool = False
    """Whether steps start as in a drawing."""
    types: dict[str, Any] = field(default_factory=dict)
    operators: dict[str, Any] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    prompt_file: str | None = None
    agents: dict[str, Agent] = field(default_factory=dict)
    """Agents by casefolded name."""
    aims: bool | None = None
    validators: dict[str, Validator] = field(default_factory=dict)
    """Validators by casefolded name."""
    validators_said: dict[str, Any] = field(default_factory=dict)
    """The same as they are written."""
    redo: dict[str, int] = field(default_factory=dict)
    """How often visits are made again, as `redo` names them."""
    refine: Refine | None = None
    """None: no model changes it while it runs."""
    tools: tuple[str, ...] = ()
    """The tools that its nodes may use."""
    environments: dict[str, EnvironmentSettings] = field(default_factory=dict)
    """The environments that it declares, by name."""
    stores: dict[str, StoreSettings] = field(default_factory=dict)
    """The stores that its nodes may use, by name."""
    libraries: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    machine_keys: tuple[str, ...] = ()


NO_SETTINGS = WorkflowSettings()
"""The settings of a file without front matter."""


def read_settings(body: str, indent: str = "") -> WorkflowSettings:
    """Read the front matter of a file, given as the text between its fences. Never raises."""
    return _settings(read_front_matter(body, indent))


@lru_cache(maxsize=64)
def _settings(document: FrontMatterDoc) -> WorkflowSettings:
    if "workflow" not in document.values:
        return WorkflowSettings(document)
    block = document.values["workflow"]
    if block is False:
        return WorkflowSettings(document, opted_out=True)
    settings = WorkflowSettings(document, declared=True)
    if block is None or block is True:
        return settings
    if not isinstance(block, dict):
        wrong = Violation(
            "wrong", ("workflow",), "a mapping of keys to values, or false for a flowchart that is not a workflow"
        )
        settings.violations = (wrong,)
        return settings
    _fill(settings, block)
    return settings


def _fill(settings: WorkflowSettings, block: dict[str, object]) -> None:
    problems: list[Violation] = []
    good: dict[str, Any] = {}
    machine: list[str] = []
    for key, value in block.items():
        path: Path = ("workflow", key)
        if key.casefold() in MACHINE_KEYS:
            machine.append(key)
        elif key not in WORKFLOW_KEYS:
            problems.append(Violation("unknown", path, known=tuple(WORKFLOW_KEYS)))
        elif key in _OWN_CHECKS:
            if isinstance(value, dict):
                good[key] = value
            elif value is not None:
                problems.append(Violation("wrong", path, "a mapping of names to what they mean"))
        elif value is not None:
            faults = violations(WORKFLOW_KEYS[key], value, path)
            problems += faults
            if not faults or isinstance(value, dict):
                good[key] = value
    settings.violations = tuple(problems)
    settings.machine_keys = tuple(machine)
    _assign(settings, good, {problem.path for problem in problems})


def _assign(settings: WorkflowSettings, good: Mapping[str, Any], wrong: set[Path]) -> None:
    for name in ("model", "temperature", "timeout", "on_error"):
        setattr(settings, name, good.get(name))
    for name in ("version", "max_tokens", "seed", "retries"):
        setattr(settings, name, _whole(good.get(name)))
    settings.types, settings.operators = good.get("types", {}), good.get("operators", {})
    settings.inputs, settings.outputs = _names(good.get("inputs")), _names(good.get("outputs"))
    settings.libraries = tuple(_names(good.get("libraries")) or ())
    settings.tools = tuple(name.strip() for name in good.get("tools", ()))
    settings.environments = read_environments(good.get("environments", {}), wrong)
    settings.stores = read_stores(good.get("stores", {}), wrong)
    if ("workflow", "memory") not in wrong:
        settings.memory, settings.says_memory = read_memory(good.get("memory")), good.get("memory") is not None
    budget = good.get("budget", {})
    amounts = {
        name: budget.get(name) for name in ("usd", "tokens", "seconds") if ("workflow", "budget", name) not in wrong
    }
    settings.budget = BudgetSettings(amounts.get("usd"), _whole(amounts.get("tokens")), amounts.get("seconds"))
    settings.aims = good.get("aims")
    settings.drawn = good.get("drawn") is True
    settings.agents = _agents(good.get("agents", {}), wrong)
    settings.validators_said = good.get("validators", {})
    settings.validators = read_validators(settings.validators_said, wrong)
    settings.redo = {
        name: int(times) for name, times in good.get("redo", {}).items() if ("workflow", "redo", name) not in wrong
    }
    settings.refine = _refine(good.get("refine"), wrong)
    prompts = good.get("prompts", {})
    if isinstance(prompts, dict):
        settings.prompts = {name: text for name, prompt in prompts.items() if (text := read_prompt(prompt)) is not None}
    else:
        settings.prompt_file = prompts


def _agents(written: Mapping[str, Any], wrong: set[Path]) -> dict[str, Agent]:
    """The agents of a block that is a mapping, without those that can't be read; what else is wrong in one is left out."""
    agents: dict[str, Agent] = {}
    for name, keys in written.items():
        path: Path = ("workflow", "agents", name)
        if path in wrong or not isinstance(keys, dict):
            continue
        good = {key: value for key, value in keys.items() if key in AGENT_KEYS and (*path, key) not in wrong}
        role = good.get("role")
        if isinstance(role, str):
            prompt, model, temperature = (good.get(key) for key in ("prompt", "model", "temperature"))
            instances = _whole(good.get("instances"))
            agents.setdefault(name.strip().casefold(), Agent(name, role, prompt or "", model, temperature, instances))
    return agents


def _refine(written: object, wrong: set[Path]) -> Refine | None:
    if not isinstance(written, dict):
        return Refine() if written is True else None
    names = {option.name for option in fields(Refine)}
    good = {key: value for key, value in written.items() if key in names and ("workflow", "refine", key) not in wrong}
    for key in ("every", "max", "candidates", "view", "max_nodes", "tokens"):
        if key in good:
            good[key] = _whole(good[key])
    if "on" in good:
        good["on"] = tuple(good["on"])
    return Refine(**{key: value for key, value in good.items() if value is not None})


def read_prompt(value: object) -> str | None:
    """The text of a prompt: a text, or a mapping with ``text`` and ``template``; None for anything else."""
    if isinstance(value, dict):
        text = value.get("text")
        if not isinstance(text, str):
            return None
        return PromptTemplate(text) if value.get("template") is True else text
    return value if isinstance(value, str) else None


def read_memory(value: object) -> Memory:
    """A ``memory:`` value that fits the schema; None is the default, none."""
    match = _MEMORY_TEXT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None:
        value = {match[1]: int(match[2])}
    if isinstance(value, dict):
        last, tokens = _whole(value.get("last")), _whole(value.get("tokens"))
        return Memory("tokens", tokens) if last is None else Memory("last", last)
    return Memory(cast("MemoryKind", value)) if isinstance(value, str) else Memory()


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _names(value: object) -> list[str] | None:
    if value is None:
        return None
    return [value] if isinstance(value, str) else [str(name) for name in cast("list[object]", value)]
