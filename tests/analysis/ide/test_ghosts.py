"""A diagram drawn with the nodes that it had before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.check import analyse
from merrow_analysis.ide.texts.ghosts import with_ghosts

NOW = "flowchart LR\n    A --> C\n    C --> D"
BEFORE = 'flowchart LR\n    A --> B["Say #quot;hi#quot;<br/>(x: 1)"]\n    B --> C\n    C --> D\n'


def ghosts(now: str, *earlier: str, renamed: tuple[str, ...] = ()) -> tuple[str, list[str]]:
    return with_ghosts(now, analyse(now), [analyse(one) for one in earlier], renamed)


def test_what_is_gone_is_drawn_beside_what_is_there_joined_as_it_was() -> None:
    assert ghosts(NOW, BEFORE) == (
        f'{NOW}\n    B["Say #quot;hi#quot;<br/>(x: 1)"]\n    A -.-> B\n    B -.-> C\n',
        ["B"],
    )


def test_where_nothing_is_gone_the_text_is_as_it_is() -> None:
    assert ghosts(NOW, NOW) == (NOW, [])
    assert ghosts(NOW, BEFORE, renamed=("B",)) == (NOW, [])
    assert ghosts(NOW) == (NOW, [])


def test_what_went_earlier_is_still_gone() -> None:
    text, gone = ghosts("flowchart LR\n    A --> D\n", BEFORE, NOW)
    assert gone == ["B", "C"]
    assert "B -.-> C" in text


_ids = st.lists(st.sampled_from(["A", "B", "end1", "x-y", "N9"]), min_size=1, max_size=4, unique=True)


@given(_ids, _ids)
def test_all_nodes_of_both_are_drawn(now: list[str], before: list[str]) -> None:
    texts = ["flowchart LR\n" + "".join(f"    {name} --> Z\n" for name in names) for names in (now, before)]
    text, gone = ghosts(*texts)
    assert gone == [name for name in before if name not in now]
    assert set(analyse(text).flow.nodes) == {*now, *before, "Z"}
