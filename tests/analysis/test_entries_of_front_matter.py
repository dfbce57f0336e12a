"""Adding an entry to the front matter or taking one out changes nothing else in it, however the entries around it are written."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from merrow_analysis.check import analyse
from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.edits.front_entries import add_entry, remove_entry
from merrow_analysis.text import apply_edits

_VALUES = (
    " 1",
    " {k: v}",
    " {k: v,\n{i}  l: w}",
    " {\n{i}  k: v\n{i}  , l: w}",
    " {\n{i}  k: v,\n{i}  l: w\n{i}}",
    " [x,\n{i}  y]",
    "\n{i}- x\n{i}- y",
    "\n{i}  k: v",
    "\n{i}  k: v\n{i}  l: w",
    "\n{i}  k: {m: v, n: w}\n{i}  # of k",
    " |\n{i}  text\n{i}  more",
    " |+\n{i}  text\n",
    " >\n{i}  text",
    " plain\n{i}  words",
    " 'quoted\n{i}  words'",
    " an open <b",
    ' a="t"',
    ' <b class="c">',
    ' <b\n{i}  class="c"',
    ' |\n{i}  a tag <b\n{i}  title="t',
    "",
)
_BETWEEN = ("", "", "", "", "# a comment", "{i}# a comment", "{i}    # a comment", "{empty}", "{i}  ", " # beside")

VALUES = st.sampled_from((1, None, "plain", "a: b", "# no", "two\nlines", {"k": [1, {"x": "y"}]}, [], "<b", '<b x="y"'))


@st.composite
def _bodies(draw: st.DrawFn) -> tuple[str, str]:
    """The inside of a front matter whose entries are written in many ways, and the indentation of its fence."""
    fence = draw(st.sampled_from(("", "", "  ", "\t")))
    inner = "  "
    text = "workflow:\n"
    values = [draw(st.sampled_from(_VALUES)) for _ in range(draw(st.integers(1, 5)))]
    if draw(st.integers(0, 4)) == 0:
        values = [" &a 1", *values, " *a"]
    for number, value in enumerate(values):
        text += f"{inner}key{number}:" + value.replace("{i}", inner)
        after = draw(st.sampled_from(_BETWEEN))
        text += after if after.startswith(" #") else ""
        text += "\n"
        if after and not after.startswith(" #"):
            text += after.replace("{i}", inner).replace("{empty}", "") + "\n"
    text += draw(st.sampled_from(("", "", "title: t\n", "# the end\n", "config: {theme: dark}\n", '# <b x="y"\n')))
    text = "".join(f"{fence}{line}" if line.strip() else line for line in text.splitlines(keepends=True))
    return text.replace("\n", draw(st.sampled_from(("\n", "\n", "\r\n")))), fence


def _entries(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if not isinstance(value, dict):
        return []
    found = []
    for key, inner in value.items():
        found += [(*path, key), *_entries(inner, (*path, key))]
    return found


def _without(values: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    wanted: Any = deepcopy(values)
    holder = wanted
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return wanted


@given(_bodies())
@settings(max_examples=75)
def test_only_the_entry_is_gone(made: tuple[str, str]) -> None:
    body, fence = made
    text = f"{fence}---\n{body}{fence}---\n{fence}flowchart TD\nA --> B\n"
    analysis = analyse(text)
    front = analysis.diagram.front_matter
    assume(front is not None)
    document = read_front_matter(front[0].body, front[0].indent)
    assume(document.error is None and document.values)
    removed = 0
    for path in _entries(document.values.get("workflow"), ("workflow",)):
        edit = remove_entry(front, path)
        if edit is None:
            continue
        removed += 1
        after = analyse(apply_edits(text, [edit])).diagram.front_matter
        assert after is not None, (path, edit)
        said = read_front_matter(after[0].body, after[0].indent)
        assert said.error is None, (path, edit)
        # A mapping that held nothing else goes as a whole, but for `workflow` itself.
        while len(path) > 2 and not _at(_without(document.values, path), path[:-1]):
            path = path[:-1]
        wanted = _without(document.values, path)
        assert {**said.values, "workflow": said.values.get("workflow") or None} == {
            **wanted,
            "workflow": wanted["workflow"] or None,
        }, (path, edit)
    assume(removed)


@given(
    _bodies(),
    st.sampled_from((None, "key0", "key1", "new")),
    st.sampled_from(("added", "key0", "k", "on: off")),
    VALUES,
)
@settings(max_examples=75)
def test_only_an_entry_is_added(made: tuple[str, str], section: str | None, name: str, value: object) -> None:
    body, fence = made
    text = f"{fence}---\n{body}{fence}---\n{fence}flowchart TD\nA --> B\n"
    front = analyse(text).diagram.front_matter
    assume(front is not None)
    document = read_front_matter(front[0].body, front[0].indent)
    assume(document.error is None and isinstance(document.values.get("workflow"), dict))
    edit = add_entry(front, section, name, value)
    assume(edit is not None)
    after = analyse(apply_edits(text, [edit])).diagram.front_matter
    assert after is not None, edit
    said = read_front_matter(after[0].body, after[0].indent)
    assert said.error is None, edit
    wanted: Any = deepcopy(document.values)
    holder = wanted["workflow"]
    if section is not None:
        if holder.get(section) is None:
            holder[section] = {}
        holder = holder[section]
    holder[name] = value
    assert said.values == wanted, edit


def _at(values: dict[str, Any], path: tuple[Any, ...]) -> Any:
    value: Any = values
    for key in path:
        value = value[key]
    return value
