"""``merrow doctor``: what is installed, which endpoint is reached, what holds generated code."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.errors import RunFailure
from merrow_server.rendering.terminal import echo, emit, style

_PACKAGES = ("openai", "aiohttp", "pygls", "lark")


@click.command(
    "doctor",
    cls=Command,
    epilog="""
    merrow doctor
    merrow doctor --base-url http://localhost:11434/v1
    merrow doctor --format json
    """,
)
@click.option("--base-url", metavar="URL", help="Look at this endpoint.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@click.pass_context
def command(ctx: click.Context, base_url: str | None, output: str) -> None:
    """Say what is installed, which model endpoint is used and whether it answers, where runs are kept, and what isolates
    generated code on this machine. No model is called.

    The exit code is 1 when something that a run needs is missing.
    """
    report = {
        "installed": _installed(),
        "journal": _journal(),
        "endpoint": _endpoint(base_url),
        "sandbox": _sandbox(),
    }
    if output == "json":
        emit(json.dumps(report, indent=2))
    else:
        for title, part in report.items():
            echo(style(title, bold=True))
            for line in part["lines"]:
                echo(f"  {_mark(line['ok'])} {line['text']}")
    if not all(part["ok"] for part in report.values()):
        ctx.exit(NOT_WELL)


def _mark(ok: bool | None) -> str:
    if ok is None:
        return "-"
    return style("ok", fg="green") if ok else style("no", fg="red")


def _part(lines: list[tuple[bool | None, str]], *, ok: bool | None = None, **further: Any) -> dict[str, Any]:
    good = all(line is not False for line, _ in lines) if ok is None else ok
    return {"ok": good, "lines": [{"ok": line, "text": text} for line, text in lines], **further}


def _installed() -> dict[str, Any]:
    lines: list[tuple[bool | None, str]] = [
        (True, f"merrow {version('merrow')}"),
        (True, f"Python {platform.python_version()} on {platform.system()} {platform.machine()} ({sys.executable})"),
    ]
    for package in _PACKAGES:
        try:
            lines.append((True, f"{package} {version(package)}"))
        except PackageNotFoundError:
            lines.append((False, f"{package} is missing; install it with: pip install {package}"))
    return _part(lines)


def _journal() -> dict[str, Any]:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.location import FILE, state_folder

    path = state_folder() / FILE
    try:
        with closing(Store.open()) as store:
            count = len(store.runs(limit=1_000_000))
            size = path.stat().st_size
    except RunFailure as problem:
        return _part([(False, str(problem)), (None, f"journal: {path}")], path=str(path))
    return _part([(True, f"{path}: {count} runs, {size / 1e6:.1f} MB")], path=str(path))


def _endpoint(base_url: str | None) -> dict[str, Any]:
    from merrow_runtime.models.selection import ModelOptions, decide
    from merrow_runtime.models.user_settings import read_user_settings, settings_path
    from merrow_runtime.provenance import OFFLINE_ORIGIN

    try:
        settings = read_user_settings()
        choice = decide(ModelOptions(base_url=base_url), os.environ, settings)
    except RunFailure as problem:
        return _part([(False, str(problem))])
    lines: list[tuple[bool | None, str]] = []
    if choice.connection is None:
        lines.append((True, f"the embedded offline model ({OFFLINE_ORIGIN}): free, and no real model"))
        lines.append((None, "set OPENAI_API_KEY, OPENAI_BASE_URL or --base-url to use a real one"))
    else:
        from merrow_runtime.models.reach import reach

        lines.append((True, f"{choice.origin}, named by the {choice.source}"))
        lines.append((None, f"key: {choice.key_source or 'none is sent'}"))
        reached = asyncio.run(reach(choice.connection))
        lines.append((reached.ok, reached.sentence))
    lines += [(None, notice) for notice in choice.notices]
    where = str(settings.path) if settings.path is not None else f"none ({settings_path()} isn't there)"
    lines.append((None, f"your own settings: {where}"))
    return _part(lines, origin=choice.origin)


def _sandbox() -> dict[str, Any]:
    from merrow_runtime.sandbox import SandboxRefusedError, available_means
    from merrow_runtime.sandbox.means import choose

    try:
        in_force: str | None = choose(None, False).name
        lines: list[tuple[bool | None, str]] = [(True, f"in force: {in_force}")]
    except SandboxRefusedError as problem:
        in_force = None
        lines = [(False, str(problem))]
    for means in available_means():
        holds = f"; it holds {', '.join(means.holds)}" if means.usable and means.holds else ""
        lines.append((None, f"{means.name}: {'usable' if means.usable else 'not usable'}, {means.why}{holds}"))
    return _part(lines, in_force=in_force)
