"""The text that a candidate stands for: moves made one after another, or a whole workflow as a minimal difference."""

from __future__ import annotations

from collections.abc import Collection

from merrow_optimizer.suggestions.candidate_answers import Apply, CandidateAnswer, NewPrompt
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.menu import MenuEntry, applied
from merrow_optimizer.suggestions.node_edits import with_prompt, with_value
from merrow_optimizer.suggestions.refusals import Unusable
from merrow_optimizer.suggestions.whole import rebuilt


def made(ground: Ground, answer: CandidateAnswer, menu: Collection[MenuEntry]) -> tuple[str, tuple[str, ...]]:
    """The text of a candidate, and what of the model's text was repaired for that. Raises `Unusable`."""
    if answer.problem is not None:
        raise Unusable("read", [answer.problem])
    if answer.workflow is not None:
        return rebuilt(ground, answer.workflow)
    text = ground.text
    for step in answer.moves:
        analysis = ground.analysis if text == ground.text else ground.read(text)
        if isinstance(step, Apply):
            text = applied(ground, text, analysis, step.id, menu)
        elif isinstance(step, NewPrompt):
            text = with_prompt(text, analysis, step.node, step.text)
        else:
            text = with_value(text, analysis, step.node, step.key, step.value)
    return text, ()
