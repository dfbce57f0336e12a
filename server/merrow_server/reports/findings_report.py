"""What a check found, ready to be shown: plain data between the checker and the renderers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from merrow_analysis.diagnostics import Applicability, Diagnostic, Severity
from merrow_analysis.rules.fault_rules import FAULT


@dataclass(slots=True)
class OtherFile:
    """A file that a diagnostic points to besides the one checked."""

    name: str
    lines: Sequence[str]


@dataclass(slots=True)
class FileReport:
    """The findings in one file, placed in ``lines``. ``others`` has the files that related places name."""

    name: str
    lines: Sequence[str] = ()
    diagnostics: Sequence[Diagnostic] = ()
    others: dict[str, OtherFile] = field(default_factory=dict)

    def other(self, file: str | None) -> OtherFile:
        """The file that a related place names; None means this one."""
        if file is None:
            return OtherFile(self.name, self.lines)
        return self.others.get(file) or OtherFile(file, ())


@dataclass(slots=True)
class Report:
    """The findings in all files of a run; ``problems`` has a sentence for each input that could not be used."""

    files: list[FileReport] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """A sentence for each fault of Merrow: at files and rules, and at the fixes that were asked for so far."""
        faults: list[str] = []
        for file in self.files:
            for diagnostic in file.diagnostics:
                if diagnostic.code == FAULT.code:
                    faults.append(f"{file.name}: {diagnostic.message}")
                elif diagnostic.fixes.fault is not None:
                    faults.append(f"{file.name}, {diagnostic.code}: {diagnostic.fixes.fault}")
        return faults

    def count(self) -> Counter[Severity]:
        """How many findings there are of each severity."""
        return Counter(diagnostic.severity for file in self.files for diagnostic in file.diagnostics)

    def repairable(self, least: Applicability) -> int:
        """How many findings have a fix of at least this applicability, by the fixes' titles."""
        return sum(
            (best := diagnostic.fixes.titles.best) is not None and best.applicability >= least
            for file in self.files
            for diagnostic in file.diagnostics
        )
