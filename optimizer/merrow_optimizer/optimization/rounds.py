"""Candidates as files that one can open, run and evaluate: ``round_007.mmd`` in the folder of a search."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from merrow_analysis.syntax.parser import parse_diagram
from merrow_optimizer.evaluation.unattended import SIMULATED_PERSON
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import CandidateRecord
from merrow_runtime.workflow import Workflow

BEST = "best.mmd"
"""The file of the best candidate at the end."""
REPORT = "report.html"
"""The page about the search."""

_MARK = "%% Merrow search"
_NOTED = re.compile(r"^%% Merrow search (\S+), round (\d+)\b", re.MULTILINE)


def file_name(number: int) -> str:
    """The name of a candidate's file."""
    return f"round_{number:03d}.mmd"


class Rounds:
    """The files of a search in its ``folder``. Raises `UsageFailure` where they can't be written."""

    def __init__(
        self, search: str, folder: Path, beside: Mapping[str, Mapping[str, str]], *, is_simulated: bool = False
    ) -> None:
        """``beside`` are the files that the workflow names. ``is_simulated`` says that a model plays people."""
        self._search = search
        self._is_simulated = is_simulated
        self.folder = folder
        self._beside = beside

    def open(self) -> None:
        """Make the folder, with the files that the workflow names, where they are not there: candidates name them, too."""
        self._make(self.folder)
        for path, known in self._beside.items():
            is_inside = ".." not in PurePosixPath(path).parts and not PurePosixPath(path).is_absolute()
            if "text" in known and is_inside and not os.path.lexists(self.folder / path):
                self._write(self.folder / path, known["text"])

    def check(self) -> None:
        """Raise `UsageFailure` where a new search would write over something in the folder."""
        if next(self.folder.glob("round_*.mmd"), None) is not None:
            raise UsageFailure(f"{self.folder} has candidates of another search; name another folder with --out.")
        for name in (BEST, REPORT):
            if os.path.lexists(self.folder / name):
                raise UsageFailure(f"{self.folder / name} is there already; name another folder with --out.")

    def write(self, candidate: CandidateRecord, mean: float | None, scores: int) -> None:
        """Write a candidate, with a comment of where it comes from and what it has scored. A file that somebody changed stays."""
        file = self.folder / file_name(candidate.number)
        if file.exists() and without_comment(file.read_bytes().decode("utf-8", "replace")) != without_comment(
            candidate.text
        ):
            return
        self._write(file, with_comment(self._search, candidate, mean, scores, is_simulated=self._is_simulated))

    def crown(self, candidate: CandidateRecord, mean: float | None, scores: int) -> Path:
        """Write the best candidate once more, under a name of its own; its path."""
        file = self.folder / BEST
        self._write(file, with_comment(self._search, candidate, mean, scores, is_simulated=self._is_simulated))
        return file

    def _write(self, file: Path, text: str) -> None:
        self._make(file.parent)
        put(file, text)

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UsageFailure(
                f"The folder {folder} can't be made: {problem.strerror}; name another one with --out."
            ) from None


def put(file: Path, text: str) -> None:
    """Write a file of a search in one step, in place of a link rather than where it leads. Raises `UsageFailure`."""
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{file.name[:64]}.", dir=file.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(file)
    except OSError as problem:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise UsageFailure(f"{file} can't be written: {problem.strerror}; name another folder with --out.") from None


def with_comment(
    search: str, candidate: CandidateRecord, mean: float | None, scores: int, *, is_simulated: bool = False
) -> str:
    """The text of a candidate with comments below its front matter: parents, move, score."""
    lines = [f"{_MARK} {search}, round {candidate.number}: {_made(candidate)}"]
    if mean is None:
        lines.append(f"{_MARK}: not scored yet")
    else:
        told = (
            ""
            if candidate.told is None
            else f", estimated {candidate.told:.3f} (optimistic, since it was chosen for this score)"
        )
        played = f", {SIMULATED_PERSON}" if is_simulated else ""
        lines.append(f"{_MARK}: {mean:.3f} on {scores:,} answers{played}{told}")
    text = without_comment(candidate.text)
    front = parse_diagram(text).front_matter
    place = 0 if front is None else len(front[1].text)
    return text[:place] + "".join(f"{line}\n" for line in lines) + text[place:]


def without_comment(text: str) -> str:
    """The text without the comments that were written into it."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_MARK))


def changed_round(user: Store, workflow: Workflow, semantic: str) -> str | None:
    """A sentence where a workflow is the file of a candidate that somebody changed; None where it is not. ``semantic`` is what it
    does, as a hash. Raises `StoreFailure`.
    """
    match = _NOTED.search(workflow.text)
    if match is None:
        return None
    identity = user.optimizations.identity(match[1])
    known = {} if identity is None else {record.number: record for record in user.optimizations.candidates(identity)}
    candidate = known.get(int(match[2]))
    if candidate is None or candidate.key == semantic:
        return None
    return f"{workflow.name} was changed since it was round {candidate.number} of search {identity}: it is a new candidate."


def _made(candidate: CandidateRecord) -> str:
    if not candidate.parents:
        return "the workflow that it began with"
    parents = " and ".join(map(str, candidate.parents))
    return " ".join(f"made of round {parents} by {candidate.operator}: {candidate.title}".split())
