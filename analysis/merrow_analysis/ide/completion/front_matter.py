"""Completion in the front matter: keys and values of the schema, and the names that the workflow has."""

from __future__ import annotations

import re
from collections.abc import Callable

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.schema import FRONT_MATTER, Fragment
from merrow_analysis.definitions.types import BUILT_IN_TYPES, Type, TypeTable
from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.completion.tools import tool_items
from merrow_analysis.ide.cursor.place import InFrontMatter
from merrow_analysis.ide.cursor.schema_walk import keys_at, words_at
from merrow_analysis.ide.cursor.yaml_place import YamlPlace, yaml_place

_FLOW_KEY = re.compile(r"[{,][ \t]*([\w?-]+)[ \t]*:")


def front_matter_items(items: CompletionItems, place: InFrontMatter) -> None:
    """Items for a place in the front matter."""
    here = yaml_place(place.text, place.offset)
    if here.in_text:
        return
    length = place.offset - here.start
    word = place.text[here.start : place.offset]
    if "\n" in word:  # In brackets that are not closed yet, what is typed may be read as the rest of a value above it.
        return
    if here.is_key:
        _keys(items, place, here, length)
    elif not word.startswith(("|", ">")):
        _values(items, here, word)


def _keys(items: CompletionItems, place: InFrontMatter, here: YamlPlace, length: int) -> None:
    known = keys_at(FRONT_MATTER, here.path)
    present = _present(place, here.path)
    followed = items.line[items.range(length).end.column :].lstrip().startswith(":")
    for name, fragment in known.items():
        if name in present:
            continue
        text = name if followed else f"{name}: "
        snippet = None
        if not followed and not here.in_flow and _is_mapping(fragment):
            text = f"{name}:"
            snippet = f"{name}:\n{' ' * (here.indent + 2)}$0"
        rank = 0 if name == "workflow" else 2 if _is_mermaids(fragment) else 1
        items.add(
            name,
            "key",
            items.range(length),
            rank=rank,
            text=text,
            snippet=snippet,
            detail=str(fragment.get("description", "")),
            subject=("front", *here.path, name),
        )


def _present(place: InFrontMatter, path: tuple[str, ...]) -> set[str]:
    """The keys that stand there already: on other lines than the cursor's, and before it in a mapping in brackets."""
    before, after = place.text[: place.offset], place.text[place.offset :]
    text = before[: before.rfind("\n") + 1] + (after[after.find("\n") + 1 :] if "\n" in after else "")
    value: object = read_front_matter(text).values
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    keys = {str(key) for key in value} if isinstance(value, dict) else set()
    line = before[before.rfind("\n") + 1 :]
    if "{" in line:
        keys.update(_FLOW_KEY.findall(line, line.rindex("{")))
    return keys


def _is_mapping(fragment: Fragment) -> bool:
    forms = [fragment, *fragment.get("anyOf", ())]
    return any(form.get("type") == "object" for form in forms) and not any("enum" in form for form in forms)


def _is_mermaids(fragment: Fragment) -> bool:
    return str(fragment.get("description", "")).startswith("Mermaid")


def _values(items: CompletionItems, here: YamlPlace, word: str) -> None:
    length = len(word)
    place = items.range(length)
    for known in words_at(FRONT_MATTER, here.path):
        items.add(known, "value", place)
    inner = here.path[1:]
    if here.path[:1] != ("workflow",) or not inner:
        return
    if wants_type(inner):
        add_types(items, length if inner[0] != "types" else len(word.rpartition("|")[2].lstrip()), rank=1)
    elif inner[0] in ("inputs", "outputs"):
        taken = items.analysis.settings.inputs if inner[0] == "inputs" else items.analysis.settings.outputs
        for node in items.analysis.flow.nodes.values():
            ends = node.incoming if inner[0] == "inputs" else node.outgoing
            if node.id not in (taken or ()):
                items.add(node.id, "node", place, rank=1 if ends else 0, subject=("node", node.id))
    elif inner[0] == "tools":
        tool_items(items, length, items.analysis.settings.tools)
    elif inner == ("memory",) and not here.in_flow:
        add_memories(items, length)


def wants_type(path: tuple[str, ...]) -> bool:
    """Whether the value at a path below ``workflow:`` is a type."""
    if path[0] == "types":
        return len(path) in (2, 3)
    if path[0] != "operators" or len(path) < 4 or path[2] not in ("inputs", "outputs"):
        return False
    return len(path) == 4 or path[4:] == ("type",)


def add_types(
    items: CompletionItems, length: int, fits: Callable[[Type, TypeTable], bool] | None = None, rank: int = 0
) -> None:
    """Add all types that fit, or all; ``list[...]`` of each is left to the writer."""
    typed = items.analysis.typed
    types = typed.types if typed is not None else BUILT_IN_TYPES
    own = items.analysis.settings.types
    for name, parent in types.parents.items():
        if fits is not None and not fits(name, types):
            continue
        kind = f"a kind of {parent}" if parent is not None else "any value"
        first = 0 if name in own else 1
        items.add(name, "type", items.range(length), rank=rank + first, detail=kind, subject=("type", name))


def add_memories(items: CompletionItems, length: int, quote: str = "") -> None:
    """Add the forms of ``memory:`` that are mappings; in metadata in quotes, where a bare brace would end them."""
    for name, most in (("last", 3), ("tokens", 2000)):
        text = f"{quote}{{{name}: {most}}}{quote}"
        snippet = f"{quote}{{{name}: ${{1:{most}}}\\}}{quote}"
        items.add(f"{quote}{{{name}: n}}{quote}", "value", items.range(length), rank=1, text=text, snippet=snippet)
