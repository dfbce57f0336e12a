"""What Merrow says about a text: diagnostics, the places related to them, and fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from typing import NamedTuple, overload

from merrow_analysis.text import Range, TextEdit


class Severity(Enum):
    """How bad it is. Only errors make a workflow invalid."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


class Applicability(IntEnum):
    """Whether a fix may be applied without a look: ordered, so that "at least safe" is one comparison."""

    UNSAFE = 1
    SAFE = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class Tag(Enum):
    """How an editor may draw the range."""

    UNNECESSARY = "unnecessary"
    DEPRECATED = "deprecated"


class Related(NamedTuple):
    """Another place that a diagnostic speaks of; ``file`` is None for the file checked, else a path as it was read."""

    range: Range
    message: str
    file: str | None = None


class Fix(NamedTuple):
    """A remedy: a title in the imperative and minimal edits of the file checked."""

    title: str
    edits: tuple[TextEdit, ...]
    applicability: Applicability = Applicability.SAFE


class Fixes(Sequence[Fix]):
    """The fixes of a finding, best first: each is made when somebody first asks for it, and once.

    ``source`` gives them. A check that hands over a generator has its body run only then, so that no keystroke pays for it. With
    ``guarded`` a fault of Merrow in it ends the fixes, and `fault` says so.
    ``titles`` gives them without their edits and before anybody has looked at what they leave; None if that costs the same.
    """

    __slots__ = ("_before", "_fault", "_guarded", "_made", "_source", "_titles")

    def __init__(
        self,
        source: Iterable[Fix],
        titles: Fixes | None = None,
        *,
        guarded: bool = False,
        before: Fixes | None = None,
    ) -> None:
        self._source = iter(source)
        self._titles = titles
        self._made: list[Fix] = []
        self._guarded, self._before = guarded, before
        self._fault: str | None = None

    @property
    def fault(self) -> str | None:
        """The sentence about a fault that ended the fixes or titles made so far; None where there was none."""
        if self._before is not None:
            return self._before.fault
        return self._fault if self._fault is not None or self._titles is None else self._titles.fault

    @property
    def titles(self) -> Fixes:
        """What the fixes are called and how safe they are, for those who only say so: without edits where these cost something,
        and few may turn out to be none.
        """
        return self if self._titles is None else self._titles

    @property
    def best(self) -> Fix | None:
        """The first fix, which is as safe as any; None where there is none. No other one is made for it."""
        return next(iter(self), None)

    def _makes_another(self) -> bool:
        try:
            fix = next(self._source, None)
        except Exception as problem:
            from merrow_analysis import faults

            if not self._guarded or faults.are_raised():
                raise
            self._fault, fix = faults.sentence("a fix of this finding could not be made", problem), None
            self._source = iter(())
        if fix is not None:
            self._made.append(fix)
        return fix is not None

    def _all(self) -> list[Fix]:
        while self._makes_another():
            pass
        return self._made

    def changed(self, change: Callable[[Fix], Fix]) -> Fixes:
        """These fixes with each one changed, once they are asked for."""
        return Fixes((change(fix) for fix in self), self._titles, before=self)

    @overload
    def __getitem__(self, index: int) -> Fix: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Fix, ...]: ...
    def __getitem__(self, index: int | slice) -> Fix | tuple[Fix, ...]:
        chosen = self._all()[index]
        return tuple(chosen) if isinstance(chosen, list) else chosen

    def __iter__(self) -> Iterator[Fix]:
        number = 0
        while number < len(self._made) or self._makes_another():
            yield self._made[number]
            number += 1

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return tuple(self._all()) == tuple(other) if isinstance(other, (Fixes, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._all()))

    def __repr__(self) -> str:
        return repr(tuple(self._all()))


NO_FIXES = Fixes(())


class Cause(NamedTuple):
    """Another finding, by its rule and place."""

    code: str
    range: Range


class Diagnostic(NamedTuple):
    """One finding. ``code`` and ``name`` are those of the rule that made it.

    ``because`` are findings each of which explains this one, so that it need not be told beside them; empty in what an
    analysis gives.
    """

    code: str
    name: str
    severity: Severity
    message: str
    range: Range
    related: tuple[Related, ...] = ()
    fixes: Fixes = NO_FIXES
    tags: tuple[Tag, ...] = ()
    because: tuple[Cause, ...] = ()


LATER = Fixes(())
"""Stands for the fixes of a finding until somebody asks for them (`merrow_analysis.asked_fixes`)."""


def without_fixes(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings without their fixes and all that these hold, marked as having some."""
    return [
        diagnostic if (fixes := diagnostic.fixes) is NO_FIXES or fixes is LATER else with_fixes(diagnostic, LATER)
        for diagnostic in diagnostics
    ]


def with_fixes(diagnostic: Diagnostic, fixes: Fixes) -> Diagnostic:
    """A finding with other fixes. Each keystroke asks for each finding, and `Diagnostic._replace` takes three times as long."""
    code, name, severity, message, place, related, _, tags, because = diagnostic
    return Diagnostic(code, name, severity, message, place, related, fixes, tags, because)


def because_of(diagnostic: Diagnostic, causes: tuple[Cause, ...]) -> Diagnostic:
    """A finding with other explanations."""
    code, name, severity, message, place, related, fixes, tags, _ = diagnostic
    return Diagnostic(code, name, severity, message, place, related, fixes, tags, causes)
