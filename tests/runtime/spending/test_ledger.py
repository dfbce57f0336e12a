"""The ledger: never more within a minute than allowed, whoever asks; and sums that are those of the calls."""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.errors import StoreFailure
from merrow_runtime.models.spending_limits import MinuteLimits
from merrow_runtime.spending import ledger as module
from merrow_runtime.spending.ledger import MINUTE, Ledger
from merrow_runtime.usage import Usage

HERE, THERE = "https://here.example", "https://there.example"
NEVER = 1e9
"""Seconds that no test takes."""


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


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
            number, wait = ledger.admit(origin, limits, asked)
            recent = [call for call in made[origin] if call[0] > clock.now - MINUTE]
            if not number:
                full = requests is not None and len(recent) >= requests
                assert full or (tokens is not None and recent and sum(call[1] for call in recent) + asked > tokens)
                assert 0 < wait <= MINUTE + 0.01
                clock.now += wait
                number, again = ledger.admit(origin, limits, asked)
                assert (number > 0, again) == (True, 0.0)
                recent = [call for call in made[origin] if call[0] > clock.now - MINUTE]
            made[origin].append([clock.now, asked])
            recent.append(made[origin][-1])
            assert requests is None or len(recent) <= requests
            assert tokens is None or len(recent) == 1 or sum(call[1] for call in recent) <= tokens
            if used is not None and used <= asked:
                ledgers[(place + 1) % 2].settle(number, used)
                made[origin][-1][1] = used


@pytest.mark.parametrize("seconds", [2, 30, 86_400])
def test_a_clock_that_was_set_back_holds_nobody_up(tmp_path: Path, seconds: int) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    assert ledger.admit(HERE, MinuteLimits(1), 1)[0]
    clock.now -= seconds
    assert ledger.admit(HERE, MinuteLimits(1), 1)[0]
    assert not ledger.admit(HERE, MinuteLimits(1), 1)[0]


def test_what_another_process_did_just_now_counts_though_its_clock_is_a_little_ahead(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    assert ledger.admit(HERE, MinuteLimits(1), 1)[0]
    clock.now -= 0.5
    assert not ledger.admit(HERE, MinuteLimits(1), 1)[0]


def test_a_minute_later_there_is_room_again(tmp_path: Path) -> None:
    clock = Clock()
    ledger = Ledger(tmp_path / "l.sqlite", clock)
    assert ledger.admit(HERE, MinuteLimits(1), 1)[0]
    clock.now += MINUTE
    assert ledger.admit(HERE, MinuteLimits(1), 1)[0]


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
    number, _ = ledger.admit(HERE, MinuteLimits(3), 1)
    ledger.count("w", HERE, "m", Usage(1, 1, 1, 2.0))
    other = sqlite3.connect(path, isolation_level=None)
    changes = ("INSERT ON spent", "INSERT ON paced", "UPDATE ON paced")
    for place, change in enumerate(changes):
        # After the change, so that there is something to take back.
        other.execute(f"CREATE TRIGGER t{place} AFTER {change} BEGIN SELECT RAISE({taken_back}, 'no room'); END")
    for write in (
        ledger.flush,
        lambda: ledger.admit(HERE, MinuteLimits(3), 1),
        lambda: ledger.settle(number, 2),
        ledger.flush,
    ):
        with pytest.raises(StoreFailure, match=r"^What calls cost can't be kept in .*l\.sqlite: no room\.$"):
            write()
    for place in range(len(changes)):
        other.execute(f"DROP TRIGGER t{place}")
    other.close()
    ledger.flush()
    ledger.settle(number, 2)
    assert Ledger(path, clock).of_month() == 2.0
    # Of three requests in a minute two are left: none was taken by the one that failed.
    assert [ledger.admit(HERE, MinuteLimits(3), 1)[0] > 0 for _ in range(3)] == [True, True, False]


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
