"""What the type variables of an operator stand for at a node, by what feeds its ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import Type, TypeTable, innermost, is_variable, item_of, list_of
from merrow_analysis.graph.placing.placement import Facts, Placement, PortFeed


def variables(
    ports: Mapping[str, InputPort], fed: Iterable[Iterable[PortFeed]], types: TypeTable
) -> dict[Type, Type | None]:
    """What each type variable of an operator stands for at a node, by what feeds its ports."""
    seen: dict[Type, list[Type | None]] = {}
    for name, given in dict.fromkeys((feed.port, feed.type) for feeds in fed for feed in feeds):
        port = ports[name]
        wanted = port.type
        if given is not None and port.many and item_of(wanted) is not None and item_of(given) is None:
            wanted = port.item
        elif given is not None and port.many and item_of(wanted) is None and item_of(given) is not None:
            given = item_of(given)
        if given is not None and port.flat:
            given, wanted = innermost(given), innermost(wanted)
        while given is not None and item_of(wanted) is not None:
            given, wanted = item_of(given), item_of(wanted) or wanted
        while item_of(wanted) is not None:
            wanted = item_of(wanted) or wanted
        if is_variable(wanted):
            seen.setdefault(wanted, []).append(given)
    return {
        name: None if None in kinds else types.common(type_ for type_ in kinds if type_ is not None)
        for name, kinds in seen.items()
    }


def substitute(type_: Type, bound: dict[Type, Type | None]) -> Type | None:
    if is_variable(type_):
        return bound.get(type_)
    item = item_of(type_)
    if item is None:
        return type_
    inner = substitute(item, bound)
    return None if inner is None else list_of(inner)


def takes_again(facts: Facts, placement: Placement, feed: PortFeed, types: TypeTable) -> Type | None:
    """What an ``again`` edge must bring instead of what it brings, by what the edges of the flat picture bind the type variables
    of a node to; None where it fits, and where nothing is known.
    """
    spec = facts.spec
    port = None if spec is None else spec.ports.get(feed.port)
    if port is None or feed.type is None:
        return None
    wanted, given = port.item if port.many else port.type, feed.type
    if substitute(wanted, {}) == wanted:
        return None  # there is no variable in it
    bound = variables(spec.ports if spec is not None else {}, [edge.feeds for edge in placement.edges], types)
    if port.many and item_of(given) is not None and item_of(wanted) is None:
        given = item_of(given) or given
    meant = substitute(wanted, bound)
    if meant is None or meant == wanted or types.fits(given, meant):
        return None
    return meant
