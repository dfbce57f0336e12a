"""What nodes say of tools: whether these are pinned and declared, what they are given, and how often and unasked they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.measures.call_bounds import most_calls
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import NamedTool, constants_of, may_ask_person, named_tools, tool_name
from merrow_analysis.places.constant_places import WITH, constant_range, text_range
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.fixes.tool_fixes import (
    TOOLS,
    declare_tool,
    other_constant,
    other_listed_tool,
    other_tool,
    without_constant,
)
from merrow_analysis.rules.key_rules import UNKNOWN_KEY, WRONG_VALUE
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import named, parameter_range, report
from merrow_analysis.suggest import KnownNames, closest
from merrow_analysis.tools.pinned_tools import KnownTool
from merrow_analysis.tools.pins import PINS_FILE
from merrow_analysis.wiring.approvals import approval, carries_text, may_ask

_WRITTEN = RuleFamily[GraphContext](Scope.PARAMETER)
UNPINNED_TOOL = _WRITTEN.rule(
    "MW503",
    "unpinned-tool",
    "A workflow names a tool that `merrow.tools.json` does not have, or not as it was pinned.",
    Severity.ERROR,
    fix="sometimes",
)
UNDECLARED_TOOL = _WRITTEN.rule(
    "MW506",
    "undeclared-tool",
    "A node uses a tool that the front matter does not list under `tools`.",
    Severity.ERROR,
    fix="sometimes",
)

_CONNECTED = RuleFamily[GraphContext](Scope.GRAPH)
EFFECT_IN_ITEMS = _CONNECTED.rule(
    "MW508",
    "effect-in-items",
    "A tool that may not be used again is in a Map or a Loop, which may use it many times.",
    Severity.WARNING,
)

_GUARDED = RuleFamily[GraphContext](Scope.GRAPH)
UNGUARDED_EFFECT = _GUARDED.rule(
    "MW507",
    "unguarded-effect",
    "A tool is used without a person before it who could see what it is given.",
    Severity.HINT,
    fix="sometimes",
)


@_WRITTEN.checked_by
def check_tools(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the tools that nodes and the front matter name, and the constants that nodes give them."""
    graph, listed = context.graph, context.settings.tools
    users, outside = _users(context), graph.core.language.outside
    if not (users or listed):
        return
    tools_beside = None if outside is None else outside.tools
    pinned = KnownNames(() if tools_beside is None else tools_beside.pins.names())
    used: set[str] = set()
    for node in users:
        tools = named_tools(node.resolution)
        used.update(one.name for one in tools)
        yield from _names_none(node, tools)
        for one in tools:
            if tools_beside is None:
                continue  # Nobody can look at files.
            tool = tools_beside.find(one.name)
            if tool.problem is None and one.name in listed:
                continue
            place = text_range(node, one.key, one.span)
            if tool.problem is not None:
                near, told = _problem(tool, pinned)
                fixes = () if near is None else other_tool(context, node, one, near)
                yield report(UNPINNED_TOOL, place, f"{named(node)}: {told}", fixes=fixes)
            else:
                message = (
                    f"{named(node)} uses {one.name}, which `{TOOLS}` in the front matter does not list; add it there."
                )
                yield report(UNDECLARED_TOOL, place, message, fixes=declare_tool(context, one.name))
        if node.resolution.tool is not None and node.resolution.tool.problem is None:
            yield from _constants(node)
    for number, name in enumerate(listed):
        unused = None if name in used or tools_beside is None else tools_beside.find(name)
        if unused is not None and unused.problem is not None:
            place = context.place_of((TOOLS, number)) or context.top
            near, told = _problem(unused, pinned)
            fixes = other_listed_tool(context, name, near)
            yield report(UNPINNED_TOOL, place, f"`{TOOLS}`: {told}", fixes=fixes)


def _names_none(node: TypedNode, tools: Sequence[NamedTool]) -> Iterator[Diagnostic]:
    """A Tool without a tool, or an agent that is offered none."""
    if tools or may_ask_person(node.resolution):
        return
    is_agent = node.spec is not None and node.spec.is_agent
    key, example = ("tools", "tools: 'web.search, web.fetch'") if is_agent else ("tool", "tool: web.search")
    message = f"{named(node)}: `{key}` names no tool; write `{example}`, for example."
    yield report(UNPINNED_TOOL, parameter_range(node, key), message)


def _problem(tool: KnownTool, pinned: KnownNames) -> tuple[str | None, str]:
    """The tool that was probably meant, and why the one that is named can't be used, as a sentence."""
    near = pinned.closest(tool.name) if tool.is_missing else None
    return near, tool.problem or "" if near is None else f"`{tool.name}` is not in {PINS_FILE}; did you mean `{near}`?"


def _users(context: GraphContext) -> list[TypedNode]:
    """The nodes that use tools."""
    graph = context.graph
    handles = [
        handle
        for handle in graph.ranked
        if (spec := graph.resolutions[handle].spec) is not None and (spec.is_tool or spec.is_agent)
    ]
    return graph.at(handles) if handles else []


def _constants(node: TypedNode) -> Iterator[Diagnostic]:
    """What is wrong with the constants of a Tool."""
    constants, tool = constants_of(node.resolution), node.resolution.tool
    if tool is None or tool.constants is None or tool.signature is None:
        return
    if constants.problem is not None:
        message = f"{named(node)}: `{WITH}` {constants.problem}."
        yield report(WRONG_VALUE, text_range(node, WITH, constants.at), message)
    known = [parameter.name for parameter in tool.signature.parameters]
    for name, value in constants.values.items():
        place = constant_range(node, name)
        if name not in known:
            near = closest(name, known)
            ports = ", ".join(f"`{parameter}`" for parameter in known)
            hint = f"did you mean `{near}`?" if near else f"it has {ports or 'none'}."
            message = f"{named(node)}: {tool.name} has no parameter `{name}`; {hint}"
            place = constant_range(node, name, on_name=True)
            yield report(UNKNOWN_KEY, place, message, fixes=other_constant(node, name, near))
            continue
        why = tool.constants.why_not(name, value)
        if why is not None:
            message = f"{named(node)}: `{name}` does not fit the parameter of {tool.name}: {why}."
            yield report(WRONG_VALUE, place, message, fixes=without_constant(node, name))


@_CONNECTED.checked_by
def check_tools_in_boxes(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about tools that are used many times."""
    graph = context.graph
    for node in _users(context):
        boxes, may_repeat = graph.composites.around(node.id), context.permissions.may_repeat
        if not boxes or node.kind != "operator":
            continue
        names = [one.name for one in named_tools(node.resolution) if not may_repeat(one.name)]
        if not names:
            continue
        most = most_calls(graph, node)
        often = f"{'any number of' if most is None else f'up to {most:,}'} times"
        does = f"use {names[0]} {often}" if node.resolution.tool is not None else f"run it {often}, with {names[0]}"
        message = (
            f"{named(node)} is in {boxes[0]}, so a run may {does}. If once is meant, move it out of the box; if using the tool "
            "again does no harm, list it in `repeatable` of its server in your own settings."
        )
        yield report(EFFECT_IN_ITEMS, node.flow.range, message)


@_GUARDED.checked_by
def check_guards(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about tools that no person can stop."""
    graph = context.graph
    users = [
        node
        for node in _users(context)
        # Before an agent uses such a tool, a person is asked.
        if node.kind == "operator"
        and node.resolution.tool is not None
        and not context.permissions.may_use(tool_name(node.resolution) or "")
    ]
    if not users:
        return
    people = [
        handle
        for handle, resolution in enumerate(graph.resolutions)
        if resolution.spec is not None and resolution.spec.is_human and graph.core.records[handle] is not None
    ]
    behind = reach(graph.shape.following, people)
    for node in users:
        if not behind[node.index]:
            name = tool_name(node.resolution)
            message = (
                f"{named(node)} uses {name}, and no person sees what it is given; put a Human before it, or list it in `allow` "
                "of its server in your own settings."
            )
            yield report(UNGUARDED_EFFECT, node.flow.range, message, fixes=_approvals(context, node))


def _approvals(context: GraphContext, node: TypedNode) -> Iterator[Fix]:
    """Have a person see what an edge brings to the tool."""
    graph = context.graph
    for edge in node.incoming if may_ask(graph) else ():
        if carries_text(graph, edge, of_inputs=True):
            title = f"Insert approval on {edge.source.id} -> {edge.target.id}"
            yield from asked(context).changed(UNGUARDED_EFFECT, title, approval(graph, edge))
