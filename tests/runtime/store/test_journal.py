"""The journal: what is recorded is there again, once, for one process at a time, and readable by its owner alone."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.runtime.store.making import PAID, call, node, run

from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.requests import CallKey
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore
from merrow_runtime.store.rows import text_of
from merrow_runtime.usage import NOTHING, Usage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "runs.sqlite"


async def test_a_call_that_was_recorded_is_recalled_by_the_next_process(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    made = call()
    assert await journal.recall(made.key, made.request_hash) is None
    await journal.record_call(made)
    await journal.close()
    store.close()

    again = Store.open(path)
    record, journal = again.take("run-1")
    assert record.snapshot == {"text": "x"}
    assert await journal.recall(made.key, made.request_hash) == made
    assert await journal.recall(made.key, "another request") is None
    assert await journal.recall(CallKey("SOLVE", 1, "answer 0"), made.request_hash) is None
    assert journal.spent() == PAID
    await journal.close()
    again.close()


async def test_what_is_about_to_be_written_is_read_and_deleted_as_if_it_were(path: Path) -> None:
    """Also while commits are gathered."""
    store = Store.open(path)
    journal = store.begin(run())
    writing = [asyncio.ensure_future(journal.record_call(call(number=number))) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    assert [one.key.step for one in store.calls("run-1")] == ["answer 1", "answer 2", "answer 3"]
    await asyncio.gather(*writing)
    writing = [asyncio.ensure_future(journal.record_call(call(number=4), b"4"))]
    await asyncio.sleep(0)
    assert store.prune(-60.0, None).answers == 1
    await asyncio.gather(*writing)
    await journal.close()
    store.close()


async def test_what_others_paid_is_not_spent_and_what_was_lost_is(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    await journal.record_call(call(number=1))
    await journal.record_call(call(number=2, origin="cache"))
    lost = Usage(100, 0, 1, None, estimated=True)
    await journal.record_lost(CallKey("SOLVE", 0, "answer 3"), "hash", lost, "cancelled")
    await journal.close()
    _, journal = store.take("run-1")
    assert journal.spent() == PAID + lost
    assert store.lost("run-1") == [("SOLVE", "answer 3", "cancelled")]
    await journal.close()
    store.close()


async def test_a_call_that_left_is_spent_until_its_end_is_kept(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    for number in (1, 2, 3, 4):
        one = call(number=number)
        await journal.record_sent(one.key, one.request_hash, PAID)
    assert len(store.lost("run-1")) == 4
    await journal.record_call(call(number=1))
    await journal.record_lost(call(number=2).key, call(number=2).request_hash, PAID, "timeout")
    journal.drop_sent(call(number=3).key, call(number=3).request_hash)
    writing = asyncio.ensure_future(journal.record_sent(call(number=5).key, "h", PAID))
    await asyncio.sleep(0)
    writing.cancel()
    journal.drop_sent(call(number=5).key, "h")
    await asyncio.gather(writing, return_exceptions=True)
    await journal.close()
    assert [(step, why) for _, step, why in store.lost("run-1")] == [("answer 4", "sent"), ("answer 2", "timeout")]
    _, journal = store.take("run-1")
    assert (journal.interrupted, journal.spent()) == (1, PAID + PAID + PAID)
    await journal.close()
    store.close()


async def test_runs_nodes_and_calls_can_be_looked_at(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run("aaa", started=1.0))
    (await store.begin(run("abb", started=2.0, workflow="b.mmd")).close())
    await journal.record_call(call())
    await journal.record_call(call("VOTE", 1, "B"))
    await journal.record_definitions('{"SOLVE": {"operator": "Custom"}}')
    await journal.record_told([node(error="for now"), node("VOTE", status="failed", outputs=None, error="no letter")])
    await journal.record_told([node(case=None)])
    await journal.finish("failed", None, PAID, "VOTE: no letter")
    await journal.close()
    assert [shown.id for shown in store.runs()] == ["abb", "aaa"]
    assert [shown.id for shown in store.runs(workflow="a.mmd")] == ["aaa"]
    ended = store.run("aa")
    assert (ended.status, ended.usage, ended.error) == ("failed", PAID, "VOTE: no letter")
    assert ended.ended is not None
    assert {shown.node: shown.status for shown in store.nodes("aaa")} == {"SOLVE": "finished", "VOTE": "failed"}
    assert next(shown for shown in store.nodes("aaa") if shown.node == "SOLVE") == node(
        definition={"operator": "Custom"}
    )
    assert [shown.key.node for shown in store.calls("aaa")] == ["SOLVE", "VOTE"]
    assert store.calls("aaa", "VOTE") == [call("VOTE", 1, "B")]
    with pytest.raises(UsageFailure, match="Several runs begin with 'a'"):
        store.run("a")
    with pytest.raises(UsageFailure, match="no run 'zzz'"):
        store.run("zzz")
    store.delete("aaa")
    assert store.calls("aaa") == []
    assert store.nodes("aaa") == []
    store.close()


async def test_a_run_whose_process_died_is_not_shown_as_running(path: Path) -> None:
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from merrow_runtime.store.database import Store\n"
        "from tests.runtime.store.making import call, run\n"
        "async def main():\n"
        "    journal = Store.open(Path(sys.argv[1])).begin(run())\n"
        "    await journal.record_call(call())\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -9
    store = Store.open(path)
    shown = store.run("run-1")
    assert shown.status == "failed"
    assert "resume" in (shown.error or "")
    _, journal = store.take("run-1")  # At once: nobody waits for a heartbeat of a process that is gone.
    assert await journal.recall(call().key, call().request_hash) == call()
    await journal.close()
    store.close()


async def test_two_processes_cannot_work_on_one_run(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    script = (
        "import sys\nfrom pathlib import Path\nfrom merrow_runtime.store.database import Store\n"
        "from merrow_runtime.errors import StoreFailure\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "print(store.run('run-1').status)\n"
        "try:\n    store.take('run-1')\nexcept StoreFailure as failure:\n    print(failure)\n"
        "try:\n    store.delete('run-1')\nexcept StoreFailure as failure:\n    print(failure)\n"
        "print(store.request_cancel('run-1'))\n"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(path), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await other.communicate()
    status, taken, deleted, asked = out.decode().splitlines()
    assert status == "running"
    assert f"process {os.getpid()}" in taken
    assert "still going on" in deleted
    assert asked == "True"
    async with asyncio.timeout(PATIENCE):
        await journal.recall(call().key, "x")  # A run that works beats; with a beat it hears.
        while not journal.cancel_requested():
            await asyncio.sleep(0.05)
    await journal.close()
    store.take("run-1")
    store.close()


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
async def test_the_journal_is_for_its_owner_alone(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    await journal.record_call(call())
    files = [path.parent, *(file for file in path.parent.iterdir() if "ballast" not in file.name)]
    assert {file.name for file in files} >= {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"}
    assert [stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files] == [0] * len(files)
    await journal.close()
    store.close()


def test_a_file_that_is_no_journal_is_refused_in_a_sentence(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("This is no database, however long it may become. " * 100)
    with pytest.raises(StoreFailure, match="damaged, or the file"):
        Store.open(path)
    path.unlink()
    Store.open(path).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreFailure, match="newer Merrow"):
        Store.open(path)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreFailure, match="first release"):
        Store.open(path)


async def test_old_runs_and_answers_are_pruned_and_living_ones_stay(path: Path) -> None:
    store = Store.open(path)
    for number in range(20):
        journal = store.begin(run(f"old-{number:02}", started=float(number)))
        await journal.record_call(call(text="x" * 20_000))
        await journal.finish("finished", {}, NOTHING, None)
        await journal.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE runs SET ended = started")
    living = store.begin(run("living", started=5.0))
    await living.record_call(call(), b"key")
    pruned = store.prune(None, 240_000)
    assert pruned.runs > 0
    assert pruned.bytes <= 240_000
    assert store.run("living").status == "running"
    pruned = store.prune(60.0, None)
    assert [shown.id for shown in store.runs()] == ["living"]
    await living.close()
    store.close()


async def test_of_answers_those_go_first_that_were_not_used_for_the_longest_time(path: Path) -> None:
    store = Store.open(path)
    journal = store.begin(run())
    for number in range(3):
        await journal.record_call(call(number=number, text=str(number)), b"%d" % number)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE answers SET used = used - 10000")
    assert await store.cache.get(b"0") == {"text": "0"}
    await journal.close()
    assert store.prune(5000.0, None).answers == 2
    assert [await store.cache.get(key) for key in (b"0", b"1", b"2")] == [{"text": "0"}, None, None]
    store.close()


@pytest.mark.parametrize(("seconds", "moves"), [(60.0, False), (3500.0, False), (3700.0, True), (-60.0, True)])
async def test_an_answer_used_again_within_the_hour_costs_no_write(path: Path, seconds: float, moves: bool) -> None:
    """``seconds`` is when it was used before; a time in the future, of a clock that was wrong, does not last."""
    store = Store.open(path)
    journal = store.begin(run())
    await journal.record_call(call(text="kept"), b"key")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE answers SET used = used - ?", (seconds,))
        [(before,)] = database.execute("SELECT used FROM answers")
    assert await store.cache.get(b"key") == {"text": "kept"}
    await journal.close()
    store.close()
    with sqlite3.connect(path) as database:
        [(after,)] = database.execute("SELECT used FROM answers")
    assert (after != before) is moves


async def test_of_great_runs_only_as_many_oldest_go_as_must(path: Path) -> None:
    store = Store.open(path)
    for number in range(5):
        journal = store.begin(run(f"great-{number}", started=float(number)))
        await journal.record_call(call(text="x" * 200_000))
        if number:
            await journal.close()  # the oldest goes on
    store.prune(None, 640_000)
    assert [shown.id for shown in store.runs()] == ["great-4", "great-0"]
    store.close()


async def test_a_journal_comes_down_to_its_limits_a_little_at_a_time(path: Path) -> None:
    store = Store.open(path)
    for number in range(120):
        await store.begin(run(f"old-{number:03}", started=float(number), ended=float(number))).close()
    await store.begin(run("resumed", started=1.0, ended=time.time())).close()
    await store.begin(run("new")).close()
    counts = []
    for _ in range(4):
        store.tidy(86_400, None)
        counts.append(len(store.runs(limit=1000)))
    assert counts == [72, 22, 2, 2]
    store.tidy(None, 1)
    assert [shown.id for shown in store.runs()] == ["new"]
    store.close()


async def test_answers_and_dialects_are_kept(path: Path) -> None:
    store = Store.open(path)
    assert await store.cache.get(b"key") is None
    journal = store.begin(run())
    await journal.record_call(call(text="kept"), b"key")
    await journal.close()
    store.dialects.put("https://api.example.org", "m", {"max_tokens": "max_completion_tokens"})
    store.close()
    store = Store.open(path)
    assert await store.cache.get(b"key") == {"text": "kept"}
    assert store.dialects.get("https://api.example.org", "m") == {"max_tokens": "max_completion_tokens"}
    assert store.dialects.get("https://api.example.org", "other") is None
    store.close()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    result=st.dictionaries(st.text(max_size=5), json_values, max_size=4),
    name=st.text(st.characters(codec="utf-8"), min_size=1),
    step=st.text(st.characters(codec="utf-8")),
)
def test_any_result_comes_back_as_it_was(result: dict[str, object], name: str, step: str) -> None:
    async def main() -> None:
        store = MemoryStore()
        journal = store.begin(run())
        made, text = call(name), text_of(result)
        made = type(made)(CallKey(name, 3, step, 2), "sandbox", "h", text, text, PAID, False, "replay", 1.5, 2.5)
        await journal.record_call(made)
        assert store.calls("run-1") == [made]
        assert made.result == result
        await journal.close()
        store.close()

    asyncio.run(main())
