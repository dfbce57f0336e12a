"""Agents of the front matter and the nodes that name them."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.diagnostics import Diagnostic, Fix, Severity, Tag
from merrow_analysis.edits.front_entries import add_entry, remove_entry
from merrow_analysis.graph.instructions import agent_name
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, named, parameter_range, report, why_unused
from merrow_analysis.suggest import KnownNames
from merrow_analysis.text import Range, TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.PARAMETER)
UNKNOWN_AGENT = _FAMILY.rule(
    "MW317", "unknown-agent", "A node names an agent that does not exist.", Severity.ERROR, fix="sometimes"
)
UNUSED_AGENT = _FAMILY.rule(
    "MW318",
    "unused-agent",
    "No node uses an agent of the front matter.",
    Severity.HINT,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE | Flags.SPELLING,
)


@_FAMILY.checked_by
def check_agents(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about agents, and nodes that name one."""
    agents = context.settings.agents
    used: set[str] = set()
    names = KnownNames(agent.name for agent in agents.values())
    for node in context.graph.at(context.graph.marks.agents):
        name = agent_name(node.resolution)
        if name is None:
            continue
        used.add(name.casefold())
        if name.casefold() not in agents:
            near = names.closest(name)
            used.add((near or "").casefold())
            yield _unknown(context, node, name, near)
    block = context.settings.document.values.get("workflow")
    declared = block.get("agents") if isinstance(block, dict) else None
    for name in declared if isinstance(declared, dict) else ():
        key = name.strip().casefold()
        first = agents[key].name if key in agents else name
        unused = key in agents and ((key not in used and names.all_guessed) or first != name)
        place = context.place_of(("agents", name)) if unused else None
        if place is not None:
            message = f"Agent `{name}` is declared, but {why_unused(name, first)}."
            fixes = _without(context, name)
            yield report(UNUSED_AGENT, place, message, fixes=fixes, tags=(Tag.UNNECESSARY,))


def _unknown(context: GraphContext, node: TypedNode, name: str, near: str | None) -> Diagnostic:
    place = parameter_range(node, "agent")
    hint = f"add it to `agents` in the front matter, or did you mean `{near}`?" if near else "add it to `agents`."
    message = f"{named(node)}: there is no agent `{name}`; {hint}"
    return report(UNKNOWN_AGENT, place, message, fixes=_repairs(context, name, near, place))


def _repairs(context: GraphContext, name: str, near: str | None, place: Range) -> Iterator[Fix]:
    if near is not None:
        yield fix(f"Write {near}", [TextEdit(place, near)], safe=False)
    edit = add_entry(context.front, "agents", name, {"role": name.replace("_", " ").strip() or name})
    if edit is not None:
        yield fix(f"Add agent {name} to the front matter", [edit], safe=False)


def _without(context: GraphContext, name: str) -> Iterator[Fix]:
    edit = None if context.front is None else remove_entry(context.front, ("workflow", "agents", name))
    if edit is not None:
        yield fix(f"Remove agent {name}", [edit], safe=False)
