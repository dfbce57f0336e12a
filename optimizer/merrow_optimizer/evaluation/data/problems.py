"""What is wrong with data: mistakes with their places, collected and raised together before anything is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class DataProblem:
    """One mistake: a sentence with a remedy, and its file, line (from 1) and field as far as it has them."""

    sentence: str
    file: Path | None = None
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:{'' if self.line is None else f'{self.line}:'} "
        return f"{place}{'' if self.field is None else f'`{self.field}`: '}{self.sentence}"


class DataError(Exception):
    """Data, or the way to read or score it, is wrong. ``str()`` has a line for each of the first 20 problems."""

    def __init__(self, problems: Iterable[DataProblem]) -> None:
        self.problems: tuple[DataProblem, ...] = tuple(problems)
        lines = [str(problem) for problem in self.problems[:_MOST_SHOWN]]
        more = len(self.problems) - _MOST_SHOWN
        if more > 0:
            lines.append(f"({more} more problem{'s' if more > 1 else ''}.)")
        super().__init__("\n".join(lines))

    @classmethod
    def of(
        cls, sentence: str, file: Path | None = None, line: int | None = None, field: str | None = None
    ) -> DataError:
        """The error of a single problem."""
        return cls([DataProblem(sentence, file, line, field)])


@dataclass(slots=True)
class Collector:
    """Problems of one file as they are found."""

    file: Path
    found: list[DataProblem] = field(default_factory=list)

    def add(self, sentence: str, line: int | None = None, field: str | None = None) -> None:
        self.found.append(DataProblem(sentence, self.file, line, field))

    def raise_all(self) -> None:
        """Raise `DataError`, in the order of lines, if anything was found."""
        if self.found:
            raise DataError(sorted(self.found, key=lambda problem: problem.line or 0))


def listed(names: Sequence[str]) -> str:
    """Names for a sentence: at most 12."""
    shown = ", ".join(f"`{name}`" for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown
