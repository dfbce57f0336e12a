"""The lark grammar of one statement, built for the first line of a form that is not known yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token
from lark.lexer import Lexer as LarkLexer

from merrow_analysis.syntax.builder import StatementBuilder


class _Passing(LarkLexer):
    """Our own lexer has made the tokens already."""

    def __init__(self, _conf: Any) -> None:
        super().__init__()

    def lex(self, lexer_state: Any, _parser_state: Any = None) -> Iterator[Token]:
        yield from lexer_state


@cache
def statement_grammar() -> tuple[Lark, StatementBuilder]:
    """The LALR parser and the builder it calls; one pair a process."""
    builder = StatementBuilder()
    source = files("merrow_analysis.syntax").joinpath("flowchart.lark").read_text(encoding="utf-8")
    parser = Lark(
        source,
        parser="lalr",
        lexer=_Passing,
        start=["header", "statement"],
        maybe_placeholders=False,
        keep_all_tokens=True,
        transformer=builder,
    )
    return parser, builder


def parse_tokens(tokens: Iterable[Token], start: str) -> Any:
    """Parse ``tokens`` from a start symbol; raises lark's UnexpectedToken at the first token that does not fit."""
    parser, _ = statement_grammar()
    return parser.parse(tokens, start=start)
