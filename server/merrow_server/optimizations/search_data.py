"""Searches as plain data: one in a list, and a whole one as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from merrow_analysis.check import Analysis
from merrow_optimizer.optimization.effects import effects_of
from merrow_optimizer.optimization.record import RecordedCandidate, RecordedDraw, SearchRecord, candidate_facts
from merrow_runtime.errors import RunFailure
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import restore
from merrow_server.evaluations.evaluation_data import origins_of
from merrow_server.evaluations.stand_ins import stand_ins_shown
from merrow_server.rendering.workflow_sketch import difference_words

SCHEMA = 1
"""The number of the form of events and of the record; it grows with each change that a reader must know of."""


def search_object(search: SearchRecord) -> dict[str, Any]:
    """A search in a list: what it was of, how it ended, what it found."""
    record = search.search
    held_out = record.plan["held_out"]
    return {
        "search": record.id,
        "workflow": record.workflow,
        "status": search.state,
        "started": record.started,
        "seconds": record.seconds,
        "error": record.error,
        "over": record.over,
        "dataset": record.plan["asked"]["dataset"],
        "dataset_hash": record.dataset,
        "part": record.part,
        "items": len(record.plan["items"]),
        "held_out_part": held_out["part"],
        "held_out_items": len(held_out["items"]),
        "metric": record.metric,
        "model": record.model,
        **stand_ins_shown(record.plan),
        "endpoint": ", ".join(origins_of(record)),
        "strategy": record.strategy,
        "proposer": record.proposer,
        "seed": record.seed,
        "jobs": record.jobs,
        "settings": dict(search.settings),
        "folder": record.plan["folder"],
        "candidates": len(search.candidates),
        "draws": len(search.draws),
        "answers": search.answers,
        "exhausted": search.exhausted,
        "crown": search.crown,
        "told": search.told,
        "start_told": search.candidates[0].told if search.candidates else None,
        "held_out": None if search.held_out is None else search.held_out.to_json(),
        "proposals": proposals_object(search),
        "usage": usage_object(search.usage),
    }


def proposals_object(search: SearchRecord) -> dict[str, Any] | None:
    """What a model proposed, and how many of its candidates were valid when, by form; None where no model proposes."""
    proposals = search.proposals
    if proposals is None:
        return None
    return {
        "questions": proposals.questions,
        "failed": proposals.failed,
        "forms": {form: tally.to_json() for form, tally in proposals.tallies.items()},
        "judge_searched": search.judge_searched.to_json(),
        "judge_held_out": search.judge_held_out.to_json(),
        "usage": usage_object(proposals.usage),
    }


def usage_object(usage: Usage) -> dict[str, Any]:
    """Usage whose money is rounded, so that it is the same whatever order it was added up in."""
    shown = usage.to_json()
    if shown["cost_usd"] is not None:
        shown["cost_usd"] = round(shown["cost_usd"], 9)
    return shown


def candidate_object(candidate: RecordedCandidate, changes: Sequence[str] | None) -> dict[str, Any]:
    """A candidate with its text, and what it ``changes`` of its first parent (None: nothing can be said)."""
    return {
        **candidate_facts(candidate),
        "told": candidate.told,
        "mean": candidate.mean,
        "deviation": candidate.deviation,
        "answers": len(candidate.scores),
        "exhausted": candidate.exhausted,
        "file": candidate.file,
        "reason": candidate.reason,
        "kind": candidate.kind,
        "judged": candidate.judged,
        "criteria": dict(candidate.criteria),
        "changes": None if changes is None else list(changes),
        "text": candidate.text,
    }


def draw_object(draw: RecordedDraw) -> dict[str, Any]:
    """A draw with its answers."""
    return {
        "draw": draw.number,
        "candidate": draw.candidate,
        "places": [list(place) for place in draw.places],
        "outcome": None if draw.outcome is None else list(draw.outcome),
        "crown": draw.crown,
        "told": draw.told,
        "answers": [None if answer is None else answer_object(answer) for answer in draw.answers],
    }


def answer_object(score: ScoreRecord) -> dict[str, Any]:
    """What an answer came to."""
    return {
        "item": score.item,
        "repeat": score.repeat,
        "status": score.status,
        "value": score.value,
        "read": score.read,
        "reason": score.reason,
        "run": score.run,
        "exhausted": score.exhausted,
    }


def record_lines(search: SearchRecord) -> Iterator[dict[str, Any]]:
    """A whole search: what was asked for, candidates each before its first draw, draws in order, held-out items, which candidates
    no other beats in score and cost, what helps, the end.
    """
    whole = search_object(search)
    outcome = (
        "answers",
        "exhausted",
        "draws",
        "candidates",
        "crown",
        "told",
        "start_told",
        "held_out",
        "proposals",
        "usage",
    )
    ended = ("status", "seconds", "error", "over", *outcome)
    yield _event("search_started", {name: value for name, value in whole.items() if name not in ended})
    shown, known = 0, analyses_of(search, search.candidates)
    for draw in search.draws:
        for candidate in search.candidates[shown : draw.candidate + 1]:
            before = known.get(candidate.parents[0]) if candidate.parents else None
            after = known.get(candidate.number)
            changes = None if before is None or after is None else difference_words(before, after)
            yield _event("candidate", candidate_object(candidate, changes))
        shown = max(shown, draw.candidate + 1)
        yield _event("draw", draw_object(draw))
    if search.held_out is not None:
        answers = {
            str(number): [answer_object(answer) for answer in several]
            for number, several in search.held_out_answers.items()
        }
        yield _event("held_out", {**search.held_out.to_json(), "answers": dict(sorted(answers.items()))})
    thrifty = search.thrifty()
    yield _event(
        "front",
        {
            "candidates": [point.number for point in search.front()],
            "cheapest": None if thrifty is None else thrifty.number,
        },
    )
    yield _event("effects", effects_shown(search))
    yield _event("search_finished", {name: whole[name] for name in ("search", *ended)})


def analyses_of(search: SearchRecord, candidates: Iterable[RecordedCandidate]) -> dict[int, Analysis]:
    """These candidates read again, by number, without those that another version of Merrow made and this one can't read."""
    known: dict[int, Analysis] = {}
    for candidate in candidates:
        with suppress(RunFailure):
            known[candidate.number] = restore({**search.search.plan["snapshot"], "text": candidate.text}).analysis
    return known


def effects_shown(search: SearchRecord) -> dict[str, Any]:
    """What helps, the surest first; or why that can't be said."""
    try:
        effects = effects_of(search)
    except RunFailure as problem:
        return {"effects": [], "why": str(problem)}
    shown = [
        {
            "what": list(effect.what),
            "mean": round(effect.mean, 6),
            "interval": [round(end, 6) for end in effect.interval],
            "candidates": effect.candidates,
        }
        for effect in effects
    ]
    return {"effects": shown, "why": None}


def _event(event: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"schema": SCHEMA, "event": event, **data}
