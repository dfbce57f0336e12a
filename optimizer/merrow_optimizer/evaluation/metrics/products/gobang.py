"""Gobang: the game is imported, played and tried, each by tests in a process that no line of the game runs in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_optimizer.evaluation.metrics.products.criteria import CriterionVerdict
from merrow_optimizer.evaluation.metrics.products.gobang_tests import IMPORTS, PLAYABLE, RULES
from merrow_runtime.operators.formats.answer_files import NamedFile
from merrow_runtime.sandbox import Limits, Sandbox, SandboxRefusedError, TestResult

_SECONDS = 60.0
_LAST_CALL = re.compile(r" \(\w+\(.*\) (?:raised|returned) .*\)\Z", re.DOTALL)
"""What the tests' process adds to an assertion, which says enough by itself."""
_CRITERIA: Mapping[str, tuple[Sequence[str], str]] = {
    "imports": (IMPORTS, "The module is imported and has what the task asks for."),
    "playable": (PLAYABLE, "Whole games of both colours against the computer come to their ends."),
    "rules": (RULES, "Fives everywhere win, nothing else does, wrong moves are refused, a full board is a draw."),
}


class Gobang:
    """Judges ``gobang.py`` by what its class ``Game`` answers."""

    criteria: tuple[str, ...] = tuple(_CRITERIA)
    main_file: str = "gobang.py"

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox or Sandbox(limits=Limits(wall_s=_SECONDS))

    def fault(self, settings: Mapping[str, Any]) -> str | None:
        del settings  # there is nothing to set
        return None

    def missing(self) -> dict[str, str]:
        return {}

    async def judge(self, files: Mapping[str, NamedFile], settings: Mapping[str, Any]) -> list[CriterionVerdict]:
        del settings
        code = files[self.main_file].text
        verdicts: list[CriterionVerdict] = []
        for criterion, (tests, praise) in _CRITERIA.items():
            try:
                result = await self._sandbox.test(code, tests, "Game")
            except SandboxRefusedError as refused:
                verdicts.append(CriterionVerdict(criterion, None, str(refused)))
                continue
            verdicts.append(CriterionVerdict(criterion, result.passed, praise if result.passed else _first(result)))
        return verdicts

    async def close(self) -> None:
        """Every process ends with its tests."""


def _first(result: TestResult) -> str:
    """What the first test that failed says, as a sentence."""
    failure = next(iter(result.failures), None)
    reason = failure.error if failure else f"The tests ended: {result.outcome}"
    if reason.startswith("AssertionError: "):
        reason = _LAST_CALL.sub("", reason.removeprefix("AssertionError: "))
    reason = reason.strip().rstrip(".")
    return f"{reason[0].upper()}{reason[1:]}."
