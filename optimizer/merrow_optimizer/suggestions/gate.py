"""The gate: what stands between what a model proposes and what anybody is offered.

In this order: a candidate is made a text and read; it has no error and no new warning; only what may differ does; no new text in
it repeats the data; it is not too large; it does something else than the workflow and the other candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_optimizer.suggestions.allowed import only_prompt_of, what_is_forbidden
from merrow_optimizer.suggestions.candidate_answers import CandidateAnswer
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.making import made
from merrow_optimizer.suggestions.menu import MenuEntry
from merrow_optimizer.suggestions.node_edits import prompt_text
from merrow_optimizer.suggestions.refusals import Unusable
from merrow_optimizer.suggestions.whole import told
from merrow_runtime.errors import UsageFailure

CUSTOM = "Custom"
"""The operator that does nothing but what its prompt says."""


@dataclass(frozen=True, slots=True, eq=False)
class PassedCandidate:
    """A candidate that passed: its ``text`` with its analysis, its ``key`` (what it does), and by which steps it was
    ``repaired``, which costs no call.
    """

    text: str
    analysis: Analysis
    key: str
    repaired: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SuggestionGate:
    """The gate for suggestions of one workflow. ``node``, where it is given, is the only one whose prompt may change."""

    ground: Ground
    menu: Collection[MenuEntry]
    leaks: Leaks
    node: str | None = None

    def check(self, answer: CandidateAnswer, taken: Collection[str]) -> PassedCandidate:
        """Let a candidate pass, or raise `Unusable`. ``taken`` are the keys of what is there already."""
        text, repaired = made(self.ground, answer, self.menu)
        analysis = self.ground.read(text)
        findings = self.ground.complaints(analysis)
        if findings:
            raise Unusable("check", told(findings))
        without = list(_without_prompt(self.ground.analysis, analysis))
        if without:
            raise Unusable("check", [f"{name} is a Custom without a prompt; say what it is to do." for name in without])
        self._allowed(analysis)
        for new in _new_texts(self.ground.analysis, analysis):
            leak = self.leaks.found_in(new)
            if leak is not None:
                raise Unusable("data", [leak])
        nodes = 0 if analysis.typed is None else len(analysis.typed.nodes)
        if nodes > self.ground.max_nodes:
            raise Unusable("size", [f"The workflow has {nodes} nodes; {self.ground.max_nodes} are allowed."])
        try:
            key = self.ground.key(text, analysis)
        except UsageFailure as problem:
            raise Unusable("check", [str(problem)]) from None
        if key == self.ground.own_key:
            raise Unusable("duplicate", ["The candidate does the same as the workflow; change something."])
        if key in taken:
            raise Unusable("duplicate", ["The candidate does the same as another one; change something else."])
        return PassedCandidate(text, analysis, key, repaired)

    def _allowed(self, analysis: Analysis) -> None:
        before = self.ground.analysis
        sentences = what_is_forbidden(before, analysis)
        if self.node is not None:
            sentences += only_prompt_of(before, analysis, self.node)
        if sentences:
            raise Unusable("allowed", sentences)


def _without_prompt(before: Analysis, after: Analysis) -> Iterator[str]:
    """The ids of nodes that ask a model and have not got a prompt for that, as they had before, if they were there."""
    known = set(_silent(before))
    yield from (name for name in _silent(after) if name not in known)


def _silent(analysis: Analysis) -> Iterator[str]:
    for node in () if analysis.typed is None else analysis.typed.nodes:
        if node.operator == CUSTOM and not (prompt_text(analysis, node) or "").strip():
            yield node.id


def _new_texts(before: Analysis, after: Analysis) -> Iterator[str]:
    """Texts that a model would be given, or that people would read, and that were not there."""
    known = set(_texts(before))
    yield from (text for text in _texts(after) if text not in known)


def _texts(analysis: Analysis) -> Iterator[str]:
    yield from analysis.settings.prompts.values()
    graph = analysis.typed
    if graph is None:
        return
    for node in graph.nodes:
        prompt = prompt_text(analysis, node)
        if prompt is not None:
            yield prompt
        for parameter in node.resolution.parameters.values():
            if isinstance(parameter.value, str):
                yield parameter.value
        yield node.id
        if node.flow.label is not None:
            yield node.flow.label.text
    for edge in graph.edges:
        label = edge.flow.arrow.label
        if label is not None:
            yield label.text
