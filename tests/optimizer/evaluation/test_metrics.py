"""Metrics by name: which there are, their options, what is checked before the first call, what is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.optimizer.evaluation.data_files import lines_of, written

from merrow_optimizer.evaluation.data import DataError, read_items
from merrow_optimizer.evaluation.metrics import METRICS, check_options, check_scoring, metric

NEEDED = {"python": {"file": __file__}, "judge": {"rubric": "r"}}


def test_every_metric_has_its_name() -> None:
    for name in METRICS:
        if name != "python":
            made = metric(name, **NEEDED.get(name, {}))
            assert made.name == name
            assert made.identity.startswith(f"{name}/{made.version}")


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("exakt", {}, "There is no metric `exakt`; did you mean `exact`?"),
        ("accuracy of all", {}, "There is no metric `accuracy of all`; the metrics are gsm8k"),
        ("exact", {"pattern": "x"}, "The metric exact has no option `pattern`; it has none."),
        ("numeric", {"tol": 1}, "The metric numeric has no option `tol`; its options are `tolerance`."),
        ("python", {}, "The metric python needs the option `file`."),
    ],
)
def test_unknown_names_and_options(name: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataError) as raised:
        metric(name, **options)
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("f1", {"separator": 1}, "The option must be a text."),
        ("regex", {"pattern": 5}, "The option must be a text."),
        ("f1", {"seperator": "|"}, "did you mean `separator`?"),
        ("pass@1", {"sandbox": "x"}, "The metric pass@1 has no option `sandbox`; it has none."),
        ("judge", {"ask": "x"}, "The metric judge has no option `ask`; its options are `rubric`, `threshold`."),
    ],
)
def test_what_a_person_may_not_say_of_a_metric(name: str, options: dict[str, object], sentence: str) -> None:
    check_options("numeric", {"tolerance": 0.5})
    with pytest.raises(DataError) as raised:
        check_options(name, options)
    assert sentence in str(raised.value)


def test_options_are_part_of_a_metric_s_identity() -> None:
    made = [
        metric("numeric"),
        metric("numeric", tolerance=0.5),
        metric("numeric", tolerance=1),
        metric("f1"),
        metric("f1", separator="|"),
        metric("regex"),
        metric("regex", pattern="a"),
        metric("choice", letters=4),
    ]
    assert len({each.identity for each in made}) == len(made)
    assert metric("choice", letters=4).identity == metric("choice", letters=4).identity


async def test_golds_that_can_not_be_compared_are_said_all_at_once_with_their_lines(tmp_path: Path) -> None:
    rows = [{"q": "a", "a": 1}, {"q": "b", "a": "x"}, {"q": "c", "a": [2, "y"]}]
    data = read_items(written(tmp_path, lines_of(*rows)), gold="a")
    with pytest.raises(DataError) as raised:
        await check_scoring(data, metric("numeric"))
    assert [problem.line for problem in raised.value.problems] == [2, 3]
    assert str(raised.value).endswith("data.jsonl:3: The gold answer isn't a number (metric numeric).")


async def test_a_metric_that_compares_needs_a_gold_field(tmp_path: Path) -> None:
    data = read_items(written(tmp_path, lines_of({"q": "a"}, {"q": "b"})))
    with pytest.raises(DataError, match="The metric exact compares with a gold answer; name its field: --gold FIELD"):
        await check_scoring(data, metric("exact"))
    await check_scoring(data, metric("regex", pattern="a"))


@pytest.mark.slow
def test_nothing_of_this_is_imported_before_it_is_used() -> None:
    program = (
        "import sys\n"
        "from merrow_server.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if 'evaluation' in name], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    heavy = "('jsonschema', 'openai', 'sympy')"
    lean = f"import sys, merrow_optimizer.evaluation.metrics\nprint([n for n in {heavy} if n in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", lean], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
    # What evaluates loads nothing that makes other workflows.
    makers = "('mutations', 'crossover', 'search', 'suggestions.session', 'optimization.plan')"
    lean = (
        "import sys, merrow_server.cli.sessions.evaluation\n"
        f"print([n for n in {makers} if f'merrow_optimizer.{{n}}' in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", lean], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
