"""A scripted model that suggests and judges, and workflows to suggest for."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step

from merrow_optimizer.suggestions.candidate_answers import KEY
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.prompt import Wish
from merrow_optimizer.suggestions.session import Models, SuggestionOutcome, SuggestionSession
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.purse import Purse
from merrow_runtime.models.budget import Budget
from merrow_runtime.options import RunOptions
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.workflow import check_workflow

FLOW = """\
---
title: Two voices
workflow:
  model: test-model
  budget: {tokens: 20000}
  prompts:
    careful: |
      Solve the problem step by step.
    quick: |
      Answer in one sentence.
---
flowchart TD
    %% the two voices
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: careful)"]:::CustomOp
    B["Custom<br/>(role: quick)"]:::CustomOp
    VOTE["ScEnsemble<br/>"]:::ScEnsembleOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    PROBLEM -->|input| B
    A --> VOTE
    B --> VOTE
    VOTE --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2
    classDef ScEnsembleOp fill:#f9e4b7,stroke:#b99b37
"""


def prompt(text: str, node: str = "A") -> dict[str, Any]:
    return {"prompt": {"node": node, "text": text}}


def setting(key: str, value: float, node: str = "A") -> dict[str, Any]:
    return {"set": {"node": node, key: value}}


def candidate(*moves: Mapping[str, Any], title: str = "A change", reason: str = "It helps.") -> dict[str, Any]:
    return {"title": title, "reason": reason, "moves": list(moves), "workflow": None}


def whole(text: str, title: str = "A whole workflow") -> dict[str, Any]:
    return {"title": title, "reason": "It helps.", "moves": [], "workflow": text}


def said(*candidates: Mapping[str, Any]) -> str:
    return json.dumps({"candidates": list(candidates)})


def is_judging(request: Received) -> bool:
    return "verdicts" in request.body["messages"][1]["content"]


def is_first(request: Received) -> bool:
    """Whether the question for candidates is asked for the first time."""
    return "This is attempt" not in request.body["messages"][-1]["content"]


def listed(request: Received) -> list[dict[str, Any]]:
    """The candidates that the judge is shown, in its order."""
    text = request.body["messages"][1]["content"]
    found = re.search(r"The candidates, as differences:\n<<<\w+\n(.*)\n", text)
    assert found is not None
    shown: list[dict[str, Any]] = json.loads(found[1])
    return shown


def verdicts(request: Received, score: Callable[[dict[str, Any]], int] = lambda _: 5) -> str:
    rows = [
        {"candidate": one["candidate"], "reason": "Because.", **dict.fromkeys(CRITERIA, score(one))}
        for one in listed(request)
    ]
    return json.dumps({"verdicts": rows})


CRITERIA = ("coherence", "fit", "economy", "prompts", "soundness", "innovation", "balance", "rationale")
"""Of suggestions and of the published loops; a judge may say more than it is asked."""


@dataclass
class Model:
    """Answers the question for candidates with ``first``, each candidate that comes back with the next of ``repairs`` (the last
    one again and again), and judges by ``score``. What else is asked, a test may answer with what it ``says``.
    """

    first: str
    repairs: list[str] = field(default_factory=list)
    score: Callable[[dict[str, Any]], int] = lambda _: 5
    requests: list[Received] = field(default_factory=list)
    says: str = ""
    _back: int = 0

    def __call__(self, request: Received) -> Step:
        self.requests.append(request)
        if is_judging(request):
            return Reply(verdicts(request, self.score))
        if is_first(request):
            return Reply(self.first)
        self._back += 1
        return Reply(self.repairs[min(self._back, len(self.repairs)) - 1] if self.repairs else self.first)

    @property
    def asked(self) -> list[Received]:
        """The questions that are not the judge's."""
        return [one for one in self.requests if not is_judging(one)]

    @property
    def judged(self) -> list[Received]:
        return [one for one in self.requests if is_judging(one)]


def ground(text: str = FLOW, max_nodes: int | None = None, name: str = "flow.mmd") -> Ground:
    return Ground(check_workflow(text, name=name, path=name), RunOptions(), max_nodes=max_nodes)


@dataclass
class Asked:
    """A session on an endpoint, with what it needs."""

    server: OpenAIServer
    chosen: ChosenEndpoint
    store: MemoryStore

    async def suggest(
        self,
        text: str = FLOW,
        wish: Wish | None = None,
        *,
        leaks: Leaks | None = None,
        judge: str | None = "judge-model",
        budget: Budget | None = None,
        max_nodes: int | None = None,
        seed: int = 0,
    ) -> SuggestionOutcome:
        models = Models("optimizer-model", judge)
        one = SuggestionSession(
            ground(text, max_nodes), wish or Wish(), models, leaks, endpoint=self.chosen.endpoint, seed=seed
        )
        return await one.run(Asker(Purse(self.chosen, "flow.mmd", budget), self.store.cache, KEY))


@asynccontextmanager
async def asking(answer: Callable[[Received], Step]) -> AsyncIterator[Asked]:
    async with OpenAIServer(answer) as server:
        chosen = choose(RunOptions(base_url=server.base_url), server.base_url, [], None)
        store = MemoryStore()
        try:
            yield Asked(server, chosen, store)
        finally:
            await chosen.endpoint.close()
            store.close()


def lines(text: str, *replaced: tuple[str, str]) -> str:
    """A text with parts replaced, each of which has to be there."""
    for old, new in replaced:
        assert old in text, old
        text = text.replace(old, new)
    return text


def titles(outcome: SuggestionOutcome) -> list[str]:
    return [one.title for one in outcome.suggestions]


def stages(outcome: SuggestionOutcome) -> list[str]:
    return [one.stage for one in outcome.lost]


def texts(outcome: SuggestionOutcome) -> Iterable[str]:
    return [one.text for one in outcome.suggestions]
