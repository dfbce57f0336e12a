"""Features of graphs, and what the linear model believes after scores."""

from __future__ import annotations

import math
import shlex
import subprocess
import sys
from dataclasses import replace
from random import Random
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimizer.search.searching import Words, draft

from merrow_analysis.check import analyse
from merrow_optimizer.search.candidates import CandidateDraft, Draw, ItemRepeat
from merrow_optimizer.search.features import SIZE, PromptUse, features_of, prompts_of
from merrow_optimizer.search.history import History
from merrow_optimizer.search.linear import Posterior
from merrow_optimizer.search.strategies import guided
from merrow_optimizer.search.strategies.guided import Guided

VOTE = """flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "one"}
    B@{op: Custom, prompt: "two"}
    V@{op: ScEnsemble}
    RETURN([Answer]):::Interface
    PROBLEM --> A & B
    PROBLEM -->|problem| V
    A & B --> V --> RETURN
"""


def test_features_are_hashed_counts_with_their_logarithms() -> None:
    graph = analyse(VOTE).typed
    assert graph is not None
    counts = {
        "Custom": 2,
        "ScEnsemble": 1,
        "ScEnsemble<Custom": 2,
        "Interface<ScEnsemble<Custom": 2,
        "Interface<ScEnsemble": 1,
        "w=2": 1,
        "join": 2,
    }
    wanted = [1.0] + [0.0] * (SIZE - 1)
    for key, count in counts.items():
        wanted[1 + crc32(key.encode()) % 64] += 1
        wanted[1 + (crc32(key.encode()) >> 8) % 64] += 0.5 * math.log(count)
    assert features_of(graph) == pytest.approx(wanted)
    assert SIZE == 65


def test_what_steps_remember_is_a_feature() -> None:
    chain = VOTE.replace(
        "A & B --> V --> RETURN", "A & B --> V --> C --> RETURN\n    C@{op: Custom, prompt: three, memory: M}"
    )
    said = {
        memory: analyse(chain.replace("memory: M", f"memory: {memory}")) for memory in ("none", "all", '"{last: 1}"')
    }
    features = {}
    for memory, read in said.items():
        assert read.typed is not None
        features[memory] = features_of(read.typed, read.settings)
    assert len(set(features.values())) == 3
    assert sum(features["all"]) == sum(features["none"]) + 2


def test_each_prompt_has_its_share_of_the_nodes_in_its_place() -> None:
    graph = analyse(
        VOTE.replace("A & B --> V --> RETURN", "A & B --> V --> C@{op: Custom, prompt: x} --> RETURN")
    ).typed
    assert graph is not None
    told = {graph.by_id[name].index: text for name, text in {"A": "one", "B": "two", "C": "one"}.items()}
    first = {PromptUse("one", is_first=True): 0.5, PromptUse("two", is_first=True): 0.5}
    assert prompts_of(graph, told) == {**first, PromptUse("one", is_first=False): 1.0}
    told[graph.by_id["B"].index] = "one"
    assert prompts_of(graph, told) == {PromptUse("one", is_first=True): 1.0, PromptUse("one", is_first=False): 1.0}


def test_no_two_prompts_are_one_to_the_model() -> None:
    """Of forty prompts one is good. What is believed of another workflow that has it is better than of one with any other."""
    history = History(60, 1, 0)
    uses = [PromptUse(f"Do it in way {number}.", is_first=True) for number in range(40)]
    for number, use in enumerate(uses):
        candidate = history.add(prompted(f"{number}", {use: 1.0}))
        draw = Draw(number + 1, candidate, history.next_places(candidate, 60))
        history.ask(draw)
        history.apply(draw, [float(place.item < (50 if number == 7 else 20)) for place in draw.places])
        history.applied += 1
    posterior = Posterior(history)
    effects = {use: posterior.weights[place][0] for use, place in posterior.prompts.items()}
    assert list(effects) == uses
    assert max(uses, key=effects.__getitem__) is uses[7]
    assert effects[uses[7]] > 0.1 > 3 * max(abs(effects[use]) for use in uses if use is not uses[7])


def test_a_prompt_that_no_candidate_has_had_is_drawn_from_the_prior_the_same_for_all_that_have_it() -> None:
    posterior = Posterior(scored(5, 4, 20))
    strange = {PromptUse("never seen", is_first=True): 1.0}
    known, first, second = prompted("a", {}), prompted("a", strange), prompted("b", strange)
    chance, gains = Random(3), []
    for _ in range(3_000):
        bare, one, other = posterior.draw([known, first, second], chance)[0]
        assert one == other
        gains.append(one - bare)
    scale = math.sqrt(scored(5, 4, 20).noise / 0.16)
    assert np.std(gains) == pytest.approx(0.12 * scale, rel=0.06)
    assert np.mean(gains) == pytest.approx(0, abs=0.01)


def prompted(key: str, prompts: dict[PromptUse, float]) -> CandidateDraft:
    return replace(draft(key), features=(1.0,) + (0.0,) * (SIZE - 1), prompts=prompts)


USES = [PromptUse(text, is_first) for text in ("one", "two", "three") for is_first in (True, False)]


def scored(seed: int, candidates: int, items: int) -> History:
    chance = Random(seed)
    history = History(items, 1, seed)
    for number in range(candidates):
        one = draft("".join(chance.choices("abc", k=number + 1)) + str(number))
        history.add(replace(one, prompts={use: chance.random() for use in chance.sample(USES, 2)}))
        places = history.next_places(number, chance.randint(1, items))
        draw = Draw(number + 1, number, places)
        history.ask(draw)
        history.apply(draw, [float(chance.random() < 0.6) for _ in places])
        history.applied += 1
    return history


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 30))
def test_the_posterior_is_that_of_the_joint_normal_distribution(seed: int, candidates: int, items: int) -> None:
    """The closed form against conditioning one large normal vector of all scores on the means that were seen."""
    history = scored(seed, candidates, items)
    posterior = Posterior(history)
    scale = history.noise / 0.16
    first = [0.12**2 * scale if use.is_first else 0.06**2 * scale for use in USES]
    weights = np.array([1.0] + [0.06**2 * scale] * (SIZE - 1) + first)
    rows = np.array([[*one.features, *(one.prompts.get(use, 0.0) for use in USES)] for one in history.drafts])
    counts = np.array(history.counts)
    prior = (rows * weights) @ rows.T + np.eye(candidates) * 0.03**2 * scale
    seen = prior + np.diag(history.noise / counts)
    gain = prior @ np.linalg.inv(seen)
    means = gain @ (np.array(history.sums) / counts)
    deviations = np.sqrt(np.diag(prior - gain @ prior))
    assert posterior.means == pytest.approx(means.tolist(), abs=1e-7)
    assert posterior.deviations == pytest.approx(deviations.tolist(), abs=1e-7)


def test_what_a_judge_gave_is_a_feature_once_there_is_any() -> None:
    def weights(marks: list[float | None]) -> list[tuple[float, float]]:
        history = History(60, 1, 0)
        for number, mark in enumerate(marks):
            candidate = history.add(replace(draft(f"{number}"), features=(1.0,) + (0.0,) * (SIZE - 1), judged=mark))
            draw = Draw(number + 1, candidate, history.next_places(candidate, 60))
            history.ask(draw)
            history.apply(draw, [float(place.item < (50 if mark == 10 else 20)) for place in draw.places])
        return Posterior(history).weights

    assert len(weights([None, None])) == SIZE
    unjudged, worst, best = None, 1.0, 10.0
    found = weights([unjudged, worst, best, worst, best])
    assert len(found) == SIZE + 1
    mean, deviation = found[-1]
    assert mean > 3 * deviation / 2 > 0
    assert weights([best, worst, worst, worst])[-1][0] > 0


@pytest.mark.parametrize(("sure", "unsure"), [(1, 2), (2, 1)])
def test_of_two_that_are_believed_to_be_alike_the_surer_one_is_the_crown(sure: int, unsure: int) -> None:
    history = History(400, 1, 0)
    for name in ("s", "sab", "sxy"):
        history.add(draft(name))
    # The one that is less sure is believed to be better, by less than half of what it is less sure.
    for candidate, answers, right in ((0, 60, 50), (sure, 400, 70), (unsure, 60, 74)):
        draw = Draw(len(history.draws) + 1, candidate, history.next_places(candidate, answers))
        history.ask(draw)
        history.apply(draw, [float(number * 37 % 100 < right) for number in range(answers)])
        history.applied += 1
    posterior = Posterior(history)
    believed = dict(zip(posterior.scored, zip(posterior.means, posterior.deviations, strict=True), strict=True))
    (mean, deviation), (higher, wider) = believed[sure], believed[unsure]
    assert mean < higher < mean + (wider - deviation) / 2
    assert Guided(Words()).crown(history) == sure


@pytest.mark.slow
def test_draws_of_scores_spread_as_the_posterior_says() -> None:
    posterior = Posterior(scored(5, 4, 20))
    chance = Random(1)
    draws = np.array([posterior.draw([], chance)[1] for _ in range(4_000)])
    assert draws.mean(axis=0).tolist() == pytest.approx(posterior.means, abs=0.01)
    assert draws.std(axis=0).tolist() == pytest.approx(posterior.deviations, rel=0.06)


def answered(*candidates: list[float]) -> History:
    """A history of candidates with these scores, which they got on the same items."""
    history = History(max(map(len, candidates)), 1, 0)
    for number, found in enumerate(candidates):
        history.add(draft("s" + "ab" * number))
        draw = Draw(number + 1, number, tuple(ItemRepeat(item, 0) for item in range(len(found))))
        history.ask(draw)
        history.apply(draw, found)
        history.applied += 1
    return history


def test_the_noise_is_that_of_the_scores_around_each_candidates_mean() -> None:
    """With fifty answers that are taken for granted, and never less than a hundredth."""
    assert History(10, 1, 0).noise == answered([1.0], [0.0]).noise == pytest.approx(0.16)
    assert answered([1.0] * 201).noise == pytest.approx(8 / 250)
    assert answered([1.0, 1.0]).noise == pytest.approx(8 / 51)
    assert answered([1.0] * 4000).noise == 0.01
    assert answered([float(item % 2) for item in range(4000)]).noise == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize(("answers", "crown"), [(60, 1), (59, 0)])
def test_a_candidate_is_the_crown_only_with_enough_answers(answers: int, crown: int) -> None:
    history = answered([0.0, 1.0] * 100, [1.0] * answers)
    assert Guided(Words()).crown(history) == crown


@pytest.mark.parametrize(("items", "answers", "crown"), [(20, 10, 1), (20, 9, 0)])
def test_of_few_items_half_are_enough(items: int, answers: int, crown: int) -> None:
    assert Guided(Words()).crown(answered([0.0, 1.0] * (items // 2), [1.0] * answers)) == crown


def test_an_easy_item_flatters_nobody() -> None:
    """A candidate that was only asked what all get right is believed to be worse than its plain mean."""
    history = History(10, 1, 0)
    number = 0
    for name in ("a", "b", "c", "d"):
        candidate = history.add(draft(name))
        number += 1
        draw = Draw(number, candidate, history.next_places(candidate, 10))
        history.ask(draw)
        history.apply(draw, [float(place.item < 5) for place in draw.places])
    lucky = history.add(draft("e"))
    easy = tuple(place for place in history.next_places(lucky, 10) if place.item < 5)
    history.apply(Draw(number + 1, lucky, easy), [1.0] * 5)
    assert history.mean(lucky) == 1.0
    assert history.sums[lucky] / history.counts[lucky] < 0.8


def test_what_is_told_is_a_score_and_the_model_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(10, 1, 0)
    for number, name in enumerate(["a", "aa", "aaa", "aaaa", "aaaaa", "aaaaaa"]):
        history.add(draft(name))
        draw = Draw(number + 1, number, history.next_places(number, 10))
        history.ask(draw)
        history.apply(draw, [float(number > 2)] * 10)
        history.applied += 1
    made: list[Posterior] = []

    def counted(seen: History) -> Posterior:
        made.append(Posterior(seen))
        return made[-1]

    monkeypatch.setattr(guided, "Posterior", counted)
    strategy = Guided(Words())
    told = [strategy.told(history, number) for number in range(6)]
    assert len(made) == 1
    assert (min(made[0].means) < 0, max(made[0].means) > 1) == (True, True)
    assert (min(told), max(told)) == (0, 1)


@pytest.mark.slow
def test_a_missing_package_is_one_sentence_with_its_remedy() -> None:
    program = (
        "import sys\nsys.modules['numpy'] = None\n"
        "import merrow_optimizer.search.strategies.evolve, merrow_optimizer.search.engine\n"
        "from merrow_runtime.errors import UsageFailure\n"
        "try:\n    import merrow_optimizer.search.strategies.guided\n"
        "except UsageFailure as problem:\n    print(problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "needs the package numpy; install it with: " in done.stdout
    assert f"{shlex.quote(sys.executable)} -m pip install 'numpy>=" in done.stdout
