r"""Slides: pdflatex makes them, without a shell and without other files; sections and equations are read in the source."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.metrics.products.criteria import NOT_HERE, CriterionVerdict
from merrow_optimizer.evaluation.metrics.products.latex_source import (
    BeamerFrame,
    BeamerSection,
    same_words,
    sections_of,
    visible_source,
)
from merrow_runtime.operators.formats.answer_files import NamedFile
from merrow_runtime.sandbox.programs import SUPPORTED, ProgramEndedError, ProgramLimits, SandboxProgram, environment_in

_LIMITS = ProgramLimits(wall_s=300.0, cpu_s=30)
"""Typesetting waits for nothing, so its processor time bounds it; the clock is for a machine that is very busy."""
_RUNS = 2
"""The second run has what the first one learned of the table of contents."""
_TOLERANCE = 0.1
_PARANOID = {"openin_any": "p", "openout_any": "p", "shell_escape": "f", "TEXMFOUTPUT": ""}
_INSTALL = (
    "It needs pdflatex with Beamer, which was not found; on Debian and Ubuntu install it with: "
    "apt install texlive-latex-recommended texlive-pictures lmodern"
)
_FRAME_PAGES = re.compile(rb"\\headcommand \{\\beamer@framepages \{(\d{1,6})\}\{(\d{1,6})\}\}")
_ERROR = re.compile(r"^(?:! (?P<plain>.+)|\S*?slides\.tex:(?P<line>\d+): (?P<placed>.+))$", re.MULTILINE)
_FORGING = re.compile(
    r"\\(?:openout|write|addtocontents|protected@write|catcode)(?![A-Za-z])|framepages|headcommand|filecontents|csname|\^\^"
)
"""What a deck has no need of, and with which it could change the record of its frames."""
_LONGEST = 200_000
_LONGEST_READ = 4_000_000
_WORDS = 5
"""How many words a part's frame has at least, if it has no equation."""


class Slides:
    """Judges ``slides.tex``. Settings: ``frames``, how many are wanted; ``sections``, their names, or how many there are at least
    of those that have any of the parts; ``parts``, for each part of a section a word of its frame's title; ``equations``, how
    many displayed ones each section has at least (0: none is needed); ``pseudocode``, how many lines or list entries the
    frames of each section have at least whose titles have that word (without it none is needed).
    """

    criteria: tuple[str, ...] = ("compiles", "complete", "length")
    main_file: str = "slides.tex"

    def __init__(self, limits: ProgramLimits = _LIMITS) -> None:
        self._limits = limits

    def fault(self, settings: Mapping[str, Any]) -> str | None:
        if type(settings.get("frames")) is not int or settings["frames"] < 1:
            return "`frames` of slides must be a whole number above 0"
        for name, value in (("equations", settings.get("equations")), ("pseudocode", settings.get("pseudocode", 0))):
            if type(value) is not int or value < 0:
                return f"`{name}` of slides must be a whole number from 0"
        for name in ("sections", "parts"):
            value = settings.get(name)
            if name == "sections" and type(value) is int and value > 0:
                continue
            if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
                return f"`{name}` of slides must be a list of texts"
        return None

    def missing(self) -> dict[str, str]:
        if SUPPORTED and shutil.which("pdflatex"):
            return {}
        return dict.fromkeys(("compiles", "length"), _INSTALL if SUPPORTED else NOT_HERE)

    async def judge(self, files: Mapping[str, NamedFile], settings: Mapping[str, Any]) -> list[CriterionVerdict]:
        sources = {path: file.text for path, file in files.items() if path.endswith(".tex")}
        if sum(map(len, sources.values())) > _LONGEST:
            return [
                CriterionVerdict(name, False, "The source is longer than 200,000 characters.") for name in self.criteria
            ]
        complete = _complete(sections_of(sources[self.main_file], sources), settings)
        if self.missing():
            unjudged = self.missing()
            return [
                CriterionVerdict("compiles", None, unjudged["compiles"]),
                complete,
                CriterionVerdict("length", None, unjudged["length"]),
            ]
        program = SandboxProgram(self._limits)
        try:
            compiles, frames = await asyncio.to_thread(_typeset, program, sources)
        finally:
            program.end()
        if compiles.met is None:
            return [compiles, complete, CriterionVerdict("length", None, compiles.evidence)]
        return [compiles, complete, _length(frames, settings["frames"], sources)]

    async def close(self) -> None:
        """Every process ends with its deck."""


def _typeset(program: SandboxProgram, sources: Mapping[str, str]) -> tuple[CriterionVerdict, int | None]:
    """Whether pdflatex makes a PDF of the sources, and how many frames it has; None: that can't be said."""
    command = [
        "pdflatex",
        "-no-shell-escape",
        "-interaction=nonstopmode",
        "-halt-on-error",
        "-file-line-error",
        "slides.tex",
    ]
    with program:
        folder = program.folder
        for path, text in sources.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8", "replace")
        environment = environment_in(folder) | _PARANOID
        try:
            for _run in range(_RUNS):
                code = program.run(command, environment)
                if code:
                    return _failed(_beginning(folder / "slides.log").decode("utf-8", "replace"), code), None
        except ProgramEndedError as ended:
            return CriterionVerdict("compiles", False, f"Pdflatex made nothing: {ended}."), None
        made = _beginning(folder / "slides.pdf")
        if not made.startswith(b"%PDF-"):
            return CriterionVerdict("compiles", False, "Pdflatex ended without an error and without a page."), None
        return CriterionVerdict("compiles", True, "Pdflatex makes a PDF of it without an error."), _frames(
            folder / "slides.nav"
        )


def _failed(log: str, code: int) -> CriterionVerdict:
    if "File `beamer.cls' not found" in log:
        return CriterionVerdict("compiles", None, _INSTALL)
    match = _ERROR.search(log)
    if match is None:
        return CriterionVerdict("compiles", False, f"Pdflatex ended with code {code}.")
    place = f"Line {match['line']}: " if match["line"] else ""
    return CriterionVerdict("compiles", False, f"{place}{(match['plain'] or match['placed']).rstrip('.')}.")


def _beginning(file: Path) -> bytes:
    """At most four million bytes of a plain file; nothing where there is none."""
    if file.is_symlink() or not file.is_file():
        return b""
    with file.open("rb") as opened:
        return opened.read(_LONGEST_READ)


def _frames(record: Path) -> int | None:
    """How many frames Beamer noted, each with the pages of its overlays, one after another; None where its notes can't be."""
    ranges = [(int(first), int(last)) for first, last in _FRAME_PAGES.findall(_beginning(record))]
    page = 1
    for first, last in ranges:
        if first != page or last < first:
            return None
        page = last + 1
    return len(ranges)


def _length(frames: int | None, wanted: int, sources: Mapping[str, str]) -> CriterionVerdict:
    for path, text in sources.items():
        forging = _FORGING.search(visible_source(text))
        if forging:
            command = forging[0][:20].strip()
            return CriterionVerdict(
                "length",
                False,
                f"`{path}` has `{command}`, with which frames can be miscounted, so they are not counted.",
            )
    if frames is None:
        return CriterionVerdict(
            "length", False, "No frames can be counted, since there is no PDF of Beamer's with a record of them."
        )
    near = abs(frames - wanted) <= _TOLERANCE * wanted
    return CriterionVerdict(
        "length", near, f"It has {frames} frames, overlays counted once; {wanted} are wanted, within 10 %."
    )


def _complete(sections: list[BeamerSection], settings: Mapping[str, Any]) -> CriterionVerdict:
    wrong: list[str] = []
    wanted = settings["sections"]
    titled: list[tuple[str, BeamerSection]] = []
    if isinstance(wanted, int):
        having = [
            candidate
            for candidate in sections
            if any(_is_about(each, part) for each in candidate.frames for part in settings["parts"])
        ]
        titled = [(" ".join(section.title.split())[:60], section) for section in having]
        if len(titled) < wanted:
            wrong.append(f"{len(titled)} sections have a frame for a part, and {wanted} are needed")
    else:
        for name in wanted:
            section = next((each for each in sections if same_words(name) in same_words(each.title)), None)
            if section is None:
                wrong.append(f"there is no section {name}")
            else:
                titled.append((name, section))
    for name, section in titled:
        parts = [part for part in settings["parts"] if not _has(section, part)]
        if parts:
            wrong.append(f"{name} has no frame with text on its {' and its '.join(parts)}")
        equations = sum(frame.equations for frame in section.frames)
        if equations < settings["equations"]:
            wrong.append(f"{name} has {equations} displayed equations of {settings['equations']}")
        steps = sum(frame.steps for frame in section.frames if _is_about(frame, "pseudocode"))
        if steps < settings.get("pseudocode", 0):
            wrong.append(f"{name} has {steps} lines of pseudocode of {settings['pseudocode']}")
    if wrong:
        text = "; ".join(wrong)
        return CriterionVerdict("complete", False, f"{text[0].upper()}{text[1:]}.")
    return CriterionVerdict("complete", True, f"All {len(titled)} sections have what is asked for.")


def _has(section: BeamerSection, part: str) -> bool:
    return any(
        _is_about(frame, part) and (frame.words >= _WORDS or frame.equations > 0 or frame.steps > 0)
        for frame in section.frames
    )


def _is_about(frame: BeamerFrame, part: str) -> bool:
    return same_words(part) in same_words(frame.title)
