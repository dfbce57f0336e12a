"""Rewriting cases with operators of a set: which step becomes which operator, and the shapes that come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from merrow_analysis.definitions.types import Type
from merrow_optimizer.extraction.case_workflow import TypedSteps, case_text, problems_of
from merrow_optimizer.extraction.kinds import unifies
from merrow_optimizer.extraction.operators import ExtractedOperator, taken_by

Offers = Mapping[str, Sequence[ExtractedOperator]]
"""For each step of a case, by its name, the operators that may take its place, the best first."""


@dataclass(frozen=True, slots=True)
class RewrittenCase:
    """A case with operators in place of steps (by their names). ``is_whole``: every step that is not built in has one."""

    text: str
    mapped: Mapping[str, ExtractedOperator]
    is_whole: bool


def swapped(case: TypedSteps, mapped: Mapping[str, ExtractedOperator]) -> str | None:
    """The file of a case in which these steps, by their names, have these operators; None where one does not fit."""
    text = case_text(case, mapped)
    return None if text is None or problems_of(text) else text


def rewritten(case: TypedSteps, offers: Offers) -> RewrittenCase | None:
    """A case with as many of its steps replaced as fit together; None where not even its own steps fit, which is not so for what
    stage 1 accepted.
    """
    wanted = {name: fits[0] for name, fits in offers.items() if fits}
    own = [step.name for step in case.steps if step.built_in is None]
    mapped: dict[str, ExtractedOperator] = {}
    text = case_text(case, wanted)
    if text is not None and not problems_of(text):
        mapped = wanted
    else:
        text = None
        for name in own:
            for operator in offers.get(name, ()):
                tried = case_text(case, {**mapped, name: operator})
                if tried is not None and not problems_of(tried):
                    mapped, text = {**mapped, name: operator}, tried
                    break
        text = text or case_text(case, {})
    return None if text is None else RewrittenCase(text, mapped, all(name in mapped for name in own))


def fitting(case: TypedSteps, operators: Sequence[ExtractedOperator]) -> Offers:
    """The operators that fit the steps of a case by their signatures alone: those that take and give just the same first. For
    cases that no operator was drawn from.
    """
    kinds: dict[str, Type] = dict(case.kinds)
    offers: dict[str, Sequence[ExtractedOperator]] = {}
    for step in case.steps:
        if step.built_in is not None:
            continue
        taken = taken_by(step, kinds)
        fits = [operator for operator in operators if _fits(taken, kinds[step.name], operator)]
        fits.sort(
            key=lambda operator, kinds_=frozenset(taken), given=kinds[step.name]: (  # type: ignore[misc]
                operator.signature.output != given,
                operator.signature.kinds != kinds_,
            )
        )
        offers[step.name] = fits
        if fits:
            kinds[step.name] = fits[0].signature.output
    return offers


def _fits(taken: Sequence[Type], given: Type, operator: ExtractedOperator) -> bool:
    own = operator.signature
    if unifies(taken, given, own):
        return True
    needed = {port.kind for port in own.inputs if not port.is_optional}
    return (
        given in ("Text", own.output)
        and needed <= set(taken)
        and all(operator.port(kind) is not None for kind in taken)
    )
