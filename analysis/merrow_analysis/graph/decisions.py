"""How a Decision chooses among the labels of its outgoing edges, and what is wrong with those labels.

What decides is an ``if:`` expression's truth; else a Bool ``when``, against truthy and falsy labels; else the value
of ``when`` against the labels, trimmed and regardless of case; of a union, the name of its kind. ``else`` takes what no
other case takes. A Decision that asks a model chooses by the model's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from merrow_analysis.definitions.plain_values import FALSY, TRUTHY
from merrow_analysis.suggest import Guesses

ELSE = "else"
KIND = "kind"
"""What a value of a union says its kind by (`merrow_runtime.values`)."""

DecidedBy = Literal["truth", "words", "kinds", "text", "model", "unknown"]
"""A Bool or an expression; an enumeration; a union; any other value; a model that is asked; something whose type isn't
known.
"""


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """What is wrong with a Decision's cases: ``kind`` of it, the outgoing edge (or None for the whole), and the
    words it is about.
    """

    kind: Literal["unlabelled", "unknown", "uncovered", "covered"]
    edge: int | None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of a Decision: ``labels`` as first written, ``keys`` as compared, ``of_edge`` the case number of
    each edge.
    """

    decided_by: DecidedBy
    keys: tuple[str, ...]
    labels: tuple[str, ...]
    of_edge: tuple[int | None, ...]
    problems: tuple[CaseProblem, ...]

    def choose(self, value: object) -> int | None:
        """The number of the case that takes ``value`` (of ``when``, or of the ``if:`` expression), or None where
        none does.
        """
        if self.decided_by == "truth" or isinstance(value, bool):
            key = "true" if value else "false"
            if key in self.keys:
                return self.keys.index(key)
            words = TRUTHY if value else FALSY
            return next((n for n, k in enumerate(self.keys) if k in words), self._otherwise())
        if self.decided_by == "kinds" and isinstance(value, Mapping):
            value = value.get(KIND)
        key = str(value).strip().casefold()
        return self.keys.index(key) if key in self.keys and key != ELSE else self._otherwise()

    def named(self, default: object) -> int | None:
        """The number of the case that a ``default:`` names by a label or a value, or None where it names none."""
        if default is None:
            return None
        if not isinstance(default, str):
            return self.choose(default)
        # A label, which is not a value to decide on: the text `no` is as true as any other.
        key = case_key(default, self.decided_by)
        return self.keys.index(key) if key in self.keys else None

    def _otherwise(self) -> int | None:
        return self.keys.index(ELSE) if ELSE in self.keys else None


def case_key(label: str, decided_by: DecidedBy) -> str:
    """The form in which a case's label is compared; truthy words are one case of a Bool, falsy ones the other."""
    folded = label.strip().casefold()
    if decided_by == "truth":
        return "true" if folded in TRUTHY else "false" if folded in FALSY else folded
    return folded


@lru_cache(maxsize=4096)
def read_cases(labels: tuple[str | None, ...], decided_by: DecidedBy, words: tuple[str, ...] = ()) -> Cases:
    """The cases of a Decision whose outgoing edges have these case labels; ``words`` are those of the enumeration
    it reads, or the kinds of the union.
    """
    numbers: dict[str, int] = {}
    first: list[str] = []
    of_edge: list[int | None] = []
    problems: list[CaseProblem] = []
    folded = tuple(word.casefold() for word in words)
    takes = {"truth": ("true", "false"), "words": folded, "kinds": folded}.get(decided_by)
    known = None if takes is None else frozenset(takes)
    for edge, label in enumerate(labels):
        if label is None and decided_by == "model" and labels.index(None) == edge:
            label = ELSE
        if label is None:
            of_edge.append(None)
            problems.append(CaseProblem("unlabelled", edge))
            continue
        key = case_key(label, decided_by)
        if key not in numbers:
            numbers[key] = len(first)
            first.append(label)
            if known is not None and key not in known and key != ELSE:
                problems.append(CaseProblem("unknown", edge, ("yes", "no") if decided_by == "truth" else words))
        of_edge.append(numbers[key])
    problems += _coverage(numbers, of_edge, takes, decided_by, words)
    return Cases(decided_by, tuple(numbers), tuple(first), tuple(of_edge), tuple(problems))


def _coverage(
    numbers: dict[str, int],
    of_edge: Sequence[int | None],
    takes: tuple[str, ...] | None,
    decided_by: DecidedBy,
    words: tuple[str, ...],
) -> list[CaseProblem]:
    if decided_by in ("unknown", "model") or not of_edge or None in of_edge:
        return []
    if takes is None:
        return [] if ELSE in numbers else [CaseProblem("uncovered", None, (ELSE,))]
    missing = [index for index, key in enumerate(takes) if key not in numbers]
    # A case that is misspelled has a finding of its own; what it was meant for is not missing as well.
    known, guesses = frozenset(takes), Guesses()
    for key in numbers:
        if key not in known and key != ELSE and missing:
            meant = guesses.closest(key, (takes[index] for index in missing))
            missing.remove(missing[0] if meant is None else takes.index(meant))
    if ELSE in numbers:
        edge = of_edge.index(numbers[ELSE])
        return [] if missing else [CaseProblem("covered", edge, words)]
    if not missing:
        return []
    spelled = ("yes", "no") if decided_by == "truth" else words
    return [CaseProblem("uncovered", None, tuple(spelled[index] for index in missing))]
