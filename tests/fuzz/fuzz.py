"""A coverage-guided search for a text that parser, checker, editor or formatter does not survive.

    pip install atheris
    python tests/fuzz/fuzz.py tests/fuzz/corpus -max_total_time=600 -max_len=4096 -dict=tests/fuzz/flowchart.dict

A crash is written to a file ``crash-...``; ``python tests/fuzz/fuzz.py crash-...`` shows it again. What is found becomes
a test in ``tests/analysis``. It is no part of the tests that run every time, because it is never done.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["merrow_analysis"]):
    from merrow_analysis.check import Analyser, analyse
    from merrow_analysis.formatting import format_text
    from merrow_analysis.syntax.structure import parse_record
    from merrow_analysis.text import Position, Range, TextEdit


def facts(text: str) -> object:
    """What formatting must not change."""
    record = parse_record(text)
    return record["ok"], record["structure"]


def try_text(data: bytes) -> None:
    """Every door answers; formatting keeps the meaning and is done after once; an edit is as good as reading again."""
    text = data.decode("utf-8", "surrogateescape")
    parse_record(text)
    cold = analyse(text)
    formatted = format_text(text)
    if facts(formatted) != facts(text):
        raise AssertionError("formatting changed the meaning")
    if format_text(formatted) != formatted:
        raise AssertionError("formatting twice is not the same as once")
    half = len(text) // 2
    analyser = Analyser(text[:half])
    analyser.analysis()
    end = Position(text.count("\n") + text.count("\r") + 1, 0)
    analyser.edit(TextEdit(Range(end, end), text[half:]))
    if analyser.analysis().diagnostics != cold.diagnostics:
        raise AssertionError("an edited text is not what it would be, read cold")


def main() -> None:
    atheris.Setup(sys.argv, try_text)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
