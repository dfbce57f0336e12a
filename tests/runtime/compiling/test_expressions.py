"""What a program makes of an expression is what the runtime makes of it, and so is why it can't be worked out."""

from __future__ import annotations

from types import ModuleType

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from merrow_analysis.graph.decisions import read_expression
from merrow_runtime.compiling import stand_ins
from merrow_runtime.program import decision

NAMES = {"score": 4, "text": "seven 7", "words": ["a", "b"], "done": True, "part": {"size": 3, "inner": {"name": "x"}}}
ATOMS = st.sampled_from(
    ["score", "text", "words", "done", "part.size", "part.inner.name", "part['size']", "words[0]", "3", "0", "'seven'", "True",
     "len(words)", "int('7')", "str(score)", "float(score)", "missing",
     "missing.x", "text.x", "part.gone", "words[1:]", "f'{score}'"]
)  # fmt: skip
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["<", ">", "==", "!=", "+", "-", "*", "and", "or", "in", "/"]), inner).map(
            lambda three: f"({three[0]} {three[1]} {three[2]})"
        ),
        inner.map(lambda one: f"(not {one})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} if {three[1]} else {three[2]})"),
    ),
    max_leaves=5,
)


def outcome(by: ModuleType, expression: str) -> object:
    try:
        return by.evaluate(expression, NAMES)
    except by.WRONG as problem:
        # Of a product of two texts the runtime says what its bound on lengths met.
        return "can't be worked out" if "*" in expression else f"can't be worked out: {problem}"


@settings(max_examples=examples(300), deadline=None)
@given(EXPRESSIONS)
def test_an_expression_has_the_same_value(expression: str) -> None:
    if read_expression(expression).problem is None:
        assert outcome(stand_ins, expression) == outcome(decision, expression)
