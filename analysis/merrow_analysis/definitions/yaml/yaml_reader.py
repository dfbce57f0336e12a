"""The upper half of the YAML reader: nodes, collections and anchors.

Nesting is limited as js-yaml limits it (`MAX_DEPTH`), so that recursion here is bounded whatever the text. Aliases
share the value they name; nothing is ever copied or walked, so a text of aliases of aliases costs no more than its
length.
"""

from __future__ import annotations

from typing import NamedTuple

from merrow_analysis.definitions.yaml.yaml_scalars import WrongTagError, key_text, plain_value, tagged_value
from merrow_analysis.definitions.yaml.yaml_scanner import YamlScanner
from merrow_analysis.text import Span

MAX_DEPTH = 100
_TAGS = {
    f"tag:yaml.org,2002:{name}": (kind, name)
    for kind, names in {
        "scalar": ("str", "null", "bool", "int", "float"),
        "sequence": ("seq",),
        "mapping": ("map",),
    }.items()
    for name in names
}


_FLOW_IN, _FLOW_OUT, _BLOCK_IN, _BLOCK_OUT = 1, 2, 3, 4
"""Where a node stands: in a flow collection, as the key of a block mapping, in a list, elsewhere."""


class Mark(NamedTuple):
    """Where an entry of a mapping or list stands: offsets of its key (the value's for a list) and of its value."""

    container: object
    key: str | int
    key_start: int
    key_end: int
    value_start: int
    value_end: int


class YamlReader(YamlScanner):
    """Reads nodes of one text; ``marks`` collects the places of all entries."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self.anchors: dict[str, object] = {}
        self._undo: list[tuple[str, bool, object]] = []
        self.marks: list[Mark] = []
        self.start = 0
        self.first_alias: int | None = None

    def node(self) -> object:
        """The value that begins here, of any kind."""
        self.anchors.clear()
        self._undo.clear()
        self._compose(self.line_indent - 1, _BLOCK_OUT, seek=False, compact=True)
        return self.result

    def _store(self, name: str, value: object) -> None:
        anchors = self.anchors
        self._undo.append((name, name in anchors, anchors.get(name)))
        anchors[name] = value

    def _compose(self, parent_indent: int, context: int, *, seek: bool, compact: bool) -> bool:
        """Read one node into ``result``, ``start`` and ``end``; whether there was one (an empty one is None)."""
        if self._depth >= MAX_DEPTH:
            self.fail(f"Values may be nested {MAX_DEPTH} deep at most.")
        self._depth += 1
        entry = self.pos
        self.tag = self.anchor = self.kind = self.result = None
        block = context >= _BLOCK_IN
        collections = block
        at_new_line = False
        order = 1
        if seek and self.skip(comments=True):
            at_new_line = True
            order = self.line_indent - parent_indent
        before_property: tuple[int, int, int, int] | None = None
        if order > 0:
            while (char := self.text[self.pos]) in "!&":
                if at_new_line and (self.tag if char == "!" else self.anchor) is not None:
                    break
                before = self.pos, self.line_start, self.line_indent, self.first_tab
                self.read_tag() if char == "!" else self.read_anchor()
                before_property = before_property or before
                if self.skip(comments=True):
                    at_new_line = True
                    collections = block
                    order = self.line_indent - parent_indent
                else:
                    collections = False
        collections = collections and (at_new_line or compact)
        start = self.pos if before_property is None else before_property[0]
        content = False
        if order > 0:
            flow_indent = parent_indent if context <= _FLOW_OUT else parent_indent + 1
            content = self._content(flow_indent, context, collections, before_property)
        elif order == 0 and context == _BLOCK_OUT:
            content = collections and self._block_sequence(self.pos - self.line_start)
        if not content:
            self.end = entry
            start = entry if before_property is None else start
        self._resolve(start)
        if self.anchor is not None:
            self._store(self.anchor, self.result)
        self.start = start
        self._depth -= 1
        return content or self.tag is not None or self.anchor is not None

    def _content(
        self, flow_indent: int, context: int, collections: bool, before_property: tuple[int, int, int, int] | None
    ) -> bool:
        indent = self.pos - self.line_start
        if (
            collections and (self._block_sequence(indent) or self._block_mapping(indent, flow_indent))
        ) or self._flow_collection(flow_indent):
            return True
        block = context >= _BLOCK_IN
        content = False
        if (
            before_property is not None
            and block
            and not collections
            and self.text[self.pos] not in "|>"
            and self._mapping_from_property(before_property, flow_indent)
        ) or ((block and self.block_scalar(flow_indent)) or self.single_quoted() or self.double_quoted()):
            content = True
        elif self.text[self.pos] == "*":
            self._alias()
            content = True
        elif self.plain(flow_indent, in_flow=context == _FLOW_IN):
            content = True
            if self.tag is None:
                self.tag = "?"
        if self.anchor is not None:
            self._store(self.anchor, self.result)
        return content

    def _alias(self) -> None:
        start = self.pos
        name = self.name("*")
        if name not in self.anchors:
            self.fail(f"No value is named &{name} above this; put the value in quotes if * is meant to be text.", start)
        if self.tag is not None or self.anchor is not None:
            self.fail("A reference *name can't have a tag or an anchor.", start)
        if self.first_alias is None:
            self.first_alias = start
        self.result = self.anchors[name]
        self.end = self.pos
        self.skip(comments=True)

    def _mapping_from_property(self, before: tuple[int, int, int, int], flow_indent: int) -> bool:
        """Whether the tag or anchor just read is that of the first key of a mapping; if so, read the mapping."""
        after = self.pos, self.line_start, self.line_indent, self.first_tab
        node = self.tag, self.anchor, self.kind, self.result
        stored, marked = len(self._undo), len(self.marks)
        self.pos, self.line_start, self.line_indent, self.first_tab = before
        self.tag = self.anchor = self.kind = self.result = None
        if self._block_mapping(self.pos - self.line_start, flow_indent) and self.kind == "mapping":
            return True
        while len(self._undo) > stored:
            name, existed, value = self._undo.pop()
            if existed:
                self.anchors[name] = value
            else:
                del self.anchors[name]
        del self.marks[marked:]
        self.pos, self.line_start, self.line_indent, self.first_tab = after
        self.tag, self.anchor, self.kind, self.result = node
        return False

    def _resolve(self, start: int) -> None:
        """Make ``result`` the value that the node's tag, or its looks where it is a plain scalar, want."""
        tag = self.tag
        if tag is None or tag == "!":
            return
        if tag == "?":
            if isinstance(self.result, str) and self.kind == "scalar" and self.result:
                self.result = plain_value(self.result)
            elif self.result is not None and self.kind != "scalar":
                self.fail("The tag !<?> is for text only.", start)
            return
        kind, name = _TAGS.get(tag, (None, ""))
        if kind is None or (self.kind != kind and (self.kind is not None or self.result is not None)):
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            self.fail(f"The tag {shown} is not known or not for this kind of value.", start)
        if kind == "sequence":
            self.result = [] if self.result is None else self.result
        elif kind == "mapping":
            self.result = {} if self.result is None else self.result
        else:
            try:
                self.result = tagged_value(name, self.result)
            except WrongTagError:
                self.fail(f"This value can't be read as !!{name}.", start)

    def _store_pair(
        self, mapping: dict[str, object], key: object, value: object, key_span: Span, value_span: Span
    ) -> None:
        if isinstance(key, str):
            name = key
        else:
            try:
                name = key_text(key)
            except ValueError as error:
                self.fail(f"{error}.".capitalize(), key_span[0])
        if name in mapping:
            self.fail(f"The key {name} is here for the second time.", key_span[0])
        mapping[name] = value
        self.marks.append(Mark(mapping, name, *key_span, *value_span))

    def _flow_collection(self, indent: int) -> bool:
        text = self.text
        opening = text[self.pos]
        if opening == "[":
            terminator = "]"
        elif opening == "{":
            terminator = "}"
        else:
            return False
        tag, anchor, begin = self.tag, self.anchor, self.pos
        items: list[object] = []
        mapping: dict[str, object] = {}
        is_mapping = opening == "{"
        result: object = mapping if is_mapping else items
        if anchor is not None:
            self._store(anchor, result)
        self.pos += 1
        comma = True
        while True:
            self.skip(comments=True)
            char = text[self.pos]
            if char == terminator:
                self.pos += 1
                self.kind = "mapping" if is_mapping else "sequence"
                self.tag, self.anchor, self.result, self.end = tag, anchor, result, self.pos
                return True
            if char == "\0":
                self.fail(f"The {opening} that begins here is never closed.", begin)
            if not comma:
                self.fail(f"A comma is missing before this, or a {terminator}.")
            if char == ",":
                self.fail("A value is missing before this comma.")
            self._flow_entry(indent, items, mapping if is_mapping else None)
            self.skip(comments=True)
            comma = text[self.pos] == ","
            if comma:
                self.pos += 1

    def _flow_entry(self, indent: int, items: list[object], mapping: dict[str, object] | None) -> None:
        text = self.text
        explicit = text[self.pos] == "?" and text[self.pos + 1] in " \t\r\n"
        if explicit:
            self.pos += 1
            self.skip(comments=True)
        line = self.line_start
        self._compose(indent, _FLOW_IN, seek=False, compact=True)
        key, key_span = self.result, (self.start, self.end)
        value: object = None
        value_span = (self.end, self.end)
        self.skip(comments=True)
        pair = explicit
        if (explicit or self.line_start == line) and text[self.pos] == ":":
            pair = True
            self.pos += 1
            self.skip(comments=True)
            self._compose(indent, _FLOW_IN, seek=False, compact=True)
            value, value_span = self.result, (self.start, self.end)
        if mapping is not None:
            self._store_pair(mapping, key, value, key_span, value_span)
            return
        if pair:
            single: dict[str, object] = {}
            self._store_pair(single, key, value, key_span, value_span)
            key, key_span = single, (key_span[0], value_span[1])
        self.marks.append(Mark(items, len(items), *key_span, *key_span))
        items.append(key)

    def refuse_tab(self) -> None:
        if self.first_tab != -1:
            self.fail("A tab can't indent in YAML; use spaces.", self.first_tab)

    def _block_sequence(self, indent: int) -> bool:
        if self.first_tab != -1:
            return False
        text = self.text
        tag, anchor = self.tag, self.anchor
        items: list[object] = []
        if anchor is not None:
            self._store(anchor, items)
        has_items = False
        while text[self.pos] != "\0":
            self.refuse_tab()
            if text[self.pos] != "-" or text[self.pos + 1] not in " \t\r\n":
                break
            has_items = True
            self.pos += 1
            dash_end = self.pos
            if self.skip(comments=True) and self.line_indent <= indent:
                self.marks.append(Mark(items, len(items), dash_end, dash_end, dash_end, dash_end))
                items.append(None)
                self.end = dash_end
                continue
            line = self.line_start
            self._compose(indent, _BLOCK_IN, seek=False, compact=True)
            self.marks.append(Mark(items, len(items), self.start, self.end, self.start, self.end))
            items.append(self.result)
            self.skip(comments=True)
            if (self.line_start == line or self.line_indent > indent) and text[self.pos] != "\0":
                self.fail("This can't follow an entry of the list; indent it as they are, or put the entry in quotes.")
            if self.line_indent < indent:
                break
        if has_items:
            self.tag, self.anchor, self.kind, self.result = tag, anchor, "sequence", items
        return has_items

    def _block_mapping(self, indent: int, flow_indent: int) -> bool:
        """A mapping, or the one scalar or flow collection that takes its place: then ``kind`` is not "mapping"."""
        if self.first_tab != -1:
            return False
        text = self.text
        tag, anchor = self.tag, self.anchor
        mapping: dict[str, object] = {}
        if anchor is not None:
            self._store(anchor, mapping)
        explicit_key = has_entries = compact = False
        key: object = None
        key_span = (self.pos, self.pos)
        while (char := text[self.pos]) != "\0":
            if not explicit_key:
                self.refuse_tab()
            line = self.line_start
            if char in "?:" and text[self.pos + 1] in " \t\r\n":
                if char == "?":
                    if explicit_key:
                        self._store_pair(mapping, key, None, key_span, (key_span[1], key_span[1]))
                        key = None
                    has_entries = explicit_key = compact = True
                elif explicit_key:
                    explicit_key = False
                    compact = True
                else:
                    self.fail("A key is missing before this colon.")
                self.pos += 1
            else:
                if not self._compose(flow_indent, _FLOW_OUT, seek=False, compact=True):
                    break
                new_key, new_span = self.result, (self.start, self.end)
                if self.line_start != line or not self._colon(new_span[0]):
                    if has_entries:
                        self.fail("A colon with a blank behind it is missing after this key.", new_span[0])
                    self.tag, self.anchor = tag, anchor
                    return True
                if explicit_key:
                    self._store_pair(mapping, key, None, key_span, (key_span[1], key_span[1]))
                key, key_span = new_key, new_span
                has_entries = True
                explicit_key = compact = False
            if self.line_start == line or self.line_indent > indent:
                composed = self._compose(indent, _BLOCK_OUT, seek=True, compact=compact)
                if explicit_key:
                    key, key_span = (self.result if composed else key), (self.start, self.end)
                else:
                    value = self.result if composed else None
                    self._store_pair(mapping, key, value, key_span, (self.start, self.end))
                    key = None
                self.skip(comments=True)
            if (self.line_start == line or self.line_indent > indent) and text[self.pos] != "\0":
                self.fail("This can't follow the value above; check its indentation, or put the value in quotes.")
            if self.line_indent < indent:
                break
        if explicit_key:
            self._store_pair(mapping, key, None, key_span, (key_span[1], key_span[1]))
        if has_entries:
            self.tag, self.anchor, self.kind, self.result = tag, anchor, "mapping", mapping
        return has_entries

    def _colon(self, key_start: int) -> bool:
        """Go over the colon behind a key, if there is one on its line."""
        text = self.text
        while text[self.pos] in " \t":
            self.pos += 1
        if text[self.pos] != ":":
            return False
        self.pos += 1
        if text[self.pos] not in " \t\r\n":
            self.fail("A blank is missing after the colon of this key.", key_start)
        return True
