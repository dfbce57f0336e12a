"""Operator libraries: YAML files of operators and types that a front matter or the configuration names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from merrow_analysis.definitions.declared_operators import declare_operators
from merrow_analysis.definitions.declared_types import declare_types
from merrow_analysis.definitions.prompts import ResourceProblem
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.definitions.yaml.yaml_text import read_bounded_yaml


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """What a library declares, without what is wrong in it; ``problem`` is a sentence about the first thing that is, which is at
    ``offset`` (code points).
    """

    types: dict[str, Any] = field(default_factory=dict)
    operators: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    offset: int = 0


@lru_cache(maxsize=32)
def read_library(text: str, path: str) -> Library:
    """Read a library: ``types:`` and ``operators:`` as in a front matter, or just operators. Never raises."""
    result = read_bounded_yaml(text)
    if result.error is not None:
        line = text.count("\n", 0, result.error.offset) + 1
        return Library(
            problem=f"{path} is not valid YAML at line {line}: {result.error.message}", offset=result.error.offset
        )
    value = result.value
    if value is None:
        return Library()
    if not isinstance(value, dict):
        return Library(problem=f"{path} must be a mapping with `operators:` and `types:`.")
    sections = value if "operators" in value or "types" in value else {"operators": value}
    types, operators = sections.get("types") or {}, sections.get("operators") or {}
    if not isinstance(types, dict) or not isinstance(operators, dict) or not sections.keys() <= {"types", "operators"}:
        return Library(problem=f"{path} must have `operators:` and `types:`, both mappings, and nothing else.")
    table, problems = declare_types(types)
    problems = [*problems, *declare_operators(operators, table)[1]]
    bad = {problem.path[:2] for problem in problems}
    place = result.places(problems[0].path if sections is value else problems[0].path[1:]) if problems else None
    return Library(
        {name: body for name, body in types.items() if ("types", name) not in bad},
        {name: body for name, body in operators.items() if ("operators", name) not in bad},
        f"{path}: {problems[0].message}" if problems else None,
        0 if place is None else place[0][0],
    )


def with_libraries(
    settings: WorkflowSettings, provider: Provider | None, more: Iterable[str] = ()
) -> tuple[WorkflowSettings, tuple[ResourceProblem, ...]]:
    """The settings with the types and operators of the libraries that they and the configuration (``more``) name.

    What the front matter declares itself takes precedence over a library's of the same name, and a later library before an
    earlier one; ``libraries`` then names all of them. The same object comes back where there is no library. ``more``
    are paths relative to the workflow file, as all others.
    """
    paths = [*more, *settings.libraries]
    if provider is None or not paths:
        return settings, ()
    libraries: list[Library] = []
    problems: list[ResourceProblem] = []
    for path in dict.fromkeys(paths):
        try:
            library = read_library(provider.read(path), path)
        except ResourceError as error:
            problems.append(ResourceProblem(path, str(error), provider))
            continue
        if library.problem is not None:
            problems.append(ResourceProblem(path, library.problem))
        libraries.append(library)
    return _merged(settings, tuple(dict.fromkeys(paths)), tuple(libraries)), tuple(problems)


@lru_cache(maxsize=64)
def _merged(settings: WorkflowSettings, paths: tuple[str, ...], libraries: tuple[Library, ...]) -> WorkflowSettings:
    """The same object for the same settings and libraries: by it a typed graph knows that its operators have not changed."""
    types: dict[str, Any] = {}
    operators: dict[str, Any] = {}
    for library in libraries:
        types.update(library.types)
        operators.update(library.operators)
    own = {name.casefold() for name in settings.operators}
    return replace(
        settings,
        libraries=paths,
        types={**types, **settings.types},
        operators={
            **{name: body for name, body in operators.items() if name.casefold() not in own},
            **settings.operators,
        },
    )
