"""The stores and environments that nodes use, and the stores that the front matter declares."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.environments import SERVER_NAME, SHIPPED, TEXTCRAFT
from merrow_analysis.definitions.operators import REMEMBER
from merrow_analysis.definitions.stores import KEPT, STORE_NAME, StoreSettings
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.front_entries import add_entry
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import environment_name, store_name
from merrow_analysis.places.constant_places import text_offset, text_range
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, named, parameter_range, report
from merrow_analysis.suggest import KnownNames
from merrow_analysis.text import TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.PARAMETER)
UNKNOWN_RESOURCE = _FAMILY.rule(
    "MW505",
    "unknown-resource",
    "A node uses a store or an environment that does not exist.",
    Severity.ERROR,
    fix="sometimes",
)
_STORES = "stores"


_ENVIRONMENTS = "environments"


@_FAMILY.checked_by
def check_resources(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the stores and environments that nodes name."""
    yield from _stores(context)
    yield from _environments(context)


def _stores(context: GraphContext) -> Iterator[Diagnostic]:
    graph, stores = context.graph, context.settings.stores
    handles = [
        handle for handle in graph.ranked if (spec := graph.resolutions[handle].spec) is not None and spec.uses_store
    ]
    for declared, store in stores.items():
        if store.is_kept and STORE_NAME.fullmatch(declared) is None:
            message = (
                f"`{declared}` can't name a store that runs add to: use up to 64 letters, digits, `_` and `-`, starting with a"
                " letter."
            )
            yield report(UNKNOWN_RESOURCE, context.place_of((_STORES, declared)) or context.top, message)
    names = KnownNames(stores)
    for node in graph.at(handles) if handles else ():
        name = store_name(node.resolution)
        if name is None:
            place = parameter_range(node, "store")
            message = f"{named(node)} names no store; write `store: NAME`, one of `{_STORES}` in the front matter."
            yield report(UNKNOWN_RESOURCE, place, message, fixes=_named(context, node))
        elif name not in stores:
            near = names.closest(name)
            hint = f"did you mean `{near}`?" if near else f"declare it under `{_STORES}` in the front matter."
            message = f"{named(node)}: there is no store `{name}`; {hint}"
            place = text_range(node, "store", (0, len(name)))
            yield report(UNKNOWN_RESOURCE, place, message, fixes=_repairs(context, node, name, near))
        elif node.operator == REMEMBER.name and not stores[name].is_kept:
            kept = next((store.name for store in stores.values() if store.is_kept), None)
            hint = f"write `{kept}`, or " if kept else ""
            message = (
                f"{named(node)} can't add to `{name}`, whose documents are in files; {hint}declare a store that is kept, such as "
                f"`lessons: {{keep: 200}}`."
            )
            place = text_range(node, "store", (0, len(name)))
            yield report(UNKNOWN_RESOURCE, place, message, fixes=_other(node, name, kept))


def _named(context: GraphContext, node: TypedNode) -> Iterator[Fix]:
    """Name the only store that there is."""
    stores: dict[str, StoreSettings] = context.settings.stores
    fits = [name for name, store in stores.items() if store.is_kept or node.operator != REMEMBER.name]
    if len(fits) == 1:
        title = f"Write store: {fits[0]}"
        yield from asked(context).with_parameter(UNKNOWN_RESOURCE, title, node, "store", fits[0])


def _repairs(context: GraphContext, node: TypedNode, name: str, near: str | None) -> Iterator[Fix]:
    yield from _other(node, name, near)
    edit = add_entry(context.front, _STORES, name, {"keep": KEPT})
    if edit is not None and STORE_NAME.fullmatch(name):
        yield fix(f"Declare store {name} in the front matter", [edit], safe=False)


def _other(node: TypedNode, name: str, other: str | None, key: str = "store") -> Iterator[Fix]:
    if other is not None and text_offset(node, key) is not None:
        yield fix(f"Write {other}", [TextEdit(text_range(node, key, (0, len(name))), other)], safe=False)


def _environments(context: GraphContext) -> Iterator[Diagnostic]:
    graph, declared = context.graph, context.settings.environments
    handles = [
        handle
        for handle in graph.ranked
        if (spec := graph.resolutions[handle].spec) is not None and spec.is_environment
    ]
    names = KnownNames((*declared, *SHIPPED))
    for node in graph.at(handles) if handles else ():
        name = environment_name(node.resolution)
        if name is None:
            place = parameter_range(node, "env")
            message = (
                f"{named(node)} names no environment; write `env: {TEXTCRAFT}`, or another one of `{_ENVIRONMENTS}` in the"
                " front matter."
            )
            only = [*declared, *SHIPPED]
            title = f"Write env: {only[0]}"
            fixes = asked(context).with_parameter(UNKNOWN_RESOURCE, title, node, "env", only[0])
            yield report(UNKNOWN_RESOURCE, place, message, fixes=fixes)
        elif name not in declared and name not in SHIPPED:
            near = names.closest(name)
            hint = f"did you mean `{near}`?" if near else f"declare it under `{_ENVIRONMENTS}` in the front matter."
            message = f"{named(node)}: there is no environment `{name}`; {hint}"
            place = text_range(node, "env", (0, len(name)))
            yield report(UNKNOWN_RESOURCE, place, message, fixes=_declared(context, node, name, near))


def _declared(context: GraphContext, node: TypedNode, name: str, near: str | None) -> Iterator[Fix]:
    yield from _other(node, name, near, "env")
    edit = add_entry(context.front, _ENVIRONMENTS, name, {"server": name})
    if edit is not None and SERVER_NAME.fullmatch(name):
        yield fix(f"Declare environment {name} in the front matter", [edit], safe=False)
