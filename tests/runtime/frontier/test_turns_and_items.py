"""Which turn follows, which goes out, and in which order lists come out: for every course that turns and items may take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.frontier.items import Items
from merrow_runtime.frontier.turns import Turns

scores = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0, float("nan")]))


@given(st.integers(1, 6), st.lists(st.tuples(st.booleans(), scores, st.booleans()), min_size=6, max_size=6))
def test_turns_end_where_none_is_wanted_or_none_remains(
    most: int, course: list[tuple[bool, float | None, bool]]
) -> None:
    turns = Turns(most)
    out = None
    made = 0
    while out is None:
        made += 1
        assert turns.begin() == made
        more, score, spent = course[made - 1]
        out = turns.end(more=more, score=score, spent=spent)
    before = course[: made - 1]
    assert made <= most
    assert all(more and not spent for more, _, spent in before)
    more, _, spent = course[made - 1]
    assert not more or spent or made == most
    known = [(number, score) for number, (_, score, _) in enumerate(course[:made], 1) if score is not None]
    if not more or not known:
        assert out == made
    elif all(score == score for _, score in known):
        assert out == max(known, key=lambda one: (one[1], -one[0]))[0]


@given(st.integers(0, 12), st.integers(1, 5), st.randoms(use_true_random=False))
def test_lists_are_in_the_order_of_the_items_whatever_ends_first(count: int, parallel: int, chance: object) -> None:
    random = chance
    items = Items(count, parallel)
    running: list[int] = []
    kept: list[int] = []
    over = count == 0
    while not over:
        while (number := items.begin()) is not None:
            running.append(number)
        assert 0 < len(running) <= parallel
        number = running.pop(random.randrange(len(running)))  # type: ignore[attr-defined]
        left_out = random.random() < 0.3  # type: ignore[attr-defined]
        kept += [] if left_out else [number]
        brought = None if left_out else [(7, [f"a{number}", f"b{number}"] if number % 2 else []), (8, [number])]
        over = items.end(number, brought)
        assert over == (not running and items.begun == count)
    assert items.kept == len(kept)
    assert items.lists([7, 8, 9]) == {
        7: [f"{letter}{number}" for number in sorted(kept) if number % 2 for letter in "ab"],
        8: sorted(kept),
        9: [],
    }
