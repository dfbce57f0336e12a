"""One session: a model is asked for candidates, each goes through the gate, and what passed is judged and listed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from merrow_analysis.difference import line_edits
from merrow_analysis.text import TextEdit
from merrow_optimizer.mutations.base import WorkflowDifference, workflow_difference
from merrow_optimizer.suggestions.candidate_answers import SCHEMA, CandidateAnswer, Form, plain, read_answers
from merrow_optimizer.suggestions.describing import change_data, effect_text, graph_data
from merrow_optimizer.suggestions.gate import PassedCandidate, SuggestionGate
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.judge import CRITERIA, PUBLISHED, JudgeVerdict, judged, ranking
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.menu import MenuEntry, menu_of
from merrow_optimizer.suggestions.prompt import Wish, again_text, first_messages, repair_text, written
from merrow_optimizer.suggestions.refusals import Stage, Unusable
from merrow_optimizer.suggestions.tallies import REPAIRS, CandidateTally
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.question import JobQuestion
from merrow_runtime.errors import AnswerFailure, BudgetFailure, EndpointFailure, RunFailure
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.operators.prompts.asking_again import AskingAgain
from merrow_runtime.requests import Message, ModelReply
from merrow_runtime.running.forecast import dry_run
from merrow_runtime.running.forecast_figures import Bounds

_REPAIRED = 200
"""Characters of a title that say what was repaired."""
READINGS = 3
"""How many times the first question is asked to get a readable answer."""
Told = Callable[[str, int, int], None]
"""Gets progress: a message, the number of finished steps, and the maximum number of steps."""


def _silent(what: str, done: int, most: int) -> None:
    """Ignores progress."""


@dataclass(frozen=True, slots=True)
class Models:
    """The names of the models that suggest and judge; without a judge nothing is judged."""

    optimizer: str
    judge: str | None


@dataclass(frozen=True, slots=True)
class RunPrice:
    """What a run of a workflow may use: calls and US dollars, as a dry run says."""

    calls: Bounds
    cost_usd: Bounds

    def to_json(self) -> dict[str, Any]:
        """Its form in results."""
        return {"calls": self.calls.to_json(), "cost_usd": self.cost_usd.to_json()}


@dataclass(frozen=True, slots=True, eq=False)
class Suggestion:
    """A candidate that passed the gate. ``text`` is that of the whole diagram after it, and ``edits`` lead there.

    ``attempts`` is how many times it went back to the model, ``verdict`` is the judge's; ``key`` identifies what the workflow
    does.
    """

    id: str
    title: str
    reason: str
    form: Form
    text: str
    edits: tuple[TextEdit, ...]
    difference: WorkflowDifference
    effect: str
    key: str
    attempts: int
    repaired: bool
    price: RunPrice | None = None
    verdict: JudgeVerdict | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything except texts and edits, which callers add in their own coordinates."""
        return {
            "id": self.id,
            "title": self.title,
            "reason": self.reason,
            "form": self.form,
            "effect": self.effect,
            "attempts": self.attempts,
            "repaired": self.repaired,
            "scores": None if self.verdict is None else self.verdict.to_json(),
            "run": None if self.price is None else self.price.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Lost:
    """A candidate that never passed: its title, and the last reason for refusal."""

    title: str
    form: Form
    stage: Stage
    why: str


@dataclass(slots=True)
class SuggestionOutcome:
    """How a session ended. ``suggestions`` are in the judge's order, else as they were proposed; ``notices`` are sentences."""

    suggestions: list[Suggestion] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    tallies: dict[Form, CandidateTally] = field(
        default_factory=lambda: {"moves": CandidateTally(), "graph": CandidateTally()}
    )
    notices: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Candidate:
    """A candidate on its way through the gate. ``said`` is what the model wrote last, and ``is_cut`` whether that was cut off."""

    number: int
    answer: CandidateAnswer
    form: Form
    asking: AskingAgain
    said: str
    is_cut: bool = False
    attempts: int = 0
    why: Unusable | None = None
    passed: PassedCandidate | None = None


class SuggestionSession:
    """Asks for suggestions.

    ``leaks`` has the data that prompts must not repeat; ``seed`` determines the menu and the judge's order. ``endpoint`` is the
    one whose prices determine the cost of a run of a suggestion. A refused candidate goes back ``repairs`` times at most.
    """

    def __init__(
        self,
        ground: Ground,
        wish: Wish,
        models: Models,
        leaks: Leaks | None = None,
        *,
        endpoint: Endpoint,
        seed: int = 0,
        repairs: int = REPAIRS,
    ) -> None:
        self.ground, self.wish, self.models, self.seed = ground, wish, models, seed
        self.repairs = repairs
        self._endpoint = endpoint
        self.menu: tuple[MenuEntry, ...] = () if wish.node is not None else menu_of(ground, wish.about, seed)
        self._gate = SuggestionGate(ground, self.menu, leaks or Leaks(), wish.node)
        self.first: tuple[Message, ...] = first_messages(ground, wish, self.menu)
        self._outcome = SuggestionOutcome()
        self._told: Told = _silent
        self._steps = 0

    @property
    def first_limit(self) -> int:
        """The maximum number of tokens in the first answer."""
        return 1_000 * self.wish.n + 1_000

    repair_limit = 1_500
    """The maximum number of tokens in an answer with one corrected candidate."""

    @property
    def most_steps(self) -> int:
        """The maximum number of steps: the question, corrections, and the judge."""
        return 1 + self.repairs + (self.models.judge is not None)

    async def run(self, asker: Asker, taken: Sequence[str] = (), told: Told = _silent) -> SuggestionOutcome:
        """Ask, check, repair, judge. ``taken`` are the keys of workflows that need not be suggested.

        Raises `EndpointFailure`, `BudgetFailure`, `StoreFailure` where there is nothing to offer by then, and `AnswerFailure`
        where no answer could be read.
        """
        self._outcome, self._told, self._steps = SuggestionOutcome(), told, 0
        self._tell("asking for candidates")
        answers = await self._answers(asker)
        candidates = [
            _Candidate(number, answer, answer.form, AskingAgain(self.first), written(answer))
            for number, answer in enumerate(answers)
        ]
        keys = list(taken)
        for candidate in candidates:
            self._outcome.tallies[candidate.form].proposed += 1
        # It may compute for a second, and others use the event loop.
        await asyncio.to_thread(self._check, candidates, keys)
        await self._repair(asker, candidates, keys)
        passed = [checked for checked in candidates if checked.passed is not None]
        for candidate in candidates:
            if candidate.why is not None:
                lost = Lost(
                    candidate.answer.title, candidate.form, candidate.why.stage, " ".join(candidate.why.sentences)
                )
                self._outcome.lost.append(lost)
        suggestions = [self._suggestion(checked, checked.passed) for checked in passed if checked.passed is not None]
        self._outcome.suggestions = await self._judged(asker, suggestions, passed)
        self._tell("done")
        return self._outcome

    def _tell(self, what: str) -> None:
        self._told(what, self._steps, self.most_steps)
        self._steps = min(self._steps + 1, self.most_steps)

    async def _answers(self, asker: Asker) -> list[CandidateAnswer]:
        reading = count(1)

        def read(reply: ModelReply) -> list[CandidateAnswer]:
            attempt = next(reading)
            try:
                if reply.finish == "refusal":
                    raise AnswerFailure("The model refuses to answer.")
                return read_answers(reply.text, self.wish.n)
            except AnswerFailure as failure:
                cut = " It was cut off; answer more briefly." if reply.finish == "length" else ""
                raise AnswerFailure(str(failure), advice=again_text(f"{failure}{cut}", attempt + 1)) from None

        model, limit = self.models.optimizer, self.first_limit
        try:
            question = JobQuestion(
                "candidates", model, self.first, read, SCHEMA, READINGS, max_tokens=limit, longer=2 * limit
            )
            return (await asker.ask(question)).value
        except AnswerFailure as failure:
            raise AnswerFailure(f"The model suggested nothing that can be read: {failure}") from None

    def _check(self, candidates: Sequence[_Candidate], keys: list[str]) -> None:
        """Pass candidates through the gate, in order."""
        for candidate in candidates:
            try:
                candidate.passed = self._gate.check(candidate.answer, keys)
            except Unusable as why:
                candidate.why = why
                continue
            candidate.why = None
            keys.append(candidate.passed.key)
            tally = self._outcome.tallies[candidate.form]
            if candidate.attempts:
                tally.again[candidate.attempts - 1] += 1
            elif candidate.passed.repaired:
                tally.free += 1
            else:
                tally.first += 1

    async def _repair(self, asker: Asker, candidates: Sequence[_Candidate], keys: list[str]) -> None:
        """Send refused candidates back, each on its own, up to ``repairs`` times."""
        for round_ in range(1, self.repairs + 1):
            waiting = [refused for refused in candidates if refused.why is not None]
            if not waiting:
                return
            self._tell(f"repairing {len(waiting)} of {len(candidates)} candidates")
            # A failure does not cancel other calls: they are already paid for, and their answers may be right.
            answers = await asyncio.gather(
                *(self._again(asker, refused) for refused in waiting), return_exceptions=True
            )
            read: list[_Candidate] = []
            failures: list[BaseException] = []
            for candidate, answer in zip(waiting, answers, strict=True):
                if isinstance(answer, CandidateAnswer):
                    candidate.attempts, candidate.answer = round_, answer
                    read.append(candidate)
                elif isinstance(answer, Unusable):
                    candidate.attempts, candidate.why = round_, answer
                else:
                    failures.append(answer)
            await asyncio.to_thread(self._check, read, keys)
            for failure in failures:
                stops = isinstance(failure, EndpointFailure | BudgetFailure)
                if not stops or not any(checked.passed is not None for checked in candidates):
                    raise failure
            if failures:
                self._outcome.notices.append(f"Refused candidates were not repaired: {failures[0]}")
                return

    async def _again(self, asker: Asker, candidate: _Candidate) -> CandidateAnswer | Unusable:
        assert candidate.why is not None  # noqa: S101 (only what was refused goes back)
        asked = candidate.asking.after(
            candidate.said, repair_text(candidate.why, candidate.attempts + 1), cut=candidate.is_cut
        )
        if asked is None:
            return candidate.why
        model, limit = self.models.optimizer, self.repair_limit
        question = JobQuestion(
            f"candidate {candidate.number}", model, asked, lambda reply: reply, SCHEMA, max_tokens=limit
        )
        reply = (await asker.ask(question)).value
        candidate.said, candidate.is_cut = reply.text, reply.finish == "length"
        try:
            answer = read_answers(reply.text, 1)[0]
            candidate.said = written(answer)
            return answer
        except AnswerFailure as failure:
            return Unusable("read", [str(failure)])

    def _suggestion(self, candidate: _Candidate, passed: PassedCandidate) -> Suggestion:
        ground = self.ground
        difference = workflow_difference(ground.analysis, passed.analysis)
        return Suggestion(
            hashlib.sha256(f"{ground.text}\0{passed.text}".encode("utf-8", "surrogatepass")).hexdigest()[:12],
            _title(candidate.answer.title, passed.repaired),
            candidate.answer.reason,
            candidate.form,
            passed.text,
            tuple(line_edits(ground.text, passed.text)),
            difference,
            effect_text(ground.analysis, passed.analysis, difference),
            passed.key,
            candidate.attempts,
            bool(passed.repaired),
            price_of(ground, passed.text, self._endpoint),
        )

    async def _judged(
        self, asker: Asker, suggestions: list[Suggestion], passed: Sequence[_Candidate]
    ) -> list[Suggestion]:
        """The suggestions with the judge's verdicts, best first; unchanged if there is nothing to compare."""
        if self.models.judge is None or not suggestions:
            return suggestions
        self._tell("judging the candidates")
        ground = self.ground
        shown: dict[str, Any] = {"The workflow": graph_data(ground.analysis, ground.graph)}
        if self.wish.goal:
            shown["What the user wants"] = self.wish.goal
        asked, criteria = self.wish.round, CRITERIA
        if asked is not None:
            criteria = PUBLISHED
            if asked.other is not None:
                shown["The other parent"] = {"workflow": asked.other[0], "score": asked.other[1]}
            if asked.former:
                shown["Former workflows"] = [{"workflow": text, "score": score} for text, score in asked.former]
        listed = [
            {
                "title": suggestion.title,
                "reason": suggestion.reason,
                "change": change_data(ground.analysis, candidate.passed.analysis),
            }
            for suggestion, candidate in zip(suggestions, passed, strict=True)
            if candidate.passed is not None
        ]
        try:
            verdicts = await judged(asker, self.models.judge, shown, listed, self.seed, criteria)
        except (EndpointFailure, BudgetFailure, AnswerFailure) as failure:
            self._outcome.notices.append(f"The suggestions are not judged: {failure}")
            return suggestions
        return [replace(suggestions[number], verdict=verdicts[number]) for number in ranking(verdicts)]


def _title(title: str, repaired: Sequence[str]) -> str:
    """The model's title, with what a repair made different from what the model wrote."""
    return f"{title} (repaired: {plain('; '.join(repaired), _REPAIRED)})" if repaired else title


def price_of(ground: Ground, text: str, endpoint: Endpoint) -> RunPrice | None:
    """What a run of a valid text may use; None if unknown."""
    with suppress(RunFailure):
        analysis = ground.analysis if text == ground.text else ground.read(text)
        forecast = dry_run(ground.as_workflow(text, analysis), options=ground.options, endpoint=endpoint)
        return RunPrice(forecast.calls, forecast.cost_usd)
    return None
