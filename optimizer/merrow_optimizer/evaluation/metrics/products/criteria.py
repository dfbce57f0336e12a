"""Criteria of products: met, missed or not judged, each with a sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from merrow_runtime.operators.formats.answer_files import NamedFile

NOT_HERE = "Its program can be kept to a folder and to limits on Linux and macOS alone; evaluate there"
"""Why nothing that a program of the machine must look at is judged on other systems."""
_LONGEST = 260


@dataclass(frozen=True, slots=True)
class CriterionVerdict:
    """What a criterion comes to. ``met`` is None where it was not judged; ``evidence`` is a sentence."""

    criterion: str
    met: bool | None
    evidence: str

    def __str__(self) -> str:
        word = "not judged" if self.met is None else "met" if self.met else "missed"
        evidence = " ".join(self.evidence.split())
        return f"{self.criterion}: {word}. {evidence if len(evidence) <= _LONGEST else f'{evidence[: _LONGEST - 1]}…'}"


class Scorer(Protocol):
    """Judges one kind of product. ``criteria`` are their names, ``main_file`` the file without which there is none."""

    criteria: tuple[str, ...]
    main_file: str

    def fault(self, settings: Mapping[str, Any]) -> str | None:
        """Why a product can't be judged by these settings (those of the item's gold), in a sentence; None where it can."""
        ...

    def missing(self) -> dict[str, str]:
        """What this machine lacks: for each criterion that can't be judged, a sentence with the remedy."""
        ...

    async def judge(self, files: Mapping[str, NamedFile], settings: Mapping[str, Any]) -> list[CriterionVerdict]:
        """The verdicts, in the order of the criteria. ``files`` are those of the product by path, the main one among them."""
        ...

    async def close(self) -> None:
        """End what was started."""
        ...


def share(verdicts: Sequence[CriterionVerdict]) -> float | None:
    """The share of the criteria that were judged that is met; None where none was judged."""
    judged = [verdict.met for verdict in verdicts if verdict.met is not None]
    return sum(judged) / len(judged) if judged else None


def all_missed(criteria: Sequence[str], evidence: str) -> list[CriterionVerdict]:
    """Every criterion missed for one reason."""
    return [CriterionVerdict(name, False, evidence) for name in criteria]
