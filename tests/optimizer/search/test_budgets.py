"""Budgets of searches: kept whatever a call uses within what it may use, with enough left for the held-out items."""

from __future__ import annotations

import tempfile
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.optimizer.search.test_carried_out import Priced, plan_for, run
from tests.runtime.engine.fakes import Said

from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.optimization.plan import Bounded
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage

MAY_USE = 1024 * 15 / 1e6
"""US dollars that a call of `Priced` may use at least, by what is reserved for it."""


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(
    st.sampled_from(["guided", "climb", "evolve", "mcts", "random"]),
    st.sampled_from([1, 3]),
    st.floats(0.02, 1.0),
    st.floats(1.0, 8.0),
    st.booleans(),
)
@example("random", 1, 0.07, 2.2, False)
@example("climb", 3, 1.0, 2.0, True)
def test_a_budget_is_never_overrun_and_always_pays_for_the_held_out_items(
    strategy: str, jobs: int, dear: float, more: float, in_tokens: bool
) -> None:
    """Calls on held-out items, and the first of all, use the most that a call uses; the others anything up to that."""
    first: list[str] = []

    def said(request: ModelRequest) -> Said:
        text = "".join(message.content for message in request.messages)
        code = crc32(text.encode())
        first.append(text)
        share = 1.0 if text == first[0] or any(item in text for item in held_out) else code % 97 / 2000
        used = Usage(0, round(1024 * dear * share), 1, MAY_USE * dear * share)
        return ModelReply("yes" if code % 100 < min(95, 20 + len(text) // 6) else "no", usage=used)

    # Twenty answers of the start and ten held-out ones of both, each of two calls at least.
    least = 2 * (20 + 3 * 10 + 2 * 10) * dear
    limits = (
        EvaluationLimits(tokens=int(1024 * least * more)) if in_tokens else EvaluationLimits(usd=MAY_USE * least * more)
    )
    plan = plan_for(Priced(said), limits=limits, bounds=Bounded(), strategy=strategy, jobs=jobs)
    held_out = [str(item.inputs["problem"]) for item in plan.split.held_out]
    with tempfile.TemporaryDirectory() as folder:
        found = run(lambda: plan, Path(folder))
    assert found.search.status == "finished"
    assert (found.usage.cost_usd or 0.0) <= (limits.usd or 1e9) * (1 + 1e-9)
    assert found.usage.tokens <= (limits.tokens or 10**12)
    assert found.crown == 0 or found.held_out is not None
    if found.held_out is not None:
        assert found.held_out.left_out == 0
