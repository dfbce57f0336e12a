"""What a model proposes for a search: candidates of given parents as plain data, the same for the same arguments."""

from __future__ import annotations

import json

import pytest
from tests.optimizer.suggestions.scripted import FLOW, Asked, Model, asking, candidate, ground, prompt, said, whole

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.suggestions.candidate_answers import KEY
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.prompt import FailedItem, Try
from merrow_optimizer.suggestions.proposing import ModelProposer, Parent, Proposal
from merrow_optimizer.suggestions.session import Models
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.purse import Purse
from merrow_runtime.options import RunOptions
from merrow_runtime.workflow import check_workflow

CHILD = FLOW.replace("step by step", "in small steps")
ANSWERS = said(
    candidate(prompt("Check it.", "B"), title="Check"),
    whole(CHILD.replace("one sentence", "two sentences"), "Both"),
    candidate(prompt("Say 4711."), title="Leak"),
)


def proposer(one: Asked, start: str = FLOW) -> ModelProposer:
    return ModelProposer(
        check_workflow(start, name="flow.mmd", path="flow.mmd"),
        RunOptions(),
        Models("m", "j"),
        Asker(Purse(one.chosen, "flow.mmd"), one.store.cache, KEY),
        endpoint=one.chosen.endpoint,
        leaks=Leaks([Item("1", {"problem": "x"}, "4711")]),
    )


async def test_candidates_are_made_of_the_first_parent_and_are_plain_data() -> None:
    model = Model(ANSWERS, [said(candidate(prompt("Say 4711."), title="Leak"))])
    async with asking(model) as one:
        made = proposer(one)
        parents = [Parent(3, CHILD, 0.5), Parent(0, FLOW, 0.4)]
        found = await made.propose(parents, [FailedItem("in", "gold", "out")], [Try("Removes X", 0.5, 0.25)], 3)
        count = len(model.requests)
        again = await made.propose(parents, [FailedItem("in", "gold", "out")], [Try("Removes X", 0.5, 0.25)], 3)
    assert [(one.title, one.form, one.parents) for one in found.proposals] == [
        ("Check", "moves", (3,)),
        ("Both", "graph", (3, 0)),
    ]
    assert found.proposals[0].text == CHILD.replace("Answer in one sentence.", "Check it.")
    assert found.proposals[1].text == CHILD.replace("one sentence", "two sentences")
    assert found.proposals[0].scores == dict.fromkeys(("coherence", "fit", "economy", "prompts", "soundness"), 5.0)
    assert found.usage.calls == count == 1 + 2 + 2  # the prompt that gives an answer away came back the same
    assert found.tallies["moves"].to_json()["never"] == 1
    assert (again.proposals, again.usage.calls, len(model.requests)) == (found.proposals, 0, count)
    for proposal in found.proposals:
        assert Proposal.from_json(json.loads(json.dumps(proposal.to_json()))) == proposal
    question = model.asked[0].prompt
    assert '"score after": 0.25' in question
    assert '"score": 0.4' in question


async def test_what_a_search_has_is_not_proposed_again() -> None:
    model = Model(ANSWERS, [said(candidate(prompt("Check it.", "B")))])
    taken = ground().key(CHILD, ground().read(CHILD))
    async with asking(Model(said(whole(CHILD)), [said(whole(CHILD))])) as one:
        found = await proposer(one).propose([Parent(0, FLOW)], taken=[taken], n=1)
    assert found.proposals == ()
    async with asking(model) as one:
        with pytest.raises(ValueError, match="need a parent"):
            await proposer(one).propose([])
