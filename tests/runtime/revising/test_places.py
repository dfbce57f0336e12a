"""Where revisions move work to: for which Loops it counts, and under which names the journal has its calls."""

from __future__ import annotations

from merrow_runtime.calls.account import RunAccount
from merrow_runtime.calls.carried import Carried
from merrow_runtime.provenance import Provenance
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.visit import Visit

ONE, TWO, FOUR, EIGHT = (Usage(calls=number) for number in (1, 2, 4, 8))


def used(account: RunAccount, *places: str) -> list[int]:
    """How many calls were made in the turns of Loops."""
    return [account.used_in(place).calls for place in places]


def test_a_visit_counts_for_its_run_and_for_each_loop_around_it_that_has_a_budget() -> None:
    account = RunAccount(spent=ONE, meters=frozenset(("L", "M")))
    account.of(Visit("A")).count(ONE)
    account.of(Visit("A", "L[1]")).count(TWO)
    account.of(Visit("A", "L[2]")).count(FOUR)
    account.of(Visit("B", "X[1]/M!2[3]/L[1]/CALL")).count_known(EIGHT)
    account.of(Visit("B", "LM[1]")).count(NOTHING)
    assert account.spent == Usage(calls=1 + 1 + 2 + 4)
    assert used(account, "L", "X[1]/M!2", "X[1]/M!2[3]/L", "X", "LM", "X[1]/M!2[3]/L[1]/CALL") == [6, 8, 8, 0, 0, 0]
    assert account.metered.keys() == {"L", "X[1]/M!2", "X[1]/M!2[3]/L"}
    assert (account.used_by("A"), account.used_by("B"), account.used_by("C")) == (Usage(calls=7), EIGHT, NOTHING)
    assert account.of(Visit("A", "L[1]")).used == TWO
    # Other Loops have budgets now: what was used before counts for these.
    account.use_meters(frozenset(("X",)))
    assert used(account, "X", "L", "X[1]/M!2") == [8, 0, 0]
    account.use_meters(frozenset())
    assert used(account, "X", "L") == [0, 0]
    account.of(Visit("A", "X[1]")).count(ONE)
    assert account.metered == {}


def test_what_is_moved_counts_where_it_is_now_and_a_call_takes_its_file_along() -> None:
    account = RunAccount(meters=frozenset(("L", "M")))
    visits = [
        Visit("A", "L[1]"),
        Visit("C", "L[1]"),
        Visit("X", "L[1]/C"),
        Visit("Y", "L[1]/C/M[2]"),
        Visit("Z", "L[1]/CC"),
    ]
    for visit, usage in zip(visits, (ONE, TWO, FOUR, EIGHT, Usage(calls=16)), strict=True):
        account.of(visit).count(usage)
    assert used(account, "L", "M", "L[1]/C/M") == [31, 0, 8]
    account.move(visits[0], Visit("B"), is_call=False)
    assert used(account, "L", "M", "L[1]/C/M") == [30, 0, 8]
    account.move(visits[1], Visit("D", "M[1]"), is_call=True)
    assert used(account, "L", "M", "M[1]/D/M") == [16, 14, 8]
    # What was moved moves again, whoever it was first; and what nobody knows has used nothing.
    account.move(Visit("B"), Visit("E", "M[7]"), is_call=False)
    account.move(Visit("D", "M[1]"), Visit("F", "L[9]"), is_call=True)
    account.move(Visit("N"), Visit("O", "L[1]"), is_call=True)
    assert used(account, "L", "M", "L[9]/F/M") == [16 + 14, 1, 8]
    account.of(visits[0]).count(ONE)
    assert used(account, "L", "M") == [30, 2]
    assert account.spent.calls == 32
    # Without a Call what lies under its name stays.
    other = RunAccount(meters=frozenset("L"))
    for visit in (Visit("C", "L[1]"), Visit("X", "L[1]/C")):
        other.of(visit).count(ONE)
    other.move(Visit("C", "L[1]"), Visit("C"), is_call=False)
    assert used(other, "L") == [1]


def test_who_answered_in_a_file_answered_its_call_and_the_run() -> None:
    one, two, three, before = (Provenance(f"http://{name}.test", "m") for name in ("one", "two", "three", "before"))
    account = RunAccount(before=(before, two))
    for visit, source in (
        (Visit("A", "C"), one),
        (Visit("A", "C/L[1]"), two),
        (Visit("A", "CC"), three),
        (Visit("C"), one),
    ):
        account.of(visit).answered[source] = None
    account.gather(Visit("C"))
    assert account.of(Visit("C")).sources == (one, two)
    account.gather(Visit("NEW"))
    assert account.of(Visit("NEW")).sources == ()
    assert account.all_sources == (before, two, one, three)
    assert RunAccount().all_sources == ()


def test_a_visit_on_its_way_has_the_places_where_it_was_from_the_time_it_moved() -> None:
    first = Carried().after({Visit("B"): Visit("A"), Visit("C"): Visit("C")}, 1.0)
    assert first.before == {"B": {"A": 1.0}}
    second = first.after({Visit("X", "L[2]"): Visit("B"), Visit("D", "M[1]"): Visit("C")}, 2.0)
    assert second.before == {"L[2]/X": {"A": 1.0, "B": 2.0}, "M[1]/D": {"C": 2.0}}
    assert list(second.of(Visit("X", "L[2]"))) == [Visit("B"), Visit("A")]
    assert list(second.of(Visit("D", "M[1]"))) == [Visit("C")]
    assert [list(second.of(one)) for one in (Visit("X"), Visit("B"), Visit("X", "L[1]"))] == [[], [], []]
    # The calls at the places that were left are not those of who is there now; nor those of a file called there.
    times = [
        second.since(one) for one in (Visit("A"), Visit("B"), Visit("N", "B/L[1]"), Visit("BB"), Visit("X", "L[2]"))
    ]
    assert times == [1.0, 2.0, 2.0, 0.0, 0.0]
    # Back where it began: what is left is where else it was.
    third = second.after({Visit("A"): Visit("X", "L[2]")}, 3.0)
    assert third.before == {"A": {"B": 2.0, "L[2]/X": 3.0}, "M[1]/D": {"C": 2.0}}
    # What has ended stays until another is at one of its places.
    assert second.after({}, 4.0).before == second.before
    assert second.after({Visit("A"): Visit("A")}, 4.0).before == {"M[1]/D": {"C": 2.0}}
    assert second.after({Visit("Z"): Visit("C")}, 4.0).before == {"Z": {"C": 4.0}, "L[2]/X": {"A": 1.0, "B": 2.0}}


def test_in_a_called_file_the_places_are_those_of_the_call() -> None:
    carried = Carried({"M[1]/CALL": {"CALL": 1.0, "L[1]/OLD!2": 2.0}, "M[1]/CALL/N": {"M[1]/CALL/O": 3.0}})
    assert list(carried.of(Visit("N", "M[1]/CALL"))) == [
        Visit("O", "M[1]/CALL"), Visit("N", "L[1]/OLD!2"), Visit("N", "CALL"),
    ]  # fmt: skip
    assert list(carried.of(Visit("P", "M[1]/CALL/T[4]", 1))) == [
        Visit("P", "L[1]/OLD!2/T[4]", 1), Visit("P", "CALL/T[4]", 1),
    ]  # fmt: skip
    assert list(Carried().of(Visit("N", "CALL"))) == []
    assert Carried().since(Visit("N", "CALL")) == 0.0


def test_what_is_damaged_in_a_record_of_places_is_left_out() -> None:
    kept = {"A": {"B": 1, "L[1]/C": 2.5, "": 3, "L[": 3, "X": "4"}, "D": {"E": None}, "F": [], "G": {}}
    assert Carried.read(kept).before == {"A": {"B": 1, "L[1]/C": 2.5}}
    assert [Carried.read(one).before for one in (None, [], "x", {})] == [{}] * 4
