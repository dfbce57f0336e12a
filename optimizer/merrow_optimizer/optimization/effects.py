"""What helped in a search, by the linear model of its candidates, in words: it describes these scores and proves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from merrow_optimizer.optimization.record import SearchRecord
from merrow_optimizer.search.candidates import CandidateDraft, Draw, ItemRepeat
from merrow_optimizer.search.features import MEMORY, SIZE, PromptUse, features_of, keys_of, place_of_key, prompts_of
from merrow_optimizer.search.history import History
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.workflow import restore

_CERTAIN = 1.96


@dataclass(frozen=True, slots=True)
class Effect:
    """What some candidates have that others don't, and what it adds to a score: the model's mean with a 95 % interval.

    ``what`` has several entries where the model can't tell them apart. ``candidates`` is how many of the scored ones have it.
    """

    what: Sequence[str]
    mean: float
    interval: tuple[float, float]
    candidates: int


def effects_of(record: SearchRecord) -> list[Effect]:
    """What the scored candidates differ in, the surest first. Raises `UsageFailure` where numpy is missing, or where this version
    can't read the workflows any more.
    """
    from merrow_optimizer.search.linear import Posterior

    scored = [candidate.number for candidate in record.candidates if candidate.scores]
    if len(scored) < 2:
        return []
    history, names = _history(record)
    posterior = Posterior(history)
    drafts = [history.drafts[number] for number in scored]
    parts = [
        (sorted(words), place, sum(1 for draft in drafts if draft.features[place]))
        for place, words in sorted(names.items())
    ]
    judged = sum(1 for draft in drafts if draft.judged is not None)
    if any(draft.judged is not None for draft in history.drafts):
        parts.append((["the best marks of the judge"], SIZE, judged))
    for use, place in posterior.prompts.items():
        parts.append(([_told(use)], place, sum(1 for draft in drafts if use in draft.prompts)))
    effects = []
    for words, place, having in parts:
        if having < len(scored):  # What all of them have is told by none.
            mean, deviation = posterior.weights[place]
            interval = (mean - _CERTAIN * deviation, mean + _CERTAIN * deviation)
            effects.append(Effect(words, mean, interval, having))
    effects.sort(key=lambda effect: (-abs(effect.mean) / (effect.interval[1] - effect.interval[0]), list(effect.what)))
    return effects


def _history(record: SearchRecord) -> tuple[History, dict[int, set[str]]]:
    """The search's scores again, and what each feature stands for."""
    places = {item: number for number, item in enumerate(record.search.plan["items"])}
    repeats = 1 + max((repeat for draw in record.draws for _, repeat in draw.places), default=0)
    history = History(max(1, len(places)), repeats, record.search.seed)
    names: dict[int, set[str]] = {}
    snapshot = record.search.plan["snapshot"]
    for candidate in record.candidates:
        workflow = restore({**snapshot, "text": candidate.text})
        steps = make_steps(workflow, RunOptions(default_model="m"))
        told = {node: step.definition.prompt for node, step in steps.items() if step.definition.prompt is not None}
        features, prompts = features_of(workflow.graph, workflow.analysis.settings), prompts_of(workflow.graph, told)
        fields = (candidate.text, tuple(candidate.parents), candidate.operator, candidate.title, candidate.key)
        history.add(CandidateDraft(*fields, features, candidate.calls, candidate.nodes, candidate.judged, prompts))
        for key in keys_of(workflow.graph, workflow.analysis.settings):
            names.setdefault(place_of_key(key), set()).add(_said(key))
    for draw in record.draws:
        if draw.outcome is None:
            continue
        asked = tuple(ItemRepeat(places[item], repeat) for item, repeat in draw.places)
        again = Draw(draw.number, draw.candidate, asked)
        history.ask(again)
        history.apply(again, draw.outcome)
        history.applied += 1
    return history, names


def _told(use: PromptUse) -> str:
    """A prompt in words."""
    return f"{'prompt' if use.is_first else 'prompt of a later node'}: {' '.join(use.text.split())}"


def _said(key: str) -> str:
    """A feature in words."""
    if key.startswith("w="):
        return f"a vote or join of {key[2:]} values"
    if key.startswith(f"{MEMORY}="):
        return f"a step with memory: {key.removeprefix(f'{MEMORY}=')}"
    if key.endswith(f"+{MEMORY}"):
        return f"{key.removesuffix(f'+{MEMORY}')} that remembers"
    if key == "join":
        return "a vote or join"
    # The last one reads the one before it.
    return " -> ".join("answer" if name == "Interface" else name for name in reversed(key.split("<")))
