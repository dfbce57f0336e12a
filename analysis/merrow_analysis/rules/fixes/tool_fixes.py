"""Fixes of what nodes say of tools: the constants of a Tool, and the tools that a workflow may use."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.front_entries import Front, add_entry, write_value
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import NamedTool, constants_of
from merrow_analysis.places.constant_places import WITH, constant_range, text_offset, text_range
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.key_fixes import remove_key, written_keys_of
from merrow_analysis.rules.reporting import fix
from merrow_analysis.text import TextEdit

TOOLS = "tools"


def without_constant(node: TypedNode, name: str, *, safe: bool = False) -> Iterator[Fix]:
    """Take a constant out of a Tool's ``with``, and that with its last one."""
    constants = constants_of(node.resolution)
    names = list(constants.keys)
    if names == [name]:
        yield from remove_key(written_keys_of(node), WITH, node.resolution.parameters[WITH].block, safe=safe)
        return
    if name not in names or text_offset(node, WITH) is None:
        return
    at = names.index(name)
    begin = constants.keys[name][0] if at == 0 else constants.spans[names[at - 1]][1]
    end = constants.keys[names[1]][0] if at == 0 else constants.spans[name][1]
    yield fix(f"Remove {name}", [TextEdit(text_range(node, WITH, (begin, end)), "")], safe=safe)


def other_constant(node: TypedNode, name: str, near: str | None) -> Iterator[Fix]:
    """Write the parameter that a constant was probably meant for, or remove it."""
    if near is not None and near not in constants_of(node.resolution).keys and text_offset(node, WITH) is not None:
        yield fix(f"Write {near}", [TextEdit(constant_range(node, name, on_name=True), near)], safe=False)
    yield from without_constant(node, name)


def declare_tool(context: GraphContext, name: str) -> Iterator[Fix]:
    """Add a tool to those that the workflow may use."""
    edit = with_tools(context.front, context.settings, [*context.settings.tools, name])
    if edit is not None:
        yield fix(f"Add {name} to {TOOLS}", [edit], safe=False)


def other_tool(context: GraphContext, node: TypedNode, named: NamedTool, near: str) -> Iterator[Fix]:
    """Write the tool that was probably meant, at a node and in the list of tools, if it is there by the wrong name."""
    if text_offset(node, named.key) is None:
        return
    name = named.name
    edits = [TextEdit(text_range(node, named.key, named.span), near)]
    if name in context.settings.tools:
        edit = with_tools(
            context.front, context.settings, [near if tool == name else tool for tool in context.settings.tools]
        )
        if edit is None:
            return
        edits.append(edit)
    yield fix(f"Write {near}", edits, safe=False)


def other_listed_tool(context: GraphContext, name: str, near: str | None) -> Iterator[Fix]:
    """Write another tool in the list of tools, or take it out."""
    tools = context.settings.tools
    if near is not None:
        edit = with_tools(context.front, context.settings, [near if tool == name else tool for tool in tools])
        if edit is not None:
            yield fix(f"Write {near}", [edit], safe=False)
    edit = with_tools(context.front, context.settings, [tool for tool in tools if tool != name])
    if edit is not None:
        yield fix(f"Remove {name}", [edit], safe=False)


def with_tools(front: Front | None, settings: WorkflowSettings, tools: list[str]) -> TextEdit | None:
    """The edit after which these are the tools that the workflow may use; None where the front matter has no place for them."""
    listed = list(dict.fromkeys(tools))
    path = ("workflow", TOOLS)
    if front is not None and settings.document.places(*path) is not None:
        return write_value(front, path, listed)
    return add_entry(front, None, TOOLS, listed)
