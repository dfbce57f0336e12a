"""The patterns there are: those that come with Merrow, and those that a user keeps as files in the workspace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_optimizer.mutations.patterns.pattern_file import Pattern, PatternFileError, read_pattern

FOLDER = ".merrow/patterns"
"""Where a workspace keeps patterns of its own: every ``*.mmd`` file in it."""

_SUFFIX = ".mmd"


@dataclass(frozen=True, slots=True)
class PatternProblem:
    """A file that can't be used as a pattern: its path as it was asked for, and a sentence."""

    path: str
    message: str


@cache
def built_in_patterns() -> tuple[Pattern, ...]:
    """The patterns that come with Merrow, in the order of their names."""
    entries = [entry for entry in files(__package__).iterdir() if entry.name.endswith(_SUFFIX)]
    entries.sort(key=lambda entry: entry.name)
    return tuple(read_pattern(entry.read_text(encoding="utf-8"), _name(entry.name)) for entry in entries)


def workspace_patterns(
    provider: Provider, paths: Iterable[str]
) -> tuple[tuple[Pattern, ...], tuple[PatternProblem, ...]]:
    """Read pattern files through the provider, in the order of their names; what is not a pattern is told and left out.

    ``paths`` are relative to the workflow file, as all paths that a provider takes.
    """
    patterns: dict[str, Pattern] = {}
    problems: list[PatternProblem] = []
    for path in sorted(dict.fromkeys(paths)):
        try:
            name = _name(path.rpartition("/")[2])
            patterns[name] = read_pattern(provider.read(path), name)
        except (ResourceError, PatternFileError) as error:
            problems.append(PatternProblem(path, str(error)))
    return tuple(patterns[name] for name in sorted(patterns)), tuple(problems)


def all_patterns(own: Iterable[Pattern] = ()) -> tuple[Pattern, ...]:
    """The built-in patterns and the user's ``own``, in the order of their names; an own one replaces one of its name."""
    known = {pattern.name: pattern for pattern in (*built_in_patterns(), *own)}
    return tuple(known[name] for name in sorted(known))


def _name(file: str) -> str:
    return file.removesuffix(_SUFFIX)
