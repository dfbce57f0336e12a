"""Text of others is computed on within bounds only: each place where it is, is known, and goes through `merrow_analysis.bounded`.

A new place fails here. Use a module of `merrow_analysis.bounded` instead, or a process with limits (the sandbox, a `Worker`); if
the text is Merrow's own, or bounded otherwise, add the place and say by what.
"""

from __future__ import annotations

from tests.project.doors import doors

BOUNDED = "merrow_analysis/bounded/"
"""The room of the rule: what is here has tests of its own."""

_GUEST = "in a process of the sandbox, with limits"
_WORKER = "in the process of a `Worker`, with limits"
_OWN = "Merrow's own text"
_SMALL = "numbers of Merrow's own"

KNOWN = {
    ("merrow_analysis/rules/configuration.py", "tomllib"): "the type of its error; `read_toml` reads",
    ("merrow_analysis/definitions/validation.py", "re"): "patterns of Merrow's own schema, linear",
    ("merrow_analysis/definitions/yaml/yaml_text.py", "read_yaml"): "`read_bounded_yaml` itself",
    ("merrow_analysis/graph/measures/measures.py", "**"): "floating point",
    ("merrow_analysis/ide/semantic_tokens.py", "re"): "words of the language",
    ("merrow_analysis/syntax/block_reader.py", "lark"): "the grammar's own tokens, LALR",
    ("merrow_analysis/syntax/builder.py", "lark"): "the grammar's own tokens, LALR",
    ("merrow_analysis/syntax/forms.py", "eval"): "numbers and names of classes, nothing of a text",
    ("merrow_analysis/syntax/forms.py", "re"): "escaped, of 100 parts at most",
    ("merrow_analysis/syntax/grammar.py", "lark"): "the grammar is Merrow's own, LALR",
    ("merrow_analysis/syntax/grammar.py", "lark.lexer"): "the grammar is Merrow's own, LALR",
    ("merrow_analysis/syntax/lexer.py", "re"): _OWN,
    ("merrow_analysis/syntax/problems.py", "re"): _OWN,
    ("merrow_analysis/syntax/slips.py", "re"): f"{_OWN}, over 2,000 characters at most",
    ("merrow_analysis/syntax/sanitise.py", "nh3"): "linear",
    ("merrow_optimizer/evaluation/data/catalogue.py", "tomllib"): _OWN,
    ("merrow_optimizer/evaluation/data/names.py", "glob"): "one star, in Merrow's own folder",
    ("merrow_optimizer/evaluation/metrics/amounts.py", "**"): "three digits at most, by the pattern",
    ("merrow_optimizer/evaluation/metrics/amounts.py", "Fraction"): "1,000 digits at most",
    ("merrow_optimizer/evaluation/metrics/figures.py", "Decimal"): "1,000 digits at most",
    ("merrow_optimizer/evaluation/metrics/figures.py", "Fraction"): "a number of a setting, as Python writes it",
    ("merrow_optimizer/evaluation/metrics/guest.py", "jsonschema"): _WORKER,
    ("merrow_optimizer/evaluation/metrics/guest.py", "re"): _WORKER,
    ("merrow_optimizer/evaluation/metrics/mathematics.py", "math_verify"): _WORKER,
    ("merrow_optimizer/evaluation/metrics/mathematics.py", "sympy"): _WORKER,
    ("merrow_optimizer/evaluation/metrics/products/links.py", "html5lib"): _WORKER,
    ("merrow_optimizer/evaluation/metrics/structure.py", "**"): "the length of a text of bounded length",
    ("merrow_optimizer/evaluation/statistics/distributions.py", "**"): "floating point",
    ("merrow_optimizer/evaluation/statistics/distributions.py", "comb"): _SMALL,
    ("merrow_optimizer/evaluation/statistics/repeats.py", "comb"): _SMALL,
    ("merrow_optimizer/extraction/plan.py", "a width in an f-string"): _SMALL,
    ("merrow_optimizer/optimization/rounds.py", "glob"): "one star",
    ("merrow_optimizer/planning/ranking.py", "**"): "floating point",
    ("merrow_optimizer/reproducing/exact.py", "Decimal"): _SMALL,
    ("merrow_optimizer/reproducing/exact.py", "glob"): "one star",
    ("merrow_optimizer/reproducing/papers.py", "Decimal"): _SMALL,
    ("merrow_optimizer/reproducing/papers.py", "tomllib"): _OWN,
    ("merrow_optimizer/search/dropping.py", "comb"): _SMALL,
    ("merrow_runtime/compiling/compiler.py", "compile"): "Merrow's own lines, prompts as literals",
    ("merrow_runtime/compiling/program_reader.py", "ast.literal_eval"): "a part of what `parse_python` read",
    ("merrow_runtime/models/dialects.py", "re"): _OWN,
    ("merrow_runtime/models/offline_sums.py", "Fraction"): "1,000 characters at most",
    ("merrow_runtime/models/offline_sums.py", "ast.parse"): "1,000 characters at most",
    ("merrow_runtime/models/offline_sums.py", "re"): _OWN,
    ("merrow_runtime/models/prices.py", "tomllib"): _OWN,
    ("merrow_runtime/models/redaction.py", "re"): "escaped words",
    ("merrow_runtime/models/retry.py", "**"): "floating point, an exponent of 64 at most",
    ("merrow_runtime/models/settings_text.py", "re"): "the names of four settings",
    ("merrow_runtime/models/settings_text.py", "tomllib"): "the type of its error; `read_toml` reads",
    ("merrow_runtime/models/user_settings.py", "tomllib"): "the type of its error; `read_toml` reads",
    ("merrow_runtime/operators/formats/structured.py", "json_repair"): "length, depth and brackets are measured before",
    ("merrow_runtime/operators/formats/structured.py", "re"): "escaped names of fields",
    (
        "merrow_runtime/outside/local_runner.py",
        "compile",
    ): "in a process of its own, with the user's consent to this very text",
    (
        "merrow_runtime/outside/local_runner.py",
        "exec",
    ): "in a process of its own, with the user's consent to this very text",
    ("merrow_runtime/running/masking.py", "**"): "floating point",
    ("merrow_runtime/sandbox/backends/base.py", "glob"): "two stars, in folders of Python's",
    ("merrow_runtime/sandbox/backends/bubblewrap.py", "glob"): "one star, in folders of Python's",
    ("merrow_runtime/sandbox/guest/evaluate.py", "exec"): _GUEST,
    ("merrow_runtime/sandbox/guest/running.py", "compile"): _GUEST,
    ("merrow_runtime/sandbox/guest/running.py", "format"): _GUEST,
    ("merrow_runtime/sandbox/guest/solution.py", "exec"): _GUEST,
    ("merrow_runtime/sandbox/guest/verdict.py", "ast.parse"): _GUEST,
    ("merrow_runtime/sandbox/guest/verdict.py", "exec"): _GUEST,
    ("merrow_runtime/sandbox/process.py", "compile"): _OWN,
    ("merrow_server/changes/patterns.py", "glob"): "one star",
    ("merrow_server/cli/__init__.py", "a width in an f-string"): _SMALL,
    ("merrow_server/cli/set_up/new.py", "a width in an f-string"): _SMALL,
    ("merrow_server/extractions/extraction_words.py", "format"): _OWN,
    ("merrow_server/features/commands/mutation_commands.py", "glob"): "one star",
    ("merrow_server/lsp/logs.py", "format"): _OWN,
    ("merrow_server/optimizations/starts.py", "glob"): "one star",
    ("merrow_server/optimizations/search_words.py", "format"): _OWN,
}
"""Places outside of that room, each with what bounds it."""


def test_each_place_that_computes_on_text_is_bounded() -> None:
    found = {place for place in doors() if not place[0].startswith(BOUNDED)}
    assert found - KNOWN.keys() == set(), "new places: see above"
    assert KNOWN.keys() - found == set(), "places that are gone"
