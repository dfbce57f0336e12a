"""The parts of the schema that speak of a place in a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.definitions.schema import Fragment


def fragments_at(root: Fragment, path: Sequence[str]) -> list[Fragment]:
    """The fragments for the value at a path of keys: several where a value may have several forms."""
    current = list(_forms(root))
    for key in path:
        following: list[Fragment] = []
        for fragment in current:
            inner = _entry(fragment, key)
            if inner is not None:
                following += _forms(inner)
        current = following
    return current


def fragment_at(root: Fragment, path: Sequence[str]) -> Fragment | None:
    """The fragment of the entry at a path, with its help; None where the schema knows no such entry."""
    if not path:
        return root
    for fragment in fragments_at(root, path[:-1]):
        entry = _entry(fragment, path[-1])
        if entry is not None:
            return entry
    return None


def keys_at(root: Fragment, path: Sequence[str]) -> dict[str, Fragment]:
    """The keys that the mapping at a path may have."""
    keys: dict[str, Fragment] = {}
    for fragment in fragments_at(root, path):
        for key, inner in fragment.get("properties", {}).items():
            keys.setdefault(key, inner)
    return keys


def words_at(root: Fragment, path: Sequence[str]) -> list[str]:
    """The words that the value at a path may be."""
    words: dict[str, None] = {}
    for fragment in fragments_at(root, path):
        for word in fragment.get("enum", ()):
            words[str(word)] = None
        if fragment.get("type") == "boolean":
            words.update({"true": None, "false": None})
    return list(words)


def _forms(fragment: Fragment) -> Iterator[Fragment]:
    """A fragment, and each of its alternatives."""
    yield fragment
    for option in fragment.get("anyOf", ()):
        yield from _forms(option)


def _entry(fragment: Fragment, key: str) -> Fragment | None:
    inner: Fragment | None = fragment.get("properties", {}).get(key)
    if inner is None:
        others = fragment.get("additionalProperties")
        return others if isinstance(others, dict) else None
    return inner
