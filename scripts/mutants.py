"""Mutation testing: break the program at random spots, one token at a time, and see which breaks no test notices.

    python scripts/mutants.py store budget --count 40 --seed 7
    python scripts/mutants.py runtime server --count 200 --portion 2/5
    python scripts/mutants.py runtime --except runtime/merrow_runtime/store

Each break is made in a copy of the repository, never in the checkout. The tests that ran the broken line run, those in files that
name the module first; which they are, ``ran_by.py`` finds out, once, by running all tests. A break that hangs the tests
counts as noticed. Breaks that change nothing a test could see are listed, each with its reason, in ``equivalent_mutants.toml``;
they are neither drawn nor scored.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue

import click
from mutant_spots import Spot, compiles, spots
from mutant_tests import Selection
from ran_by import ROOT, RanBy, find_out, is_known

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
_ANALYSIS, _RUNTIME, _OPTIMIZER, _SERVER = (
    "analysis/merrow_analysis",
    "runtime/merrow_runtime",
    "optimizer/merrow_optimizer",
    "server/merrow_server",
)
GROUPS: dict[str, tuple[str, ...]] = {
    "graph": (f"{_ANALYSIS}/graph", f"{_ANALYSIS}/check.py", f"{_ANALYSIS}/consequences.py"),
    "rules": (f"{_ANALYSIS}/rules", f"{_ANALYSIS}/suppressions.py"),
    "analysis": (_ANALYSIS,),
    "scheduler": (
        *(
            f"{_RUNTIME}/running/{name}.py"
            for name in ("scheduler", "run_failures", "engine", "forecast", "run", "node_recorder")
        ),
        f"{_RUNTIME}/program/decision.py",
        f"{_RUNTIME}/frontier",
    ),
    "store": (f"{_RUNTIME}/store",),
    "models": (f"{_RUNTIME}/models",),
    "budget": (f"{_RUNTIME}/models/budget.py", f"{_RUNTIME}/models/prices.py", f"{_RUNTIME}/usage.py"),
    "retry": (f"{_RUNTIME}/models/retry.py", f"{_RUNTIME}/models/failures.py", f"{_RUNTIME}/calls/calling.py"),
    "preconditions": (f"{_OPTIMIZER}/mutations/preconditions.py", f"{_OPTIMIZER}/mutations/moves.py"),
    "optimizer": (_OPTIMIZER,),
    "sandbox": (f"{_RUNTIME}/sandbox",),
    "runtime": (_RUNTIME,),
    "server": (_SERVER,),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one break: ``noticed`` by the tests or not; ``by`` is the first test that failed, ``tests`` how many, or
    files of them, were to run.
    """

    spot: Spot
    noticed: bool
    tests: int
    by: str
    seconds: float


@dataclass(slots=True)
class Worker:
    """A copy of the repository with a Python that imports Merrow from it, whatever the environment says."""

    folder: Path
    limit: float
    unreliable: set[str] = field(default_factory=set)
    _missing: set[str] = field(default_factory=set)
    _passing: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    def set_up(self) -> None:
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")  # noqa: S603
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (self.repository / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.repository / name)
        (self.repository / ".git").mkdir()  # As in the checkout, this says where the workspace begins.
        for modules in (*ROOT.glob("*/*/node_modules"), *ROOT.glob("*/*/*/node_modules"), *ROOT.glob("*/node_modules")):
            link = self.repository / modules.relative_to(ROOT)
            if link.parent.is_dir() and not link.exists():
                link.symlink_to(modules)
        shared = ROOT.parent / "shared"
        if shared.exists():
            (self.folder / "shared").symlink_to(shared.resolve())
        self._make_python()
        # Bytecode that is checked by content: a break and its repair may fall into the same second.
        compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *_SOURCES]
        subprocess.run([self.python, *compiling], cwd=self.repository, check=True)  # noqa: S603

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def _make_python(self) -> None:
        """An environment that has the copy's sources first and then the packages of the one this runs in."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder / "venv"], check=True)  # noqa: S603
        packages = next((self.folder / "venv").glob("lib/python*/site-packages"))
        own = next(Path(entry) for entry in sys.path if entry.endswith("site-packages"))
        paths = [*(str(self.repository / source) for source in _SOURCES), str(own)]
        (packages / "copy.pth").write_text("\n".join(paths) + "\n", "utf-8")
        script = "import sys\nfrom merrow_server.cli import main\n\nsys.exit(main())\n"
        command = self.python.with_name("merrow")
        command.write_text(f"#!{self.python}\n{script}", "utf-8")
        command.chmod(0o755)

    def attempt(self, spot: Spot, selection: Selection, seconds: float) -> Outcome:
        """Break the copy at one spot, run the tests, and undo the break."""
        file = self.repository / spot.path
        text = file.read_text("utf-8")
        begun = time.monotonic()
        broken = spot.apply(text)
        tests = selection.tests(spot, text, seconds)
        file.write_text(broken, "utf-8")
        try:
            by = self._first_failure(tests, file, text, broken)
        finally:
            file.write_text(text, "utf-8")
        return Outcome(spot, by is not None, len(tests), by or "", time.monotonic() - begun)

    def _first_failure(self, tests: list[str], file: Path, text: str, broken: str) -> str | None:
        """The first test that fails with the break and not without it."""
        while tests:
            by = self._run(tests)
            if by is None:
                return by
            # What happens in the unbroken copy too says nothing of the break: a test may fail on its own, and a
            # busy machine may be slow.
            again = (by,) if by.startswith("tests/") else tuple(tests)
            file.write_text(text, "utf-8")
            unbroken = None if again in self._passing else self._run(list(again))
            file.write_text(broken, "utf-8")
            if unbroken is None:
                self._passing.add(again)
                return by
            if unbroken == _TOO_SLOW:
                self.limit *= 2
            elif unbroken.startswith("tests/"):
                self.unreliable.add(unbroken)
            else:
                there = [test for test in tests if test.partition("[")[0] not in self._missing]
                if len(there) == len(tests):
                    raise click.ClickException(
                        f"The tests of {file.name} can't run without a break either: {unbroken}."
                    )
                tests = there  # the others have another name, or other cases, since
        return None

    def _run(self, tests: list[str]) -> str | None:
        """The first test that fails; what went wrong, where no test could run; None where all pass."""
        command = [str(self.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        # One test that hangs need not use up the time of all.
        command += ["-o", f"faulthandler_timeout={self.limit / 4:.0f}", "-o", "faulthandler_exit_on_timeout=true"]
        for name in self.unreliable:
            command += ["--deselect", name]
        environment = {**os.environ, "TMPDIR": str(self.folder), "NO_COLOR": "1"}
        environment.pop("PYTHONPATH", None)
        with subprocess.Popen(  # noqa: S603
            [*command, *tests],
            cwd=self.repository,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            if sys.platform == "linux":
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
            try:
                output, _ = process.communicate(timeout=self.limit)
            except subprocess.TimeoutExpired:
                return _TOO_SLOW
            finally:
                _end(process)
        if process.returncode in (0, 5):
            return None
        self._missing = {f"tests/{name}" for name in _NOT_FOUND.findall(output)}
        failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed[0].split(" ", 1)[1].split(" - ")[0] if failed else f"(ended with {process.returncode})"


def _end(process: subprocess.Popen[str]) -> None:
    """End a test run with all that it started and left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


_TOO_SLOW = "(too slow)"
_NOT_FOUND = re.compile(r"^ERROR: not found: .*?/tests/(.*)$", re.MULTILINE)
_MEMORY = 4 * 2**30
"""Bytes that a test run may take: a break may fill the memory before its time is up."""
_SOURCES = ("analysis", "runtime", "optimizer", "server")


def equivalents() -> dict[tuple[str, str, str, str], str]:
    """The breaks that no test can notice, by what identifies them, each with its reason."""
    entries = tomllib.loads(EQUIVALENT.read_text("utf-8"))["mutant"] if EQUIVALENT.is_file() else []
    return {(entry["path"], entry["scope"], entry["from"], entry["to"]): entry["reason"] for entry in entries}


def files_of(names: Iterable[str]) -> dict[Path, None]:
    """The source files of groups, folders or files, each once."""
    paths = [ROOT / path for name in names for path in GROUPS.get(name, (name,))]
    return dict.fromkeys(file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path]))


def draw(files: Iterable[Path], count: int, seed: int, wanted: Callable[[Spot], bool] = lambda _: True) -> list[Spot]:
    """``count`` ``wanted`` breaks of these files, drawn at random; the same for the same sources and seed."""
    texts = {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files}
    known = equivalents()
    found = [
        spot for path, text in texts.items() for spot in spots(path, text) if spot.key not in known and wanted(spot)
    ]
    random.Random(seed).shuffle(found)  # noqa: S311 - any spots will do
    drawn: list[Spot] = []
    for spot in found:
        if len(drawn) == count:
            break
        if compiles(spot.apply(texts[spot.path])):
            drawn.append(spot)
    return drawn


def try_all(drawn: list[Spot], jobs: int, limit: float, seconds: float, ran_by: RanBy) -> Iterator[Outcome]:
    """What becomes of each break, as soon as it is known."""
    selection = Selection(ran_by)
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        free: SimpleQueue[Worker] = SimpleQueue()
        workers = [Worker(Path(folder) / str(number), limit) for number in range(jobs)]
        for worker in workers:
            worker.set_up()
            free.put(worker)

        def attempt(spot: Spot) -> Outcome:
            worker = free.get()
            try:
                return worker.attempt(spot, selection, seconds)
            finally:
                free.put(worker)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(attempt, drawn)
        for name in sorted({name for worker in workers for name in worker.unreliable}):
            click.echo(f"not counted, for it fails without a break too: {name}")


@click.command()
@click.argument("modules", nargs=-1, required=True)
@click.option("--except", "left_out", multiple=True, help="A group, folder or file to leave out; may be repeated.")
@click.option("--count", default=40, show_default=True, help="How many breaks to draw.")
@click.option("--seed", default=0, show_default=True, help="Which breaks to draw.")
@click.option(
    "--portion", default="1/1", show_default=True, help="Try only this part of the breaks drawn, such as 2/5."
)
@click.option("--jobs", default=1, show_default=True, help="How many copies to work in at once.")
@click.option("--limit", default=600.0, show_default=True, help="Seconds that one run of the tests may take.")
@click.option("--seconds", default=100.0, show_default=True, help="Seconds of tests for each break.")
@click.option("--fresh", is_flag=True, help="Run all tests first, to find out again which of them run which line.")
@click.option("--least", default=0, show_default=True, help="Fail if fewer than this percentage are noticed.")
@click.option("--only", help="Try the breaks of one line, such as runtime/merrow_runtime/usage.py:36.")
@click.option(
    "--again", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Try the survivors in a file."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Append each outcome to a file, as JSON.")
@click.option("--list", "listing", is_flag=True, help="List the breaks drawn; try none.")
def main(
    modules: tuple[str, ...],
    left_out: tuple[str, ...],
    count: int,
    seed: int,
    portion: str,
    jobs: int,
    limit: float,
    seconds: float,
    fresh: bool,
    least: int,
    only: str | None,
    again: Path | None,
    out: Path | None,
    listing: bool,
) -> None:
    """Break MODULES (groups, folders or files) and print the score and the breaks that no test noticed.

    The groups are graph, rules, analysis, scheduler, store, models, budget, retry, preconditions, optimizer, sandbox,
    runtime and server.
    """
    skipped = files_of(left_out)
    files = [file for file in files_of(modules) if file not in skipped]
    part, parts = map(int, portion.split("/"))
    if only is not None:
        whole = draw(files, sys.maxsize, seed, lambda spot: f"{spot.path}:{spot.line}" == only)
    elif again is not None:
        kept = [json.loads(line) for line in again.read_text("utf-8").splitlines()]
        keys = {(one["path"], one["scope"], one["before"], one["after"]) for one in kept if not one["noticed"]}
        whole = draw(files, sys.maxsize, seed, lambda spot: spot.key in keys)
    else:
        whole = draw(files, count, seed)
    drawn = whole[len(whole) * (part - 1) // parts : len(whole) * part // parts]
    if listing:
        click.echo("\n".join(map(str, drawn)))
        return
    if fresh or not is_known():
        click.echo("First all tests run once, to find out which of them run which line.")
        find_out()
        if not is_known():
            raise click.ClickException("The tests did not run to their end.")
    survivors = []
    for number, outcome in enumerate(try_all(drawn, jobs, limit, seconds, RanBy()), 1):
        verdict = f"noticed by {outcome.by}" if outcome.noticed else "SURVIVED"
        click.echo(f"{number}/{len(drawn)} {outcome.seconds:4.0f} s {outcome.spot}: {verdict}")
        if not outcome.noticed:
            survivors.append(outcome.spot)
        if out is not None:
            row = {**asdict(outcome.spot), "noticed": outcome.noticed, "tests": outcome.tests, "by": outcome.by}
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    noticed = len(drawn) - len(survivors)
    share = 100 * noticed / len(drawn) if drawn else 100.0
    click.echo(f"\n{noticed} of {len(drawn)} breaks noticed ({share:.0f} %).")
    for spot in survivors:
        click.echo(f"survived: {spot}")
    if share < least:
        raise click.ClickException(f"Fewer than {least} % of the breaks were noticed.")


if __name__ == "__main__":
    main()
