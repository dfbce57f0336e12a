"""What runs in a `Worker`'s process: questions on standard input, one JSON object a line, answers on standard output.

Its memory is limited, and so is its processor time for each answer: a signal ends it then.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_MEMORY = 400 * 1024**2
"""Bytes: sympy and what it needs take a fourth of this."""


def main(work: str, limit_s: float) -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not an answer
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answer = _WORKS[work]()
    _say(answers, {"ready": True})
    for line in sys.stdin.buffer:
        _limit(limit_s)
        try:
            reply = answer(json.loads(line))
        except (MemoryError, RecursionError) as error:
            reply = {"failed": f"the comparison needs too much memory ({type(error).__name__})"}
        except Exception as error:  # noqa: BLE001 - libraries raise anything on odd input; the item says what
            reply = {"failed": f"the comparison failed: {type(error).__name__}: {error}"[:500]}
        _limit(0)
        _say(answers, reply)


def _limit(seconds: float) -> None:
    """Let SIGPROF end the process after some processor time; 0: no longer."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _say(answers: Any, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value).encode() + b"\n")
    answers.flush()


def _patterns() -> Callable[[dict[str, Any]], dict[str, Any]]:
    import re

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        match = re.search(question["pattern"], question["text"])
        return {"found": None if match is None else match[0]}

    return answer


def _schemas() -> Callable[[dict[str, Any]], dict[str, Any]]:
    import jsonschema

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        kind = jsonschema.validators.validator_for(question["schema"], default=jsonschema.Draft202012Validator)
        first = next(iter(kind(question["schema"]).iter_errors(question["value"])), None)
        return {"error": None if first is None else first.message, "place": "" if first is None else first.json_path}

    return answer


def _mathematics() -> Callable[[dict[str, Any]], dict[str, Any]]:
    import logging

    logging.disable()
    from merrow_optimizer.evaluation.metrics.mathematics import compare_expressions, compare_published
    from merrow_optimizer.evaluation.metrics.structure import compare

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        gold, read = question["gold"], question["answer"]
        if question["published"]:
            return {"equal": compare_published(gold, read)}
        return {"equal": bool(compare(gold, read, compare_expressions))}

    return answer


def _links() -> Callable[[dict[str, Any]], dict[str, Any]]:
    from merrow_optimizer.evaluation.metrics.products.links import faults_of

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        return faults_of(question["pages"], question["paths"])

    return answer


_WORKS: dict[str, Callable[[], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "patterns": _patterns,
    "schemas": _schemas,
    "mathematics": _mathematics,
    "links": _links,
}

if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
