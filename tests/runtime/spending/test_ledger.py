"""The ledger: never more within a minute than allowed, whoever asks; and sums that are those of the calls."""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.errors import StoreFailure
from merrow_runtime.models.spending_limits import MinuteLimits
from merrow_runtime.spending import ledger as module
from merrow_runtime.spending.ledger import LONGEST_PAUSE, Ledger
from merrow_runtime.spending.pacing import MINUTE
from merrow_runtime.spending.permits import LIFE, Demand, Permit
from merrow_runtime.usage import Usage

HERE, THERE = "https://here.example", "https://there.example"
NEVER = 1e9
"""Seconds that no test takes."""


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def admit(ledger: Ledger, origin: str, limits: MinuteLimits, tokens: int) -> tuple[Permit | None, float]:
    """A permit, and 0; or None, and the seconds until there may be one."""
    permit, wait = ledger.take(origin, limits, tokens), 0.0
    if permit is None:
        wait = ledger.refill(origin, limits, tokens)
        permit = ledger.take(origin, limits, tokens)
    return permit, wait


CALLS = st.lists(
    st.tuples(
        st.floats(0, 40),
        st.sampled_from([HERE, THERE]),
        st.integers(0, 130),
        st.one_of(st.none(), st.integers(0, 130)),
    ),
    min_size=5,
    max_size=40,
)


@given(CALLS, st.one_of(st.none(), st.integers(1, 6)), st.one_of(st.none(), st.integers(1, 100)))
def test_no_minute_has_more_than_is_allowed_and_nobody_waits_for_nothing(
    calls: list[tuple[float, str, int, int | None]], requests: int | None, tokens: int | None
) -> None:
    limits = MinuteLimits(requests, tokens)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        # Two processes have two of them on one file.
        ledgers = [Ledger(Path(folder) / "l.sqlite", clock) for _ in range(2)]
        made: dict[str, list[list[float]]] = {HERE: [], THERE: []}
        for place, (later, origin, asked, used) in enumerate(calls):
            clock.now += later
            ledger = ledgers[place % 2]
            permit, wait = admit(ledger, origin, limits, asked)
            recent = [call for call in made[origin] if call[0] > clock.now - MINUTE]
            if permit is None:
                full = requests is not None and len(recent) >= requests
                # One of the two may have an eighth of what was left in hand, for a second.
                held = 0 if tokens is None else tokens // 8
                assert full or (
                    tokens is not None and recent and sum(call[1] for call in recent) + asked > tokens - held
                )
                assert 0 < wait <= MINUTE + LIFE + 0.01
                clock.now += wait
                permit, again = admit(ledger, origin, limits, asked)
                assert (permit is not None, again) == (True, 0.0)
                recent = [call for call in made[origin] if call[0] > clock.now - MINUTE]
            made[origin].append([clock.now, asked])
            recent.append(made[origin][-1])
            assert requests is None or len(recent) <= requests
            assert tokens is None or len(recent) == 1 or sum(call[1] for call in recent) <= tokens
            if used is not None and used <= asked:
                assert permit is not None
                ledger.settle(permit, used)
                ledger.enter()
                ledger.leave()
                made[origin][-1][1] = used


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.3, 1.5, 30.0]),
            st.integers(0, 2),
            st.integers(1, 40),
            st.integers(0, 60),
            st.sampled_from(["ends", "ends", "ends", "is killed"]),
        ),
        min_size=20,
        max_size=120,
    ),
    st.one_of(st.none(), st.integers(9, 60)),
    st.one_of(st.none(), st.integers(200, 1000)),
)
def test_permits_that_were_taken_ahead_never_make_it_more_though_processes_are_killed_with_them(
    calls: list[tuple[float, int, int, int, str]], requests: int | None, tokens: int | None
) -> None:
    limits = MinuteLimits(requests, tokens)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "l.sqlite"
        ledgers = [Ledger(path, clock) for _ in range(3)]
        made: list[tuple[float, int]] = []
        for later, which, asked, behind, end in calls:
            clock.now += later
            ledger = ledgers[which]
            permit, wait = ledger.take(HERE, limits, asked), 0.0
            if permit is None:
                wait = ledger.refill(HERE, limits, asked, Demand(behind // 10, behind * 4))
                permit = ledger.take(HERE, limits, asked)
            assert (permit is None) == (wait > 0)
            assert wait <= MINUTE + LIFE + 0.01
            if permit is not None:
                made.append((clock.now, asked))
            recent = [call for call in made if call[0] > clock.now - MINUTE]
            assert requests is None or len(recent) <= requests
            assert tokens is None or len(recent) <= 1 or sum(call[1] for call in recent) <= tokens
            if end == "is killed":
                ledgers[which] = Ledger(path, clock)
        clock.now += MINUTE + LIFE
        # What a process took with it is back a second later than what it used.
        assert all(admit(Ledger(path, clock), HERE, limits, 1)[0] for _ in range(min(requests or 9, 9)))


def test_many_calls_ask_the_database_about_once_a_second_and_give_back_what_they_did_not_need(tmp_path: Path) -> None:
    clock = Clock()
    limits = MinuteLimits(4000, 10**6)
    here, there = (Ledger(tmp_path / "l.sqlite", clock) for _ in range(2))
    refills = 0
    for _ in range(1000):
        clock.now += 0.01
        if here.take(HERE, limits, 10) is None:
            refills += 1
            assert here.refill(HERE, limits, 10) == 0
            assert here.take(HERE, limits, 10)
    assert refills <= 10 + 5
    here.enter()
    here.leave()
    got = 0
    while admit(there, HERE, limits, 10)[0]:
        got += 1
    assert got == 3000


def test_a_process_that_was_frozen_has_no_permits_when_it_thaws(tmp_path: Path) -> None:
    clock = Clock()
    limits = MinuteLimits(80)
    here, there = (Ledger(tmp_path / "l.sqlite", clock) for _ in range(2))
    assert here.refill(HERE, limits, 1, Demand(79, 79)) == 0
    clock.now += MINUTE + LIFE
    assert here.take(HERE, limits, 1) is None
    assert sum(admit(there, HERE, limits, 1)[0] is not None for _ in range(90)) == 80


def test_a_pause_holds_for_all_and_ends(tmp_path: Path) -> None:
    clock = Clock()
    here, there = (Ledger(tmp_path / "l.sqlite", clock) for _ in range(2))
    here.pause(HERE, "m", 30)
    assert (there.paused(HERE, "m"), here.paused(HERE, "m")) == (0.0, 30.0)
    for model in ("m", "other"):
        there.begin("w", HERE, model, Usage(1, 0, 1, None))
    assert (there.paused(HERE, "m"), there.paused(HERE, "other")) == (30.0, 0.0)
    there.pause(HERE, "m", 10)  # a shorter one ends none
    clock.now += 29
    assert here.paused(HERE, "m") == there.paused(HERE, "m") == pytest.approx(1)
    clock.now += 1
    for ledger in (here, there, Ledger(tmp_path / "l.sqlite", clock)):
        ledger.begin("w", HERE, "m", Usage(1, 0, 1, None))
        assert ledger.paused(HERE, "m") == 0.0


def test_a_pause_is_never_longer_than_is_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    here = Ledger(tmp_path / "l.sqlite", clock)
    here.pause(HERE, "m", 10**9)
    assert here.paused(HERE, "m") == LONGEST_PAUSE
    clock.now -= 86_400  # a clock that was set back holds nobody up
    here.begin("w", HERE, "m", Usage(1, 0, 1, None))
    assert here.paused(HERE, "m") == 0.0
    here.pause(HERE, "m", 5)
    there = Ledger(tmp_path / "l.sqlite", clock)
    there.begin("w", HERE, "m", Usage(1, 0, 1, None))
    assert there.paused(HERE, "m") == 5.0


def test_a_file_of_an_older_version_counts_what_it_has(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "l.sqlite")) as database:
        database.execute(
            "CREATE TABLE paced (number INTEGER PRIMARY KEY, origin TEXT NOT NULL, at REAL NOT NULL, tokens INTEGER NOT NULL)"
        )
        database.execute("INSERT INTO paced VALUES (1, ?, ?, 5)", (HERE, Clock().now - 1))
        database.commit()
    ledger = Ledger(tmp_path / "l.sqlite", Clock())
    assert [admit(ledger, HERE, MinuteLimits(2), 1)[0] is not None for _ in range(2)] == [True, False]


@pytest.mark.parametrize("seconds", [2, 30, 86_400])
def test_a_clock_that_was_set_back_holds_nobody_up(tmp_path: Path, seconds: int) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    assert admit(ledger, HERE, MinuteLimits(1), 1)[0]
    clock.now -= seconds
    assert admit(ledger, HERE, MinuteLimits(1), 1)[0]
    assert not admit(ledger, HERE, MinuteLimits(1), 1)[0]


def test_what_another_process_did_just_now_counts_though_its_clock_is_a_little_ahead(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    assert admit(ledger, HERE, MinuteLimits(1), 1)[0]
    clock.now -= 0.5
    assert not admit(ledger, HERE, MinuteLimits(1), 1)[0]


def test_a_minute_later_there_is_room_again(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    assert admit(ledger, HERE, MinuteLimits(1), 1)[0]
    clock.now += MINUTE
    assert admit(ledger, HERE, MinuteLimits(1), 1)[0]


def test_a_month_has_what_was_counted_just_now_and_ends_with_its_last_day(tmp_path: Path) -> None:
    clock = Clock()  # in November
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    ledger.count("w", HERE, "m", Usage(1, 1, 1, 2.0))
    assert ledger.of_month() == 2.0
    ledger.flush()
    ledger.count("w", HERE, "m", Usage(1, 1, 1, 0.5))
    assert ledger.of_month() == 2.5
    clock.now += 20 * 86_400
    assert ledger.of_month() == 0.0


def test_the_last_run_that_counts_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FLUSH_EVERY", NEVER)
    path, clock = tmp_path / "l.sqlite", Clock()
    ledger = Ledger(path, clock)
    for _ in range(2):
        ledger.enter()
    ledger.count("w", HERE, "m", Usage(1, 1, 1, 2.0))
    ledger.leave()
    assert Ledger(path, clock).of_month() == 0.0
    ledger.leave()
    assert Ledger(path, clock).of_month() == 2.0


def test_what_was_counted_a_while_ago_is_written_as_the_next_run_ends_or_the_next_call_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock = tmp_path / "l.sqlite", Clock()
    ledger = Ledger(path, clock)
    for _ in range(3):
        ledger.enter()
    for ends in (True, False):
        before = Ledger(path, clock).of_month()
        monkeypatch.setattr(module, "_FLUSH_EVERY", NEVER)
        ledger.count("w", HERE, "m", Usage(1, 1, 1, 2.0))
        assert Ledger(path, clock).of_month() == before
        monkeypatch.setattr(module, "_FLUSH_EVERY", 0.0)
        if ends:
            ledger.leave()
        else:
            ledger.count("w", HERE, "m", Usage(1, 1, 1, 0.0))
        assert Ledger(path, clock).of_month() == before + 2.0


def test_what_another_process_spends_is_seen_a_while_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, clock = tmp_path / "l.sqlite", Clock()
    here, there = Ledger(path, clock), Ledger(path, clock)
    assert here.of_month() == 0.0
    there.count("w", HERE, "m", Usage(1, 1, 1, 2.0))
    there.flush()
    monkeypatch.setattr(module, "_FLUSH_EVERY", NEVER)
    assert here.of_month() == 0.0
    monkeypatch.setattr(module, "_FLUSH_EVERY", 0.0)
    assert here.of_month() == 2.0


USAGES = st.builds(
    Usage,
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(1, 3),
    st.one_of(st.none(), st.sampled_from([0.0, 0.25, 2.0])),
)


@given(
    st.lists(
        st.tuples(st.integers(0, 45), st.sampled_from(["a", "b"]), st.sampled_from(["m", "n"]), USAGES), max_size=30
    )
)
def test_sums_are_those_of_the_calls(counted: list[tuple[int, str, str, Usage]]) -> None:
    clock = Clock()
    month = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "l.sqlite"
        ledgers = [Ledger(path, clock), Ledger(path, clock)]
        now = ""
        for place, (days, workflow, model, usage) in enumerate(counted):
            before, clock.now = clock.now, clock.now + days * 86_400
            month = month if _month(before) == _month(clock.now) else 0.0
            month += usage.cost_usd or 0.0
            ledger = ledgers[place % 2]
            ledger.count(workflow, HERE, model, usage)
            now = _month(clock.now)
            ledger.flush()
        found = Ledger(path, clock).spent()
        assert sum(one.usd for one in found) == sum(usage.cost_usd or 0.0 for *_, usage in counted)
        assert sum(one.calls for one in found) == sum(usage.calls for *_, usage in counted)
        assert sum(one.unpriced for one in found) == sum(usage.calls for *_, usage in counted if usage.cost_usd is None)
        tokens = sum(usage.tokens for *_, usage in counted)
        assert sum(one.prompt_tokens + one.completion_tokens for one in found) == tokens
        keys = [(one.day, one.workflow, one.origin, one.model) for one in found]
        assert keys == sorted(set(keys))
        assert Ledger(path, clock).of_month() == month
        if now:
            assert sum(one.usd for one in Ledger(path, clock).spent(f"{now}-01", f"{now}-31")) == month


def _month(moment: float) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m}"


def _count(path: Path) -> None:
    ledger = Ledger(path)
    for _ in range(50):
        ledger.count("w", HERE, "m", Usage(1, 2, 1, 0.5))
        ledger.flush()


@pytest.mark.slow
def test_processes_count_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_count, args=(path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    (sums,) = Ledger(path).spent()
    assert (sums.calls, sums.prompt_tokens, sums.completion_tokens, sums.usd) == (150, 150, 300, 75.0)


def test_calls_without_a_price_add_up_from_one_write_to_the_next(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", Clock())
    for usage in (Usage(1, 1, 1, None), Usage(1, 1, 2, None), Usage(1, 1, 1, 0.0)):
        ledger.count("w", HERE, "m", usage)
        ledger.flush()
    (sums,) = ledger.spent()
    assert (sums.calls, sums.usd, sums.unpriced) == (4, 0.0, 3)


def test_names_that_are_no_utf_8_are_counted_with_escapes_that_can_be_read(tmp_path: Path) -> None:
    """Of files, which may have any bytes, and of models, as a setting has them."""
    ledger = Ledger(tmp_path / "l.sqlite", Clock())
    ledger.count("caf\udce9.mmd", HERE, "m\ud800", Usage(1, 1, 1, 2.0))
    (sums,) = ledger.spent()
    assert (sums.workflow, sums.model, sums.usd) == ("caf\\udce9.mmd", "m\\ud800", 2.0)


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "l.sqlite").write_bytes(b"x" * 5000)
    with pytest.raises(StoreFailure, match=r"What calls cost can't be kept in .*l\.sqlite"):
        Ledger(tmp_path / "l.sqlite")


@pytest.mark.parametrize("taken_back", ["ABORT", "ROLLBACK"], ids=["by the ledger", "by SQLite"])
def test_what_cannot_be_written_is_one_sentence_and_written_later(tmp_path: Path, taken_back: str) -> None:
    path, clock = tmp_path / "l.sqlite", Clock()
    ledger = Ledger(path, clock)
    permit, _ = admit(ledger, HERE, MinuteLimits(3), 1)
    assert permit is not None
    ledger.count("w", HERE, "m", Usage(1, 1, 1, 2.0))
    other = sqlite3.connect(path, isolation_level=None)
    changes = ("INSERT ON spent", "INSERT ON paced", "UPDATE ON paced")
    for place, change in enumerate(changes):
        # After the change, so that there is something to take back.
        other.execute(f"CREATE TRIGGER t{place} AFTER {change} BEGIN SELECT RAISE({taken_back}, 'no room'); END")
    for write in (
        ledger.flush,
        lambda: admit(ledger, HERE, MinuteLimits(3), 1),
        ledger.flush,
    ):
        with pytest.raises(StoreFailure, match=r"^What calls cost can't be kept in .*l\.sqlite: no room\.$"):
            write()
    for place in range(len(changes)):
        other.execute(f"DROP TRIGGER t{place}")
    other.close()
    ledger.settle(permit, 2)
    ledger.flush()
    assert Ledger(path, clock).of_month() == 2.0
    # Of three requests in a minute two are left: none was taken by the one that failed.
    assert [admit(ledger, HERE, MinuteLimits(3), 1)[0] is not None for _ in range(3)] == [True, True, False]
    assert admit(ledger, HERE, MinuteLimits(None, 6), 3)[0] is None  # 2 + 1 + 1 of them are used
    assert admit(ledger, HERE, MinuteLimits(None, 6), 2)[0]


def test_a_file_that_was_removed_is_begun_again_though_a_run_still_has_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path))
    old = module.ledger()
    assert module.ledger() is old
    for file in tmp_path.iterdir():
        file.unlink()
    for new in (module.ledger(), module.ledger(reading=True)):
        assert new is not old
        assert new.spent() == []
    new.count("w", "o", "m", Usage(calls=1))
    new.flush()
    assert [spent.calls for spent in module.ledger().spent()] == [1]


def got(ledger: Ledger, limits: MinuteLimits, tokens: int = 1) -> int:
    """How many calls more may leave."""
    count = 0
    while admit(ledger, HERE, limits, tokens)[0] is not None:
        count += 1
    return count


def test_what_is_taken_ahead_is_an_eighth_of_what_is_left(tmp_path: Path) -> None:
    clock = Clock()
    here, there = (Ledger(tmp_path / "l.sqlite", clock) for _ in range(2))
    limits = MinuteLimits(80)
    for _ in range(20):
        assert admit(here, HERE, limits, 1)[0]
    assert 50 <= got(there, limits) <= 60


def test_a_call_that_is_larger_than_a_minute_has_nothing_beside_it(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    limits = MinuteLimits(None, 10)
    assert ledger.refill(HERE, limits, 0, Demand(199, 0)) == 0
    assert all(ledger.take(HERE, limits, 0) for _ in range(200))
    clock.now += MINUTE + LIFE  # more are expected
    assert admit(ledger, HERE, limits, 50)[0]
    assert admit(ledger, HERE, limits, 0)[0] is None


def test_permits_that_were_used_late_count_from_then_on_though_their_process_was_killed(tmp_path: Path) -> None:
    clock = Clock()
    limits = MinuteLimits(10)
    killed = Ledger(tmp_path / "l.sqlite", clock)
    assert killed.refill(HERE, limits, 1, Demand(9, 9)) == 0
    clock.now += 0.9 * LIFE
    assert all(killed.take(HERE, limits, 1) for _ in range(10))
    clock.now += MINUTE - 0.5
    assert got(Ledger(tmp_path / "l.sqlite", clock), limits) == 0


def test_what_was_used_is_written_later_where_the_file_can_not_be_written(tmp_path: Path) -> None:
    path, clock = tmp_path / "l.sqlite", Clock()
    limits = MinuteLimits(20)
    here = Ledger(path, clock)
    assert here.refill(HERE, limits, 1, Demand(19, 19)) == 0
    assert all(here.take(HERE, limits, 1) for _ in range(5))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TRIGGER t AFTER UPDATE ON paced BEGIN SELECT RAISE(ABORT, 'no room'); END")
        here.enter()
        with pytest.raises(StoreFailure, match="no room"):
            here.leave()
        other.execute("DROP TRIGGER t")
    here.flush()
    assert got(Ledger(path, clock), limits) == 15
