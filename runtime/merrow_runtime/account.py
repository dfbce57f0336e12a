"""What a run and each of its nodes have used, and who answered them."""

from __future__ import annotations

from dataclasses import dataclass, field

from merrow_runtime.provenance import Source
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.visit import Visit


@dataclass(slots=True, eq=False)
class Account:
    """The account of one run. ``before`` is who answered it before it was resumed, as far as this part of it uses their
    answers.
    """

    spent: Usage = NOTHING
    """What the run has used, with what it had used before it was resumed."""
    before: tuple[Source, ...] = ()
    _used: dict[Visit, Usage] = field(default_factory=dict)
    _sources: dict[Visit, dict[Source, None]] = field(default_factory=dict)
    _no_call: dict[Visit, str] = field(default_factory=dict)

    def count(self, usage: Usage, visit: Visit) -> None:
        """Count usage for the run and its node."""
        if usage is not NOTHING:
            self.spent += usage
            self.count_known(usage, visit)

    def count_known(self, usage: Usage, visit: Visit) -> None:
        """Count usage for a node alone: the run has it counted already."""
        before = self._used.get(visit)
        self._used[visit] = usage if before is None else before + usage

    def answered(self, visit: Visit, *sources: Source) -> None:
        """Note who answered a node."""
        self._sources.setdefault(visit, {}).update(dict.fromkeys(sources))

    def no_call(self, visit: Visit, why: str) -> None:
        """Note why a node asked nothing."""
        self._no_call[visit] = why

    def why_no_call(self, visit: Visit) -> str | None:
        """Why a node asked nothing, where it said so."""
        return self._no_call.get(visit)

    def used(self, visit: Visit) -> Usage:
        """What a node has used; with what the journal knew already."""
        return self._used.get(visit, NOTHING)

    def sources(self, visit: Visit) -> tuple[Source, ...]:
        """Who answered a node."""
        return tuple(self._sources.get(visit, ()))

    @property
    def all_sources(self) -> tuple[Source, ...]:
        """Who answered the run, with those who did before it was resumed."""
        return tuple(dict.fromkeys([*self.before, *(one for sources in self._sources.values() for one in sources)]))
