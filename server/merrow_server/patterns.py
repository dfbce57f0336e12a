"""The mutation operators of a workspace: the built-in patterns, and those that it keeps in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from merrow_optimizer.mutations import subgraph
from merrow_optimizer.mutations.names import SUBGRAPH
from merrow_optimizer.mutations.moves import OPERATORS, Proposals
from merrow_optimizer.mutations.patterns import FOLDER, Pattern, PatternProblem, all_patterns, workspace_patterns
from merrow_server.workspace import Surroundings


def operators_of(
    folder: Path, surroundings: Surroundings
) -> tuple[Mapping[str, Proposals], tuple[PatternProblem, ...]]:
    """All operators for workflow files in ``folder``, and what is wrong with the workspace's patterns."""
    patterns, problems = patterns_of(folder, surroundings)
    return {**OPERATORS, SUBGRAPH: subgraph.with_patterns(patterns)}, problems


def patterns_of(folder: Path, surroundings: Surroundings) -> tuple[tuple[Pattern, ...], tuple[PatternProblem, ...]]:
    """All patterns for workflow files in ``folder``, and what is wrong with the workspace's own."""
    paths = _files(surroundings.root(folder) / FOLDER)
    own, problems = workspace_patterns(surroundings.provider(folder), paths) if paths else ((), ())
    return all_patterns(own), problems


def _files(folder: Path) -> list[str]:
    try:
        return sorted(str(path) for path in folder.glob("*.mmd") if path.is_file())
    except OSError:
        return []
