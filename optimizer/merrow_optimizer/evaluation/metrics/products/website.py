"""A website: its links are read by html5lib, its pages looked at in a headless browser that has no network and no files."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.metrics.products.browsing import PageVisit, visit
from merrow_optimizer.evaluation.metrics.products.criteria import NOT_HERE, CriterionVerdict
from merrow_optimizer.evaluation.metrics.worker import MetricWorker
from merrow_optimizer.evaluation.scores import InvalidItemError
from merrow_runtime.operators.formats.answer_files import NamedFile
from merrow_runtime.sandbox.browsers import browser_program
from merrow_runtime.sandbox.programs import SUPPORTED, ProgramEndedError, ProgramLimits, SandboxProgram

_LIMITS = ProgramLimits(wall_s=180.0, cpu_s=40)
"""A page that works without end reaches the limit on processor time first, unless the machine is very busy."""
_LINKS_S = 5.0
_LONGEST = 500_000
_NO_BROWSER = (
    "It needs Chromium, Chrome or Edge, which was not found; on Debian install it with: apt install chromium, or name its "
    "program in MERROW_BROWSER"
)
_LOOK = Path(__file__).with_name("look.js")


class Website:
    """Judges ``index.html`` with the files beside it. Settings: ``information``, texts that the page shows; ``schedule`` and
    ``venue``, texts that the element of this id shows, the venue beside a map.
    """

    criteria: tuple[str, ...] = ("works", "information", "sections")
    main_file: str = "index.html"

    def __init__(self, limits: ProgramLimits = _LIMITS) -> None:
        self._limits = limits
        self._links = MetricWorker("links", _LINKS_S)

    def fault(self, settings: Mapping[str, Any]) -> str | None:
        for name in ("information", "schedule", "venue"):
            value = settings.get(name)
            if not isinstance(value, list) or not value or not all(isinstance(each, str) and each for each in value):
                return f"`{name}` of a website must be a list of texts"
        return None

    def missing(self) -> dict[str, str]:
        if not SUPPORTED or browser_program() is None:
            return dict.fromkeys(self.criteria, _NO_BROWSER if SUPPORTED else NOT_HERE)
        return (
            {}
            if importlib.util.find_spec("html5lib")
            else {"works": "It needs the package html5lib; install it with: pip install html5lib"}
        )

    async def judge(self, files: Mapping[str, NamedFile], settings: Mapping[str, Any]) -> list[CriterionVerdict]:
        missing = self.missing()
        browser = browser_program()
        if browser is None or not SUPPORTED:
            return [CriterionVerdict(name, None, missing[name]) for name in self.criteria]
        texts = {path: file.text for path, file in files.items()}
        if sum(map(len, texts.values())) > _LONGEST:
            return [
                CriterionVerdict(name, False, "The files have more than 500,000 characters.") for name in self.criteria
            ]
        script = _LOOK.read_text("utf-8")
        program = SandboxProgram(self._limits)
        try:
            visited = await asyncio.to_thread(visit, program, browser, texts, self.main_file, script)
        except ProgramEndedError as ended:
            reason = f"The page can't be looked at: {ended}."
            return [CriterionVerdict(name, False, reason) for name in self.criteria]
        finally:
            program.end()
        seen = visited.seen if isinstance(visited.seen, dict) else {}
        works = (
            CriterionVerdict("works", None, missing["works"])
            if "works" in missing
            else await self._works(texts, visited, seen)
        )
        return [works, _information(seen, settings["information"]), _sections(seen, settings)]

    async def close(self) -> None:
        await self._links.close()

    async def _works(
        self, texts: Mapping[str, str], page_visit: PageVisit, seen: Mapping[str, Any]
    ) -> CriterionVerdict:
        if page_visit.errors:
            return CriterionVerdict("works", False, f"A script fails: {page_visit.errors[0]}.")
        if not str(seen.get("title") or "").strip():
            return CriterionVerdict("works", False, "The page has no title.")
        pages = {path: text for path, text in texts.items() if path.lower().endswith((".html", ".htm"))}
        try:
            answer = await self._links.ask({"pages": pages, "paths": list(texts)})
        except InvalidItemError as failed:
            return CriterionVerdict("works", False, f"Its links can't be read: {failed}.")
        faults = answer.get("faults") or ([answer["failed"]] if "failed" in answer else [])
        if faults:
            more = f" ({len(faults)} such faults)" if len(faults) > 1 else ""
            return CriterionVerdict("works", False, f"{faults[0]}{more}.")
        return CriterionVerdict("works", True, "No script fails, and every link leads somewhere.")


def _information(seen: Mapping[str, Any], wanted: Sequence[str]) -> CriterionVerdict:
    lost = _lost(seen.get("all"), wanted)
    if lost:
        return CriterionVerdict("information", False, f"The page doesn't visibly show {lost}.")
    return CriterionVerdict("information", True, f"The page visibly shows all of {len(wanted)} facts.")


def _sections(seen: Mapping[str, Any], settings: Mapping[str, Any]) -> CriterionVerdict:
    wrong: list[str] = []
    for name in ("schedule", "venue"):
        text = seen.get(name)
        if not isinstance(text, str):
            wrong.append(f"no element has the id `{name}`")
        elif lost := _lost(text, settings[name]):
            wrong.append(f"`{name}` doesn't visibly show {lost}")
    drawn = seen.get("map")
    if isinstance(drawn, dict):
        other = str(drawn.get("not") or "")
        wrong.append(f"`venue` shows no map{f', only an {other}' if other else ''}")
    if wrong:
        listed = "; ".join(wrong)
        return CriterionVerdict("sections", False, f"{listed[0].upper()}{listed[1:]}.")
    return CriterionVerdict(
        "sections", True, f"The schedule and the venue are visible, the venue with a map ({drawn})."
    )


def _lost(text: Any, wanted: Sequence[str]) -> str:
    """Those of the wanted texts that a text lacks, in any case and with any space between words. A bar divides alternatives."""
    there = _words(text if isinstance(text, str) else "")
    return ", ".join(
        json.dumps(each.split("|")[0], ensure_ascii=False)
        for each in wanted
        if not any(_words(word) in there for word in each.split("|"))
    )


def _words(text: str) -> str:
    return " ".join(text.replace("–", "-").replace("\u2011", "-").lower().split())
