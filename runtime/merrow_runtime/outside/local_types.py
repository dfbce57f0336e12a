"""What a local tool takes and gives as JSON Schemas, read from the annotations in its text."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from typing import Any

from merrow_analysis.bounded.python_source import literal, parse_python
from merrow_runtime.models.tool_servers import shown_name

_PLAIN = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_DEEPEST = 10
_MOST_PARTS = 2_000
_LONGEST_QUOTED = 1_000
TYPES = "use str, int, float, bool, list[...], dict, Literal[...], Optional[...], or a dataclass or TypedDict of the same file"


class Annotations:
    """JSON Schemas of the annotations in a file. ``has_objects`` is set once one had a dataclass, whose values are made of plain
    data.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.has_objects = False
        self._left = _MOST_PARTS
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._named = dict(_named_types(tree))

    def given(self, node: ast.expr) -> dict[str, Any]:
        """The schema of what a parameter takes. Raises `ValueError` for a type that has none here."""
        return self._schema(node, (), gives=False)

    def result(self, node: ast.expr) -> dict[str, Any]:
        """The schema of a result. Raises `ValueError` likewise."""
        return self._schema(node, (), gives=True)

    def _schema(self, node: ast.expr, inside: tuple[str, ...], *, gives: bool) -> dict[str, Any]:
        """``inside`` are the names of the types that are around it, with an empty one for each without a name."""
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"its types have more than {_MOST_PARTS:,} parts; take and give fewer fields")
        if len(inside) > _DEEPEST:
            raise ValueError(f"a type nests more than {_DEEPEST} levels")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._schema(_quoted(node.value), (*inside, ""), gives=gives)
        name = _name(node)
        if name in _PLAIN:
            return {"type": _PLAIN[name]}
        if isinstance(node, ast.Name) and (name in self._classes or name in self._named):
            if name in inside:
                raise ValueError(f"the type {shown_name(name)} is part of itself; use dict for such values")
            if name in self._named:
                return self._schema(self._named[name], (*inside, name), gives=gives)
            return self._record(self._classes[name], (*inside, name), gives=gives)
        if name in ("dict", "list"):
            return {"type": "object" if name == "dict" else "array"}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._or_none([node.left, node.right], inside, gives=gives)
        if isinstance(node, ast.Subscript):
            return self._of_parts(node, inside, gives=gives)
        raise _unusable(node)

    def _of_parts(self, node: ast.Subscript, inside: tuple[str, ...], *, gives: bool) -> dict[str, Any]:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

        def schema(part: ast.expr) -> dict[str, Any]:
            return self._schema(part, (*inside, ""), gives=gives)

        match _name(node.value):
            case "list" | "List" if len(parts) == 1:
                return {"type": "array", "items": schema(parts[0])}
            case "dict" | "Dict" if len(parts) == 2 and _name(parts[0]) == "str":
                return {
                    "type": "object",
                    "additionalProperties": {} if _name(parts[1]) == "Any" else schema(parts[1]),
                }
            case "Literal":
                words = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                if len(words) == len(parts):
                    return {"type": "string", "enum": words}
            case "Optional" if len(parts) == 1:
                return self._or_none([parts[0], ast.Constant(None)], inside, gives=gives)
            case "Annotated" if parts:
                return schema(parts[0])
            case "NotRequired" | "Required" | "ReadOnly" if len(parts) == 1:
                return schema(parts[0])
        raise _unusable(node)

    def _or_none(self, parts: list[ast.expr], inside: tuple[str, ...], *, gives: bool) -> dict[str, Any]:
        rest = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
        if len(rest) != 1:
            raise ValueError(f"only a type or None can be chosen between; {TYPES}")
        return {"anyOf": [self._schema(rest[0], (*inside, ""), gives=gives), {"type": "null"}]}

    def _record(self, node: ast.ClassDef, inside: tuple[str, ...], *, gives: bool) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        for owner in self._line(node):
            if _is_dataclass(owner):
                self.has_objects = True
                fields = self._of_dataclass(owner, inside, gives=gives)
            else:
                fields = self._of_typed_dict(owner, inside, gives=gives)
            for name, schema, is_required in fields:
                properties[name] = schema
                required = [other for other in required if other != name] + ([name] if is_required else [])
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def _line(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """A class that has fields, after those that it takes fields from. Raises `ValueError` for any other."""
        line = [node]
        while True:
            bases = [base for base in line[0].bases if _name(base) not in ("TypedDict", "object")]
            if not bases:
                break
            owner = self._classes.get(_name(bases[0]))
            if len(bases) > 1 or owner is None or owner in line or len(line) >= _DEEPEST:
                break
            line.insert(0, owner)
        is_typed = any(_name(base) == "TypedDict" for base in line[0].bases)
        are_dataclasses = [_is_dataclass(owner) for owner in line]
        if bases or not (all(are_dataclasses) or (is_typed and not any(are_dataclasses))):
            raise ValueError(f"the class {shown_name(node.name)} can't be used; {TYPES}")
        return line

    def _of_typed_dict(
        self, node: ast.ClassDef, inside: tuple[str, ...], *, gives: bool
    ) -> Iterator[tuple[str, dict[str, Any], bool]]:
        is_partial = any(word.arg == "total" and _is(word.value, value=False) for word in node.keywords)
        for name, annotation, _ in _fields(node):
            said = _name(annotation.value) if isinstance(annotation, ast.Subscript) else ""
            is_required = said == "Required" or (said != "NotRequired" and not is_partial)
            yield name, self._schema(annotation, inside, gives=gives), is_required

    def _of_dataclass(
        self, node: ast.ClassDef, inside: tuple[str, ...], *, gives: bool
    ) -> Iterator[tuple[str, dict[str, Any], bool]]:
        for name, annotation, value in _fields(node):
            outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
            if _name(outer) == "ClassVar":
                continue
            if _name(outer) == "InitVar":
                raise ValueError(f"the field {shown_name(name)} of {node.name} is an InitVar, which no value has")
            said: dict[str | None, ast.expr | None] = {"default": value}
            if isinstance(value, ast.Call) and _name(value.func) == "field":
                said = {word.arg: word.value for word in value.keywords}
            is_made = said.get("init") is None or not _is(said["init"], value=False)
            if not gives and not is_made:
                continue
            schema = self._schema(annotation, inside, gives=gives)
            default = said.get("default")
            if not gives and default is not None:
                schema = with_default(schema, default, f"field {shown_name(name)} of {node.name}")
            yield name, schema, gives or (default is None and "default_factory" not in said)


def with_default(schema: dict[str, Any], default: ast.expr, what: str) -> dict[str, Any]:
    """A schema with the default that ``what`` has. Raises `ValueError` where that is no literal."""
    try:
        value = literal(ast.unparse(default))
        json.dumps(value, allow_nan=False)
    except (SyntaxError, ValueError, TypeError):
        raise ValueError(f"the default of {what} must be a literal") from None
    return {**schema, "default": value}


def _named_types(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Types that a file gives names: ``Grade = Literal["new", "used"]``, ``type Grade = ...``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and _name(node.annotation) == "TypeAlias" and node.value is not None:
            yield _name(node.target), node.value
        elif type(node).__name__ == "TypeAlias":  # of Python 3.12
            yield _name(node.name), node.value  # type: ignore[attr-defined]


def _fields(node: ast.ClassDef) -> Iterable[tuple[str, ast.expr, ast.expr | None]]:
    """The fields of a class, each with its annotation and what is assigned to it."""
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            annotation = part.annotation
            if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                annotation = _quoted(annotation.value)
            yield part.target.id, annotation, part.value


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any(_name(one.func if isinstance(one, ast.Call) else one) == "dataclass" for one in node.decorator_list)


def _is(node: ast.expr | None, *, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _quoted(text: str) -> ast.expr:
    """The type in a quoted annotation. Raises `ValueError`."""
    try:
        body = parse_python(text.strip(), _LONGEST_QUOTED).body
    except (SyntaxError, ValueError):
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ValueError(f"the type {shown_name(text)} can't be read; {TYPES}")
    return body[0].value


def _name(node: ast.expr | None) -> str:
    """The last name of a dotted one; empty for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _unusable(node: ast.expr) -> ValueError:
    return ValueError(f"the type {shown_name(ast.unparse(node))} can't be used; {TYPES}")
