"""``merrow parse``: what Mermaid makes of flowchart texts."""

from __future__ import annotations

import json
import sys
from typing import Any, BinaryIO

import click

from merrow_analysis.syntax.structure import parse_record
from merrow_server.cli import MISUSED, Command


@click.command(
    "parse",
    cls=Command,
    epilog="""
    echo '{"id": 1, "text": "flowchart TD; A-->B"}' | merrow parse --jsonl
    """,
)
@click.option("--jsonl", is_flag=True, help="Read and write one JSON object a line (the only form there is).")
@click.pass_context
def command(ctx: click.Context, jsonl: bool) -> None:
    """Parse flowcharts as Mermaid does, one after another.

    Standard input has one JSON object {"id", "text"} a line; standard output gets
    {"id", "ok", "line", "error", "structure"} a line, in the same order. A line that is not such an object is answered with
    ok false, and the exit code is 2 at the end.
    """
    if not jsonl:
        raise click.UsageError("merrow parse reads JSON lines: add --jsonl.", ctx)
    if not _answer_all(sys.stdin.buffer, sys.stdout.buffer):
        ctx.exit(MISUSED)


def _answer_all(questions: BinaryIO, answers: BinaryIO) -> bool:
    """Answer each line as it comes; whether every line was a question."""
    understood = True
    for number, line in enumerate(questions, 1):
        if not line.strip():
            continue
        answer = _answer(line, number)
        understood &= answer.pop("understood", True)
        answers.write(json.dumps(answer).encode("ascii") + b"\n")
        # Whoever asks one question at a time waits for its answer.
        answers.flush()
    return understood


def _answer(line: bytes, number: int) -> dict[str, Any]:
    try:
        question = json.loads(line)
        identity, text = question["id"], question["text"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return _refused(None, f"Line {number} is not a JSON object with id and text.")
    if not isinstance(text, str):
        return _refused(identity, f"Line {number} has a text that is not a string.")
    return {"id": identity, **parse_record(text)}


def _refused(identity: object, error: str) -> dict[str, Any]:
    return {"id": identity, "ok": False, "line": None, "error": error, "structure": None, "understood": False}
