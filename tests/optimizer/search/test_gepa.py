"""The strategy `gepa`: the package decides, and the search still follows from its seed and the outcomes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from importlib.util import find_spec

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.optimizer.search.searching import Words, draft, run, scores

from merrow_optimizer.search.candidates import START, Draw
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.strategies.gepa import Gepa

needs_package = pytest.mark.skipif(find_spec("gepa") is None, reason="needs the package gepa")


def begin(seed: int, items: int = 12, evaluations: int = 150) -> Search:
    return Search(draft("s"), Gepa(Words(), seed), items=items, evaluations=evaluations, seed=seed)


def made(search: Search) -> tuple[list[Draw], list[str], int, float]:
    return search.history.draws, [one.text for one in search.history.drafts], search.crown, search.told


@needs_package
@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 10_000), st.integers(0, 12))
def test_a_search_that_was_killed_continues_to_the_same_search(seed: int, after: int) -> None:
    whole = run(begin(seed))
    again = begin(seed)
    for draw in whole.history.draws[:after]:
        assert again.next() == draw
        again.outcome(draw.number, scores(whole, draw))
    assert made(run(again)) == made(whole)


@needs_package
@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 10_000), st.integers(1, 20))
def test_no_answer_is_scored_twice_and_the_crown_has_answered_all_items(seed: int, items: int) -> None:
    search = run(begin(seed, items))
    history = search.history
    asked = [(draw.candidate, place) for draw in history.draws for place in draw.places]
    assert len(asked) == len(set(asked)) == search.drawn <= 150
    assert history.draws[0].candidate == START
    assert [place.item for place in history.draws[0].places] == list(range(items))
    keys = [one.key for one in history.drafts]
    assert len(keys) == len(set(keys))
    children = {draw.candidate: len(draw.places) for draw in reversed(history.draws)}
    assert all(first <= 3 for child, first in children.items() if child != START)
    assert history.asked[search.crown] == items
    assert history.mean(search.crown) >= history.mean(START)


@needs_package
def test_it_ends_where_nothing_new_is_to_be_scored() -> None:
    class Same(Words):
        def child(self, *_: object) -> None:
            return None

    search = Search(draft("s"), Gepa(Same(), 1), items=6, evaluations=500)
    run(search)
    assert search.is_over
    assert search.drawn == 6


def test_without_the_package_it_is_one_sentence() -> None:
    program = (
        "import sys\nsys.modules['gepa'] = None\n"
        "from merrow_optimizer.search.strategies.gepa import Gepa\n"
        "from merrow_runtime.errors import UsageFailure\n"
        "try:\n    Gepa(None, 1)\nexcept UsageFailure as problem:\n    print(problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "The strategy gepa needs the package of that name; install it with: " in done.stdout
    assert f"{shlex.quote(sys.executable)} -m pip install 'gepa>=" in done.stdout
