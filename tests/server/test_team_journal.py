"""A journal that a team shares: two people with homes of their own, roles, what goes wrong, and its commands."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.postgres import PostgresServer, crashes, freezes, server
from tests.runtime.openai_server import Hang, Received, Step, echo, serving
from tests.runtime.store.making import call, node, run
from tests.server.program import GOOD, merrow, write

from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.spending.ledger import ledger
from merrow_runtime.store import glance, journal, sql
from merrow_runtime.store.address import INSECURE_VARIABLE, read_address
from merrow_runtime.store.database import Store
from merrow_runtime.store.postgres import connection, opening
from merrow_runtime.store.postgres.shared_store import SharedStore
from merrow_runtime.store.schema import VERSION
from merrow_runtime.usage import Usage

ROOT = Path(__file__).parents[2]


def person(name: str, url: str, base_url: str = "offline") -> dict[str, str]:
    """The environment of somebody with a home of their own."""
    home = Path.cwd() / name
    home.mkdir(exist_ok=True)
    return {
        "USER": name, "LOGNAME": name, "HOME": str(home), "MERROW_STATE_DIR": str(home / "state"),
        "MERROW_CONFIG_DIR": str(home / "config"), "MERROW_JOURNAL": url, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "k",
    }  # fmt: skip


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    return postgres.url()


def hangs_once() -> Callable[[Received], Step]:
    """The second question stays without an answer the first time that it is asked."""
    asked: list[str] = []

    def answer(request: Received) -> Step:
        asked.append(request.prompt)
        return Hang() if len(asked) == 2 else echo(request)

    return answer


TWO = """\
flowchart TD
    PROBLEM --> A --> B --> RETURN
    A@{op: Custom, prompt: "one {input}"}
    B@{op: Custom, prompt: "two {input}"}
"""


def test_one_starts_and_another_watches_cancels_resumes_and_compares(url: str) -> None:
    write("flow.mmd", TWO)
    with serving(hangs_once()) as endpoint:
        ann, bob = (person(name, url, endpoint.base_url) for name in ("ann", "bob"))
        command = [
            sys.executable,
            "-m",
            "merrow_server",
            "run",
            "flow.mmd",
            "--input",
            "problem=x",
        ]
        started = subprocess.Popen(command, env={**os.environ, **ann}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(lambda: len(endpoint.requests) == 2)
        [seen] = merrow("runs", "--format", "json", env=bob).json
        assert (seen["status"], seen["author"]) == ("running", "ann")
        shared = seen["run"]
        assert merrow("show", shared, env=bob).code == 0
        assert merrow("runs", "--mine", "--format", "json", env=bob).out.strip() in ("", "[]")
        ended = merrow("cancel", shared, env=bob)
        assert (ended.code, "was asked to end" in ended.out) == (0, True)
        started.communicate(timeout=PATIENCE)
        assert [one["status"] for one in merrow("runs", "--format", "json", env=ann).json] == ["cancelled"]
        resumed = merrow("resume", shared, env=bob)
        assert resumed.code == 0, resumed.err
        prompts = [request.prompt for request in endpoint.requests]
        assert prompts[1] == prompts[2]
        assert len(prompts) == 3, "the first answer is not paid for again"
        assert merrow("run", "flow.mmd", "--input", "problem=x", env=bob).code == 0
        assert len(endpoint.requests) == 3, "what one has paid, another has from the cache"
    assert [one["author"] for one in merrow("runs", "--mine", "--format", "json", env=bob).json] == ["bob"]
    everything = merrow("runs", "--kind", "all", env=ann)
    assert all(name in everything.out for name in ("ann", "bob"))


def test_each_lists_their_own_evaluations_and_compares_them_with_those_of_others(url: str) -> None:
    write("flow.mmd", GOOD)
    write("better.mmd", TWO)
    write("own.jsonl", '{"id": "q1", "problem": "6?", "answer": "6"}\n{"id": "q2", "problem": "7?", "answer": "8"}\n')
    own = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")
    with serving() as endpoint:
        ann, bob = (person(name, url, endpoint.base_url) for name in ("ann", "bob"))
        for env, file in ((ann, "flow.mmd"), (bob, "better.mmd")):
            ran = merrow("evaluate", file, *own, env=env)
            assert ran.code == 0, ran.err
    ids = {}
    for name, env in (("ann", ann), ("bob", bob)):
        [ids[name]] = [one["evaluation"] for one in merrow("evaluations", "--mine", "--format", "json", env=env).json]
        of_kind = merrow("runs", "--kind", "evaluation", "--mine", "--format", "json", env=env).json
        assert [one["evaluation"] for one in of_kind] == [ids[name]]
        assert len(merrow("evaluations", "--format", "json", env=env).json) == 2
        for other in ("search", "extraction"):
            assert merrow("runs", "--kind", other, "--mine", "--format", "json", env=env).out.strip() in ("", "[]")
    compared = merrow("evaluate", "--compare", ids["ann"], ids["bob"], "--format", "json", env=bob)
    assert compared.code == 0, compared.err
    assert compared.json["items"] == 2


def test_a_shell_completes_the_ids_of_the_shared_journal(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_JOURNAL", url)
    with closing(Store.open()) as store:
        store.begin(run("shared-1"))
    assert [one.id for one in glance.newest("run", 5)] == ["shared-1"]
    assert not glance.has_evaluation("/w.mmd")
    monkeypatch.setenv("MERROW_JOURNAL", "postgresql://127.0.0.1:1/m")
    assert glance.newest("run", 5) == []


def test_what_everybody_spends_is_one_sum_with_one_limit(url: str) -> None:
    write("flow.mmd", TWO)
    write("ann/config/config.toml", '[prices."http://127.0.0.1:1"."m"]\ninput = 1\noutput = 1\n')
    with serving() as endpoint:
        settings = f'[prices."{endpoint.origin}"."m"]\ninput = 10000\noutput = 10000\n'
        write("ann/config/config.toml", settings)
        write("bob/config/config.toml", f"[limits]\nusd_per_month = 0.01\n{settings}")
        ann, bob = (person(name, url, endpoint.base_url) for name in ("ann", "bob"))
        assert merrow("run", "flow.mmd", "--input", "problem=x", "--model", "m", env=ann).code == 0
        refused = merrow("run", "flow.mmd", "--input", "problem=another", "--model", "m", env=bob)
    assert refused.code != 0
    assert "month" in refused.err


def test_a_fork_keeps_what_it_spends_on_a_connection_of_its_own(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERROW_JOURNAL", url)
    usage = Usage(1, 1, 1, 1.0)
    ledger().count("a.mmd", "https://a.test", "m", usage)
    ledger().flush()

    def spend() -> None:
        ledger().count("a.mmd", "https://a.test", "m", usage)
        ledger().flush()
        os._exit(0)  # as a process that is killed: nothing is cleaned up

    fork = multiprocessing.get_context("fork").Process(target=spend)
    fork.start()
    fork.join()
    assert fork.exitcode == 0
    ledger().count("a.mmd", "https://a.test", "m", usage)
    assert [one.usd for one in ledger().spent()] == [3.0]


def test_who_may_only_read_reads_and_is_told_why_nothing_is_written(
    url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_JOURNAL", url)
    with closing(Store.open()) as store:
        store.begin(run())
    schema = read_address(url).schema
    looks = f"looks_{schema}"  # the roles of a server are those of all tests that use it now
    postgres.sql(
        f"CREATE ROLE {looks} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {looks};"
        f" GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {looks}"
    )
    try:
        reader = person("eve", postgres.url(schema, looks))
        assert [one["run"] for one in merrow("runs", "--format", "json", env=reader).json] == ["run-1"]
        assert merrow("show", "run-1", env=reader).code == 0
        assert merrow("doctor", "--no-discovery", env=reader).code == 0
        write("flow.mmd", GOOD)
        for words in (("cancel", "run-1"), ("run", "flow.mmd", "--input", "problem=x"), ("runs", "--delete", "run-1")):
            refused = merrow(*words, env=reader)
            assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
            assert f"can only be read by {looks}" in refused.err
    finally:
        postgres.sql(f"DROP OWNED BY {looks}; DROP ROLE {looks}")


def test_the_roles_of_the_page_are_enough_for_writers(url: str, postgres: PostgresServer) -> None:
    assert merrow("journal", "check", env=person("ann", url)).code == 0
    schema = read_address(url).schema
    page = (ROOT / "docs" / "team-journal.md").read_text("utf-8")
    grants = page.split("```sql\n")[1].split("```")[0].replace("SCHEMA merrow", f"SCHEMA {schema}")
    for name in ("ann", "bob", "eve"):
        postgres.sql(f"CREATE ROLE {name} LOGIN")
    try:
        postgres.sql(grants)
        bob, eve = (person(name, postgres.url(schema, name)) for name in ("bob", "eve"))
        write("flow.mmd", GOOD)
        ran = merrow("run", "flow.mmd", "--input", "problem=x", env=bob)
        assert ran.code == 0, ran.err
        assert merrow("runs", "--format", "json", env=eve).json[0]["author"] == "bob"
        assert "can only be read by eve" in merrow("run", "flow.mmd", "--input", "problem=x", env=eve).err
    finally:
        for name in ("ann", "bob", "eve", "merrow_writer", "merrow_reader"):
            postgres.sql(f"DROP OWNED BY {name}; DROP ROLE {name}")


async def test_a_newer_merrow_changes_the_tables_while_others_work_and_they_may_use_what_is_new(
    url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = read_address(url)
    SharedStore.reached(address).close()
    schema = address.schema
    writes, looks = f"writes_{schema}", f"looks_{schema}"
    postgres.sql(
        f"CREATE ROLE {writes} LOGIN; CREATE ROLE {looks} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {writes}, {looks};"
        f" GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {writes};"
        f" GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {looks}"
    )
    try:
        theirs = read_address(postgres.url(schema, writes))
        with closing(SharedStore.reached(theirs)) as user, closing(user.of_job("ev1")) as store:
            journal = store.begin(run("ev1/q1"))
            await journal.record_call(call())
            with monkeypatch.context() as newer:
                newer.setattr(opening, "VERSION", opening.VERSION + 1)
                newer.setitem(
                    opening.STEPS,
                    opening.VERSION - 1,
                    ("ALTER TABLE every_run ADD COLUMN added TEXT", "CREATE TABLE added (number BIGINT)"),
                )
                with pytest.raises(
                    StoreFailure, match=f"let the owner of the schema {schema} run merrow journal check"
                ):
                    SharedStore.reached(theirs)
                SharedStore.reached(address).close()
                SharedStore.reached(theirs).close()
            await journal.record_call(call(number=1))
            await journal.finish("finished", {}, Usage(), None)
            await journal.close()
            assert [len(store.calls(one.id)) for one in store.runs()] == [2]
            with pytest.raises(StoreFailure, match="was written by a newer Merrow"):
                SharedStore.reached(theirs)
        may = "SELECT has_table_privilege('{0}', '{1}.added', 'SELECT'), has_table_privilege('{0}', '{1}.added', 'INSERT')"
        assert [postgres.sql(may.format(name, schema)) for name in (writes, looks)] == ["t|t", "t|f"]
    finally:
        for name in (writes, looks):
            postgres.sql(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_the_journal_is_named_checked_and_copied(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store.open()) as store:
        asyncio.run(_filled(store))
    copied = merrow("journal", "copy", "state/runs.sqlite", url, "--format", "json", env=person("ann", url))
    assert copied.code == 0, copied.err
    assert copied.json["copied"]["runs"] == 2
    again = merrow("journal", "copy", "state/runs.sqlite", url, env=person("ann", url))
    assert (again.code, "Already there: 3" in again.out) == (0, True)
    back = merrow("journal", "copy", url, "back.sqlite", env=person("ann", url))
    assert back.code == 0, back.err
    with closing(Store.open("state/runs.sqlite")) as before, closing(Store.open("back.sqlite")) as after:
        for store in (before, after):
            assert [one.id for one in store.runs()] == ["run-1"]
        assert after.run("run-1").snapshot == before.run("run-1").snapshot
        assert after.calls("run-1") == before.calls("run-1")
        assert after.nodes("run-1") == before.nodes("run-1")
        with after.looking_into("ev1") as own:
            assert own is not None
            assert [len(own.calls(one.id)) for one in own.runs()] == [1]
        assert asyncio.run(after.cache.get(b"k" * 16)) == {"text": "42"}
    env = person("ann", url)
    assert "1 runs, 1 evaluations" in merrow("journal", "info", env=env).out
    assert merrow("journal", "info", "--format", "json", env=env).json["author"] == "ann"
    assert merrow("journal", "check", env=env).out == "All of it can be read.\n"
    doctor = merrow("doctor", "--no-discovery", env=env)
    assert "you are ann there" in doctor.out
    with closing(SharedStore.reached(read_address(url))) as shared:
        shared._database.asked("UPDATE calls SET result = $1", ["\x1b[31m no JSON"])
        shared._database.asked("UPDATE nodes SET several = '[[1]]'")
    found = merrow("journal", "check", env=env)
    assert found.code == 1
    for damaged in ("run-1", "ev1/q1"):
        assert f"A call of node SOLVE in run {damaged} is damaged in the journal" in found.out
    assert "\x1b" not in merrow("show", "run-1", env=env).out


async def _filled(store: Store) -> None:
    from tests.runtime.store.test_both_stores import evaluation, score

    store.evaluations.begin(evaluation())
    for journal_of, name in ((store, "run-1"), (store.of_job("ev1"), "ev1/q1")):
        journal = journal_of.begin(run(name, snapshot={"workflow": {"a": 1}, "inputs": {}}))
        await journal.record_definitions('{"SOLVE": {}}')
        await journal.record_call(call(), b"k" * 16)
        await journal.record_told([node()])
        await journal.finish("finished", {"response": "42"}, Usage(1, 1, 1), None)
        await journal.close()
        if journal_of is not store:
            journal_of.close()
    await store.evaluations.keep("ev1", score("q1"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("postgresql://ann:hunter2@localhost/m", "has a password: keep it in a file that PGPASSFILE names"),
        ("postgresql://ann@localhost/m?password=hunter2", "has a password"),
        ("postgresql://ann@db.example.org/m", "add \\?sslmode=verify-full"),
        ("postgresql://ann@db.example.org/m?sslmode=require", "add \\?sslmode=verify-full"),
        ("postgresql://localhost/m?host=10.0.0.7", "is on another machine"),
        ("postgresql://localhost/m?hostaddr=10.0.0.7", "is on another machine"),
        ("mysql://hunter2@localhost/m", "begins with postgresql://"),
        ("postgresql://localhost:port/m", "can't be read"),
        ("postgresql://localhost/m?schema=a%3BDROP", "A schema can't be called"),
    ],
)
def test_an_address_that_is_refused_is_told_without_its_password(text: str, sentence: str) -> None:
    with pytest.raises(UsageFailure, match=sentence) as refused:
        read_address(text)
    assert "hunter2" not in str(refused.value)


def test_addresses_that_are_of_this_machine_or_checked_are_taken() -> None:
    for text in (
        "postgresql://ann@localhost:5433/m",
        "postgres://127.0.0.1/m",
        "postgresql://[::1]/m",
        "postgresql:///m?host=/run/postgresql",
        "postgresql://ann@db.example.org/m?sslmode=verify-full&schema=team",
    ):
        assert read_address(text).schema in ("merrow", "team")
    assert read_address("postgresql://ann@db.example.org/m", insecure=True).shown == "postgresql://ann@db.example.org/m"


def test_a_workspace_names_no_journal_and_the_users_settings_do(url: str) -> None:
    env = {**person("ann", ""), INSECURE_VARIABLE: ""}
    write("ann/config/config.toml", f'[journal]\nurl = "{url}"\n')
    write(".env", "MERROW_JOURNAL=postgresql://localhost:1/x\n")
    write("merrow.toml", '[journal]\nurl = "postgresql://localhost:1/x"\n')
    assert merrow("journal", "info", "--format", "json", env=env).json["place"].startswith("postgresql://merrow@")


def test_a_server_that_is_away_or_silent_is_told_in_a_sentence_within_seconds(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.PostgresConnection.__init__.__kwdefaults__, "seconds", 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for port, said in ((1, "can't be reached"), (silent.getsockname()[1], "can't be reached")):
            with pytest.raises(StoreFailure, match=said):
                SharedStore.reached(read_address(f"postgresql://ann@127.0.0.1:{port}/m"))


def test_tables_of_a_newer_merrow_and_of_nobody_are_left_alone(url: str, postgres: PostgresServer) -> None:
    address = read_address(url)
    SharedStore.reached(address).close()
    postgres.sql(f"UPDATE {address.schema}.merrow SET version = 999")  # noqa: S608
    with pytest.raises(StoreFailure, match="was written by a newer Merrow"):
        SharedStore.reached(address)
    postgres.sql(f"UPDATE {address.schema}.merrow SET version = {VERSION}; DROP TABLE {address.schema}.lost")  # noqa: S608
    with closing(SharedStore.reached(address)) as store, pytest.raises(StoreFailure, match="is damaged"):
        store.lost(store.begin(run()).run)


def test_those_who_come_first_at_the_same_moment_make_the_tables_once(url: str) -> None:
    failures: list[Exception] = []

    def open_it() -> None:
        try:
            SharedStore.reached(read_address(url)).close()
        except Exception as problem:  # noqa: BLE001
            failures.append(problem)

    threads = [threading.Thread(target=open_it) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server that tests stop and start again."""
    with server() as made:
        yield made


async def test_a_server_that_crashes_during_a_run_is_waited_for_and_nothing_is_lost(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_JOURNAL", own.url())
    with closing(Store.open()) as store:
        journal = store.begin(run())
        await journal.record_call(call())
        own.stop()
        waiting = asyncio.ensure_future(journal.record_call(call(number=1)))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        own.start()
        await waiting
        await journal.finish("finished", {}, Usage(), None)
        await journal.close()
        assert [one.key.step for one in store.calls("run-1")] == ["answer 0", "answer 1"]
        assert store.run("run-1").status == "finished"


def test_who_stopped_while_it_sent_statements_holds_nobody_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server waits for the rest of them, and has no limit for that."""
    address = read_address(url)
    SharedStore.reached(address).close()
    monkeypatch.setattr(connection, "_IDLE", 1)
    monkeypatch.setattr(connection, "_SILENCE", 0.2)
    with (
        closing(connection.PostgresConnection(address)) as stopped,
        closing(connection.PostgresConnection(address)) as waiting,
        closing(connection.PostgresConnection(address)) as another,
    ):
        held = stopped._connection
        several = held.pipeline()
        several.__enter__()
        held.execute("BEGIN")
        held.execute("UPDATE merrow SET journal = 'taken'")
        held.pgconn.send_flush_request()
        held.pgconn.flush()
        seen = "SELECT wait_event FROM pg_stat_activity WHERE pid = $1 AND query LIKE 'UPDATE%'"
        until(lambda: another.asked(seen, [held.info.backend_pid]).fetchone() == ("ClientRead",))
        waiting.transaction(lambda database: database.execute("UPDATE merrow SET journal = 'own'"))
        with pytest.raises(connection.psycopg.OperationalError):
            several.__exit__(None, None, None)
        assert another.asked("SELECT journal FROM merrow").fetchall() == [("own",)]


@pytest.mark.parametrize("goes_away", [crashes, freezes])
async def test_the_event_loop_goes_on_while_a_server_is_away(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch, goes_away: Callable[[PostgresServer], Callable[[], None]]
) -> None:
    """Whatever the runs of an evaluation ask of the journal. What waited in the event loop would fail at once."""
    monkeypatch.setenv("MERROW_JOURNAL", own.url())
    monkeypatch.setattr(connection, "_SILENCE", 0.2)
    monkeypatch.setattr(connection, "_PROBE", 1)
    with closing(Store.open()) as user, closing(user.of_job("e", alone=True)) as runs:
        begun = runs.begin(run("e/0"))
        known = await begun.record_call(call())
        await begun.close()
        _, resumed = runs.take("e/0")
        person = user.begin(run("run-1"))
        monkeypatch.setattr(journal, "STALE", 0.0)  # each looks whether it still has the run
        work = [
            user.until_there(),
            user.cache.get(b"key"),
            user.evaluations.off_loop(lambda kept: kept.known(b"work")),
            runs.off_loop(lambda runs: runs.status("e/0")),
            runs.beat(),
            runs._writer.beating._beat(),
            resumed.recall(known.key, known.request_hash),
            resumed.record_call(call(number=1)),
            person.until_there(),
            person.record_unusable(call(), None),
            runs.begin_off_loop(run("e/1")),
        ]
        for store in (user, runs):
            monkeypatch.setattr(store._database, "waits", 0.0)
        comes_back = goes_away(own)
        waiting = [asyncio.ensure_future(each) for each in work]
        async with asyncio.timeout(PATIENCE):
            while (sql.Absence.seconds() or 0.0) < 0.5:
                await asyncio.sleep(0.01)
        assert [each for each in waiting if each.done()] == []
        comes_back()
        *_, recalled, kept, _, _, another = await asyncio.gather(*waiting)
        assert (recalled.result_text, kept.key.step) == (known.result_text, "answer 1")
        for one in (resumed, person, another):
            await one.close()
        assert [each.key.step for each in runs.calls("e/0")] == ["answer 0", "answer 1"]
        assert runs.statuses(["e/1"]) == {"e/1": "running"}


async def test_who_is_stopped_before_a_run_has_begun_leaves_it_to_others(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread puts it in all the same."""
    monkeypatch.setenv("MERROW_JOURNAL", url)
    with closing(Store.open()) as user, closing(user.of_job("e", alone=True)) as runs:
        beginning = asyncio.ensure_future(runs.begin_off_loop(run("e/0")))
        await asyncio.sleep(0)
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        await runs.until_there()
        _, taken = await runs.off_loop(lambda runs: runs.take("e/0"))
        await taken.close()


async def test_a_server_that_stays_away_is_told_and_what_waited_is_kept_when_it_is_back(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "AWAY", 0.5)
    monkeypatch.setenv("MERROW_JOURNAL", own.url())
    with closing(Store.open()) as store:
        journal = store.begin(run())
        own.stop()
        with pytest.raises(StoreFailure, match="can't be reached"):
            await journal.record_call(call())
        own.start()
        await journal.record_call(call(number=1))
        assert [one.key.step for one in store.calls("run-1")] == ["answer 0", "answer 1"]
        await journal.close()


async def test_what_comes_while_a_commit_fails_is_told_and_kept_when_the_server_is_back(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "AWAY", 0.5)
    monkeypatch.setenv("MERROW_JOURNAL", own.url())
    with closing(Store.open()) as store:
        journal = store.begin(run())
        own.stop()
        calls = [asyncio.ensure_future(journal.record_call(call()))]
        while store._writer._flight is None and not calls[0].done():
            await asyncio.sleep(0)
        calls += [asyncio.ensure_future(journal.record_call(call(number=number))) for number in (1, 2)]
        failures = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), PATIENCE)
        assert [type(failure).__name__ for failure in failures] == ["DatabaseFailure"] * 3
        own.start()
        await asyncio.wait_for(journal.record_call(call(number=3)), PATIENCE)
        assert [one.key.step for one in store.calls("run-1")] == [f"answer {number}" for number in range(4)]
        await journal.close()


async def test_what_comes_while_the_commit_of_something_else_is_refused_is_written(
    url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERROW_JOURNAL", url)
    schema = read_address(url).schema
    with closing(Store.open()) as store:
        journal = store.begin(run())
        postgres.sql(
            f"CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1);"
            " RAISE EXCEPTION 'no'; END $$;"
            f" CREATE TRIGGER refuses BEFORE INSERT ON {schema}.calls FOR EACH ROW WHEN (NEW.step = 'answer 0')"
            f" EXECUTE FUNCTION {schema}.refuse()"
        )
        refused = asyncio.ensure_future(journal.record_call(call()))
        while store._writer._flight is None and not refused.done():
            await asyncio.sleep(0)
        written = asyncio.ensure_future(journal.record_call(call(number=1)))
        with pytest.raises(StoreFailure, match="failed: no"):
            await refused
        await asyncio.wait_for(written, PATIENCE)
        assert [one.key.step for one in store.calls("run-1")] == ["answer 1"]
        await journal.close()


def test_a_process_that_is_to_end_tries_a_server_that_is_away_once(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    reached = connection.PostgresConnection._reached

    def counted(self: connection.PostgresConnection, seconds: int) -> connection._Connection:
        tries.append(seconds)
        return reached(self, seconds)

    with closing(SharedStore.reached(read_address(own.url()))) as store:
        store._work()
        monkeypatch.setattr(sql.Interruption, "is_wanted", True)
        monkeypatch.setattr(sql.Interruption, "away", None)
        monkeypatch.setattr(connection.PostgresConnection, "_reached", counted)
        own.stop()
        try:
            for _ in range(3):
                with pytest.raises(StoreFailure, match="can't be reached"):
                    store.runs()
            assert len(tries) == 1
            sql.Interruption.forget()
        finally:
            own.start()
        assert store.runs() == []


def test_a_process_that_is_to_end_gives_up_a_connection_that_is_being_made(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.PostgresConnection.__init__.__kwdefaults__, "seconds", int(PATIENCE))
    monkeypatch.setattr(sql.Interruption, "is_wanted", False)
    monkeypatch.setattr(sql.Interruption, "away", None)
    monkeypatch.setattr(connection, "_HURRIED", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        threading.Timer(0.2, lambda: setattr(sql.Interruption, "is_wanted", True)).start()
        with pytest.raises(StoreFailure, match="it gives no answer"):
            SharedStore.reached(read_address(f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/m"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("leave", "come_back"), [(PostgresServer.freeze, PostgresServer.thaw), (PostgresServer.stop, PostgresServer.start)]
)
def test_the_first_ctrl_c_ends_an_evaluation_whose_server_is_away_and_it_is_resumed(
    own: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    leave: Callable[[PostgresServer], None],
    come_back: Callable[[PostgresServer], None],
) -> None:
    monkeypatch.chdir(tmp_path)
    write("flow.mmd", TWO)
    write("data.jsonl", "".join(f'{{"problem": "p{number}", "gold": "x"}}\n' for number in range(30)))
    asked: list[str] = []
    is_away = threading.Event()

    def answer(request: Received) -> Step:
        asked.append(request.prompt)
        if len(asked) == 20:
            leave(own)
            is_away.set()
        return echo(request)

    with serving(answer) as endpoint:
        env = {**os.environ, **person("ann", own.url(), endpoint.base_url)}
        command = [sys.executable, "-m", "merrow_server"]
        evaluate = [*command, "evaluate", "flow.mmd", "--dataset", "data.jsonl", "--gold", "gold"]
        with subprocess.Popen(evaluate, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
            try:
                until(is_away.is_set)
                started.send_signal(signal.SIGINT)
                _, said = started.communicate(timeout=PATIENCE)
            finally:
                started.kill()
                if is_away.is_set():
                    come_back(own)
        *_, sentence = said.splitlines()
        assert "can't be reached: " in sentence
        assert started.returncode == 130
        resume = sentence.partition("What it has is kept; continue with: merrow ")[2].split()
        assert resume[:1] == ["resume"], said
        resumed = subprocess.run([*command, *resume], env=env, check=False, capture_output=True, text=True)
        assert resumed.returncode == 0, resumed.stderr
        assert "on 30 items" in resumed.stdout


@pytest.mark.slow
def test_the_first_ctrl_c_ends_a_run_whose_server_is_frozen(
    own: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("flow.mmd", TWO)
    is_away = threading.Event()

    def answer(request: Received) -> Step:
        if is_away.is_set():
            return echo(request)
        own.freeze()
        is_away.set()
        return Hang()

    with serving(answer) as endpoint:
        env = {**os.environ, **person("ann", own.url(), endpoint.base_url)}
        command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--input", "problem=x"]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
            try:
                until(is_away.is_set)
                time.sleep(1.0)  # it looks for requests meanwhile, and waits for the answer
                started.send_signal(signal.SIGINT)
                _, said = started.communicate(timeout=PATIENCE)
            finally:
                started.kill()
                own.thaw()
    assert "continue it with: merrow resume " in said
    assert "Traceback" not in said


async def test_what_a_server_forgets_of_an_evaluation_when_it_crashes_is_put_in_again(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It doesn't wait for the disk there: a run that has just begun is gone, and its number might be another's."""
    own.stop()
    own.start("-c wal_writer_delay=10s")  # the last moments are long
    monkeypatch.setenv("MERROW_JOURNAL", own.url())
    with closing(Store.open()) as user, closing(user.of_job("ev1")) as store:
        journal = store.begin(run("ev1/q1", snapshot={"workflow": {"a": 1}, "inputs": {}}))
        await journal.record_call(call())
        own.stop()
        own.start()
        another = store.begin(run("ev1/q2", snapshot={"workflow": {"a": 1}, "inputs": {}}))
        await another.record_call(call(number=1))
        await journal.record_call(call(number=2))
        assert [one.key.step for one in store.calls("ev1/q1")][-1] == "answer 2"
        assert [one.key.step for one in store.calls("ev1/q2")] == ["answer 1"]
        for each in (journal, another):
            await each.finish("finished", {}, Usage(), None)
            await each.close()
        assert {one.status for one in store.runs()} == {"finished"}
        assert all(one.snapshot["workflow"] == {"a": 1} for one in store.runs())


def test_a_commit_that_a_server_forgot_is_not_taken_for_that_of_another_with_its_number(own: PostgresServer) -> None:
    own.stop()
    own.start("-c wal_writer_delay=10s")
    address = read_address(own.url())
    SharedStore.reached(address).close()
    with closing(connection.PostgresConnection(address, lasts=False)) as lost:
        for name in ("kept", "forgotten"):
            if name == "forgotten":
                own.sql("CHECKPOINT")
            lost.transaction(lambda database, name=name: database.execute("INSERT INTO merrow VALUES (1, ?)", (name,)))
        numbers = {
            name: int(lost.asked("SELECT xmin::text FROM merrow WHERE journal = $1", [name]).fetchone()[0])
            for name in ("kept", "forgotten")
        }
        since = lost._server
        own.stop()
        own.start()
        with closing(connection.PostgresConnection(address)) as another:
            for name in ("other", "others"):
                another.transaction(
                    lambda database, name=name: database.execute("INSERT INTO merrow VALUES (1, ?)", (name,))
                )
            rows = {name for (name,) in another.asked("SELECT journal FROM merrow")}
            assert {name: another.was_committed(number, since) for name, number in numbers.items()} == {
                name: name in rows for name in numbers
            }


async def test_a_server_that_freezes_is_noticed_and_waited_for(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its sockets and answers nothing. One that is busy with a statement isn't taken for that."""
    monkeypatch.setattr(connection, "_SILENCE", 0.5)
    monkeypatch.setattr(connection, "_PROBE", 2)
    address = read_address(own.url())
    with closing(SharedStore.reached(address)) as store, closing(SharedStore.reached(address)) as looking:
        database = looking._database
        pid = database.asked("SELECT pg_backend_pid()").fetchone()
        assert database.asked("SELECT pg_sleep(1.5), pg_backend_pid()").fetchone()[1:] == pid, "the same connection"
        database.waits = 0.0
        journal = store.begin(run())
        await journal.record_call(call())
        own.freeze()
        try:
            with pytest.raises(StoreFailure, match=r"can't be reached: .*\. Try again when it is there"):
                looking.runs()
            waiting = asyncio.ensure_future(journal.record_call(call(number=1)))
            threading.Timer(1.0, own.thaw).start()
            store._database.waits = sql.AWAY
            assert [one.id for one in store.runs()] == ["run-1"]
            await waiting
        finally:
            own.thaw()
        assert [one.key.step for one in store.calls("run-1")] == ["answer 0", "answer 1"]
        await journal.finish("finished", {}, Usage(), None)
        await journal.close()
        assert [one.status for one in looking.runs()] == ["finished"]


async def test_a_full_disk_is_told_and_what_came_meanwhile_is_kept_when_there_is_room(
    url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MERROW_JOURNAL", url)
    schema = read_address(url).schema
    with closing(Store.open()) as store:
        journal = store.begin(run())
        closed = Store.open()
        other = closed.begin(run("run-2"))
        postgres.sql(
            f"CREATE FUNCTION {schema}.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1);"
            " RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;"
            f" CREATE TRIGGER no_room BEFORE INSERT ON {schema}.calls EXECUTE FUNCTION {schema}.full()"
        )
        journal.record_told([node()])  # nobody waits for that
        with pytest.raises(StoreFailure, match=r"The disk of the journal at postgresql://.* is full; make room there"):
            await journal.record_call(call())
        gc.collect()
        assert store.calls("run-1") == []
        waiting = asyncio.ensure_future(other.record_call(call()))
        await asyncio.sleep(0)
        closed.close()
        with pytest.raises(StoreFailure, match="is full"):
            await waiting
        await asyncio.sleep(0)
        assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
        # What comes while the last one fails that finds no room is not told that there is none.
        last = asyncio.ensure_future(journal.record_call(call(number=1)))
        while not postgres.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
            await asyncio.sleep(0.01)
        postgres.sql(f"DROP TRIGGER no_room ON {schema}.calls")
        await journal.record_call(call(number=2))
        with pytest.raises(StoreFailure, match="is full"):
            await last
        assert [one.key.step for one in store.calls("run-1")] == ["answer 0", "answer 1", "answer 2"]
        await journal.close()


def test_a_server_that_takes_no_writes_is_read_and_says_so(url: str) -> None:
    SharedStore.reached(read_address(url)).close()
    only_reads = read_address(f"{url}&options=-c%20default_transaction_read_only%3Don")
    with pytest.raises(StoreFailure, match="can only be read now: its server takes no writes"):
        SharedStore.reached(only_reads)
    with closing(SharedStore.reached(only_reads, reading=True)) as store:
        assert store.runs() == []


async def test_a_process_that_stops_within_a_transaction_holds_nobody_up_for_long(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it was about to write is written when it goes on."""
    monkeypatch.setattr(connection, "_IDLE", 1)
    address = read_address(url)
    SharedStore.reached(address).close()
    with (
        closing(connection.PostgresConnection(address)) as one,
        closing(connection.PostgresConnection(address)) as other,
    ):
        tries = 0

        def work(database: connection.PostgresConnection) -> None:
            nonlocal tries
            tries += 1
            database.execute("UPDATE merrow SET journal = 'one'")
            if tries == 1:
                # It stands still here, until another one has waited for it.
                other.transaction(lambda own: own.execute("UPDATE merrow SET journal = 'other'"), is_alone=False)

        one.transaction(work, is_alone=False)
        assert tries == 2
        assert other.asked("SELECT journal FROM merrow").fetchone() == ("one",)
