"""What runs are called: ids of their own, names that a caller gives, and beginnings of both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.engine.fakes import FakeEndpoint, workflow
from tests.runtime.store.making import run

import merrow_runtime
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.names import new_id

FLOW = ('A@{op: Custom, prompt: "a"}', "PROBLEM --> A --> RETURN")


async def begun(store: Store, name: str | None = None) -> str:
    result = await merrow_runtime.run(
        workflow(*FLOW), {"problem": "x"}, endpoint=FakeEndpoint(), store=store, run_id=name
    )
    assert result.status == "finished", result.error
    return result.run


def test_an_id_has_64_random_bits_in_few_letters() -> None:
    ids = [new_id() for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert all(re.fullmatch("[0-9a-hj-km-np-tv-z]{13}", identity) for identity in ids)
    # Each letter but the last has 5 bits, and that has 4.
    for place in range(13):
        assert len({identity[place] for identity in ids}) == (16 if place == 12 else 32)


async def test_a_run_may_be_named_and_a_name_is_given_once(tmp_path: Path) -> None:
    here, there = Store.open(tmp_path / "runs.sqlite"), Store.open(tmp_path / "runs.sqlite")
    assert await begun(here, "nightly/2026-11-22:3") == "nightly/2026-11-22:3"
    before = there.run("nightly/2026-11-22:3")
    for store in (here, there):
        with pytest.raises(UsageFailure) as failure:
            await begun(store, "nightly/2026-11-22:3")
        assert str(failure.value) == (
            "There is a run nightly/2026-11-22:3 already; choose another name, or continue it:"
            " merrow resume nightly/2026-11-22:3"
        )
    assert there.runs() == [before]
    here.close()
    there.close()


@pytest.mark.parametrize("name", ["", " a", "-a", "_", "a b", "a\n", "a\x00", "ä" * 201, "a%"])
async def test_a_name_that_would_be_hard_to_type_is_refused(name: str) -> None:
    store = MemoryStore()
    with pytest.raises(UsageFailure, match="can't be named"):
        await begun(store, name)
    assert store.runs() == []


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text("ab%_1", min_size=1, max_size=4), min_size=1, max_size=8, unique_by=str.casefold), st.data())
def test_an_exact_id_always_wins_and_a_beginning_must_be_of_one(names: list[str], data: st.DataObject) -> None:
    store = MemoryStore()
    for number, name in enumerate(names):
        store.begin(run(name, started=float(number)))
    for name in names:
        assert store.identity(name) == name
    asked = data.draw(st.text("ab%_1", max_size=4))
    found = [name for name in names if name.casefold().startswith(asked.casefold())]
    if asked in names or (asked and len(found) == 1):
        assert store.identity(asked) == (asked if asked in names else found[0])
        return
    with pytest.raises(RunFailure) as failure:
        store.identity(asked)
    if asked and found:
        newest = found[::-1]
        assert (
            str(failure.value)
            == f"Several runs begin with {asked!r}; give more of the id: {newest[0]}, {newest[1]}, ..."
        )
    else:
        assert str(failure.value) == f"There is no run {asked!r} in the journal; list them with: merrow runs"
