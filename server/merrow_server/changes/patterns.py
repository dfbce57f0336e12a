"""The mutation operators of a workspace: the built-in patterns, those that it keeps in a folder of its own, and those that
its settings name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from merrow_optimizer.mutations import subgraph
from merrow_optimizer.mutations.moves import OPERATORS, Proposals
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.patterns import FOLDER, Pattern, PatternProblem, all_patterns, workspace_patterns
from merrow_server.workspace import WorkspaceFinder


def operators_of(
    folder: Path, surroundings: WorkspaceFinder, named: Iterable[str] = ()
) -> tuple[Mapping[str, Proposals], tuple[PatternProblem, ...]]:
    """All operators for workflow files in ``folder``, and what is wrong with the workspace's patterns."""
    patterns, problems = patterns_of(folder, surroundings, named)
    return {**OPERATORS, SUBGRAPH: subgraph.with_patterns(patterns)}, problems


def patterns_of(
    folder: Path, surroundings: WorkspaceFinder, named: Iterable[str] = ()
) -> tuple[tuple[Pattern, ...], tuple[PatternProblem, ...]]:
    """All patterns for workflow files in ``folder``, and what is wrong with the workspace's own.

    ``named`` are the files and folders that the settings name, from ``folder``; of two patterns of a name the settings' one
    counts.
    """
    root = surroundings.root(folder).resolve()
    paths: list[str] = []
    problems: list[PatternProblem] = []
    for name in dict.fromkeys(named):
        place = (folder / name).resolve()
        if not place.is_relative_to(root):
            problems.append(PatternProblem(name, "Patterns must lie in the workspace."))
        elif place.is_dir():
            paths += _files(place)
        elif place.is_file():
            paths.append(str(place))
        else:
            problems.append(PatternProblem(name, "There is no such file or folder of patterns."))
    own: dict[str, Pattern] = {}
    for listed in (_files(surroundings.root(folder) / FOLDER), paths):
        patterns, wrong = workspace_patterns(surroundings.provider(folder), listed) if listed else ((), ())
        own.update((pattern.name, pattern) for pattern in patterns)
        problems += wrong
    return all_patterns(own.values()), tuple(problems)


def _files(folder: Path) -> list[str]:
    try:
        return sorted(str(path) for path in folder.glob("*.mmd") if path.is_file())
    except OSError:
        return []
