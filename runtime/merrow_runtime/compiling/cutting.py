"""Cuts code out of Merrow's own modules: all that some names reach, in one text that imports none of them.

What is cut out is the installed source, without annotations: those say what only type checkers read, and would lead everywhere.
Names that two modules give to different things get the module's name as well.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from merrow_runtime.compiling.modules import Definition, Edit, Imported, Module, Use

_FOR_CHECKERS = re.compile(r"  # (?:noqa|type: ignore)[^\n]*")
Place = tuple[str, str]
"""A module and a name in it."""


@cache
def module_named(name: str) -> Module:
    """A module of Merrow's, read once."""
    return Module(name)


@dataclass(slots=True)
class _Cut:
    """What is reached so far. ``instead`` has for some places those that stand in for them."""

    instead: Mapping[Place, Place]
    reached: dict[Place, None] = field(default_factory=dict)
    foreign: dict[Imported, None] = field(default_factory=dict)
    waiting: list[Place] = field(default_factory=list)
    before: dict[str, set[str]] = field(default_factory=dict)
    """By module those of which it uses something."""

    def resolve(self, module: Module, name: str) -> Place | Imported | None:
        """What a name in a module stands for: a place where it is defined, something from elsewhere, or neither."""
        seen: set[Place] = set()
        while (module.name, name) not in seen:
            seen.add((module.name, name))
            place = self.instead.get((module.name, name))
            if place is not None:
                module, name = module_named(place[0]), place[1]
                continue
            if module.defines(name):
                return module.name, name
            imported = module.imports.get(name)
            if imported is None or not imported.is_own or imported.name is None:
                return imported
            module, name = module_named(imported.module), imported.name
        return None

    def of(self, module: Module, use: Use) -> Place | Imported | None:
        """What a use stands for. ``module.name`` where the first is a module is the name in that."""
        if use.attribute is None:
            return self.resolve(module, use.name)
        imported = module.imports[use.name]
        assert imported.name is not None  # noqa: S101 (such a use is of something imported from a module)
        inner = _submodule(imported)
        return self.resolve(inner, use.attribute) if inner is not None else self.resolve(module, use.name)

    def reach(self, found: Place | Imported | None) -> None:
        if isinstance(found, Imported):
            self.foreign[found] = None
        elif found is not None and found not in self.reached:
            self.reached[found] = None
            self.waiting.append(found)

    def follow(self) -> None:
        """Reach all that is named by what is reached."""
        for module_name, name in self.waiting:  # It grows meanwhile.
            module = module_named(module_name)
            definition = module.definition(name)
            for use in _uses(definition):
                found = self.of(module, use)
                self.reach(found)
                if found is not None and not isinstance(found, Imported) and found[0] != module_name:
                    self.before.setdefault(module_name, set()).add(found[0])


def _uses(definition: Definition) -> Iterable[Use]:
    yield from definition.uses
    for one in definition.formatted:
        yield from one.uses


@cache
def _submodule(imported: Imported) -> Module | None:
    """The module that ``from package import name`` gives, where it is one."""
    package = module_named(imported.module)
    if not package.is_package or imported.name is None or package.defines(imported.name):
        return None
    if imported.name in package.imports:
        return None
    return module_named(f"{imported.module}.{imported.name}")


def _is_module(module: Module, use: Use) -> bool:
    imported = module.imports.get(use.name)
    return use.attribute is not None and imported is not None and _submodule(imported) is not None


def cut_out(roots: Sequence[Place], taken: Iterable[str] = (), instead: Mapping[Place, Place] | None = None) -> str:
    """The code of these places and of all that they reach, as one text, with the imports that it needs first.

    The roots keep their names; all others are told from ``taken`` and from each other. ``instead`` has for some places those
    that stand in for them.
    """
    cut = _Cut(instead or {})
    for root in roots:
        cut.reach(root)
    cut.follow()
    names = _named(cut, roots, taken)
    lines = _imports(cut, names)
    parts = [_written(cut, definition, names) for definition in _in_order(cut)]
    return "\n".join(lines) + "\n\n\n" + "\n\n\n".join(parts) + "\n"


def _in_order(cut: _Cut) -> list[Definition]:
    """The definitions, those of a module after those of the modules that it uses: they import each other one way."""
    by_module: dict[str, list[str]] = {}
    for owner, own_name in cut.reached:
        by_module.setdefault(owner, []).append(own_name)
    order: list[str] = []
    done: set[str] = set()
    for start in sorted(by_module):
        if start in done:
            continue
        done.add(start)
        stack = [(start, iter(sorted(cut.before.get(start, ()))))]
        while stack:
            name, left = stack[-1]
            following = next((one for one in left if one not in done), None)
            if following is None:
                stack.pop()
                order.append(name)
            else:
                done.add(following)
                stack.append((following, iter(sorted(cut.before.get(following, ())))))
    found: list[Definition] = []
    for named in order:
        module = module_named(named)
        own = sorted(by_module.get(named, ()), key=module.order.__getitem__)
        # One statement may define several names.
        found += {id(one): one for one in map(module.definition, own)}.values()
    return found


def _named(cut: _Cut, roots: Sequence[Place], taken: Iterable[str]) -> dict[Place | Imported, str]:
    """What each thing is called in the text: by its own name, with that of its module where another has it."""
    names: dict[Place | Imported, str] = {root: root[1] for root in roots}
    # An import that a function hides by a variable of its own would be hard to read.
    hidden = {name for module, own in cut.reached for name in module_named(module).definition(own).inner}
    used = {*names.values(), *taken, *hidden}
    for imported in sorted(cut.foreign, key=lambda one: (one.module, one.name or "")):
        own = imported.name or imported.module
        name = own if own not in used or "." in own else f"{own}_of_{imported.module.replace('.', '_')}"
        names[imported] = name
        used.add(name.partition(".")[0])
    used -= hidden
    for place in sorted(cut.reached):
        if place in names:
            continue
        module, own = place
        name = own
        parts = module.split(".")
        while name in used:
            name = f"{own}_{parts.pop()}" if parts else f"{name}_"
        names[place] = name
        used.add(name)
    return names


def _imports(cut: _Cut, names: Mapping[Place | Imported, str]) -> list[str]:
    whole: list[str] = []
    parts: dict[str, list[str]] = {}
    for imported in cut.foreign:
        name = names[imported]
        if imported.name is None:
            whole.append(f"import {name}" if name == imported.module else f"import {imported.module} as {name}")
        else:
            own = imported.name
            parts.setdefault(imported.module, []).append(own if own == name else f"{own} as {name}")
    return [*sorted(whole), *(f"from {module} import {', '.join(sorted(parts[module]))}" for module in sorted(parts))]


def _written(cut: _Cut, definition: Definition, names: Mapping[Place | Imported, str]) -> str:
    module = module_named(definition.module)
    edits = list(definition.edits)
    for use in definition.uses:
        found = cut.of(module, use)
        if found is None:
            continue
        name, written = names[found], use.name
        if use.attribute is not None:
            if not _is_module(module, use):
                name = f"{name}.{use.attribute}"
            written = f"{use.name}.{use.attribute}"
        if name != written:
            edits.append(Edit(use.start, use.end, name.encode()))
    for one in definition.formatted:
        renamed = {}
        for use in one.uses:
            found = cut.of(module, use)
            if found is not None and use.attribute is None and names[found] != use.name:
                renamed[use.name] = names[found]
        if renamed:
            edits.append(Edit(one.start, one.end, _formatted(one.node, renamed).encode()))
    text = definition.text
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return _FOR_CHECKERS.sub("", text.decode())


def _formatted(node: ast.JoinedStr, renamed: Mapping[str, str]) -> str:
    node = copy.deepcopy(node)
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            one.id = renamed.get(one.id, one.id)
    return ast.unparse(node)
