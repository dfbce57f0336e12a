"""Where the links of a page lead, read by html5lib as a browser reads it. Imported only in a `Worker`'s process."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

import html5lib

_LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "use": "href"}
_ELSEWHERE = ("http", "https", "mailto", "tel", "data", "about", "blob")
_MOST = 20


def faults_of(pages: dict[str, str], paths: list[str]) -> dict[str, Any]:
    """What is wrong with the links of some pages: sentences' beginnings, at most 20.

    Args:
        pages: the HTML of each page by its path.
        paths: all files of the product.
    """
    trees = {path: html5lib.parse(text, namespaceHTMLElements=False) for path, text in pages.items()}
    names = {path: _names(tree) for path, tree in trees.items()}
    faults: list[str] = []
    for path, tree in trees.items():
        for element in tree.iter():
            if not isinstance(element.tag, str):
                continue
            if element.tag in ("a", "area") and "href" in element.attrib:
                why = _lost(path, element.attrib["href"], names, paths)
            elif element.tag in _LOADED and element.attrib.get(_LOADED[element.tag]):
                why = _lost(path, element.attrib[_LOADED[element.tag]], names, paths)
            else:
                continue
            if why and len(faults) < _MOST:
                faults.append(f"{path}: <{element.tag}> {why}")
    return {"faults": faults}


def _names(tree: Any) -> set[str]:
    """What fragments of a page's address may name."""
    return {
        element.attrib[name]
        for element in tree.iter()
        for name in ("id", "name")
        if isinstance(element.tag, str) and name in element.attrib
    }


def _lost(page: str, address: str, names: dict[str, set[str]], paths: list[str]) -> str | None:
    """Why an address on a page leads nowhere; None where it leads somewhere, or to another machine."""
    address = address.strip()
    shown = address[:60]
    try:
        parts = urlsplit(address)
    except ValueError:
        return f"has the address `{shown}`, which is none"
    if parts.scheme == "javascript" or address in ("", "#"):
        return f"has the address `{shown}`, which leads nowhere"
    if parts.scheme in _ELSEWHERE or parts.netloc:
        return None
    if parts.scheme:
        return f"has the address `{shown}`, which no visitor can follow"
    steps = [] if parts.path.startswith("/") or not parts.path else page.split("/")[:-1]
    for step in parts.path.split("/"):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(unquote(step))
    target = "/".join(steps) if parts.path else page
    if target not in paths and f"{target}/index.html".lstrip("/") not in paths:
        return f"leads to `{shown}`, which is not among the files"
    fragment = unquote(parts.fragment)
    if fragment and fragment != "top" and target in names and fragment not in names[target]:
        return f"leads to `{shown}`, but no element there has the id `{fragment[:40]}`"
    return None
