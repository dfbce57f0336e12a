"""``merrow metrics`` and ``merrow import`` of task graphs in JSON, simulated runs, and outputs written as files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optimizer.planning.plans import FORMS, answer, flow_form, plan_of, plans
from tests.server.program import in_process
from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.formatting import format_text
from merrow_analysis.graph.measures.measures import measure
from merrow_analysis.graph.measures.simulation import simulate
from merrow_optimizer.planning.task_graph import TaskGraph
from merrow_server.errors import InputError
from merrow_server.output_files import write_outputs

Capture = pytest.CaptureFixture[str]
FLOW = SHARED / "corpus" / "flow"
DIAMOND = plan_of("ABCD", "AB", "AC", "BD", "CD")
PUBLISHED = sorted(FLOW.glob("*.candidates.json"))


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"MERROW_{name}_DIR", str(tmp_path / name.lower()))


def write(name: str, said: object) -> None:
    Path(name).write_text(said if isinstance(said, str) else answer(said), encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_a_task_graph_is_measured(capsys: Capture, form: Any) -> None:
    write("plan.json", form(DIAMOND))
    shown = in_process(capsys, "metrics", "plan.json", "--format", "json").json
    assert shown["workflow"] == measure("ABCD", DIAMOND.edges).as_json() or form.__name__ == "early_form"
    assert shown["workflow"]["p_avg"] == pytest.approx(4 / 3)
    assert shown["path_parallelism"] == pytest.approx(5 / 3)
    assert shown["expected"].keys() == {"score", "time", "work", "rework"}


@pytest.mark.shared("corpus/flow")
@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_published_files_are_measured_whole(capsys: Capture, file: Path) -> None:
    known = json.loads(file.read_text(encoding="utf-8"))
    done = in_process(capsys, "metrics", str(file), "--format", "json")
    assert done.code == 0
    plans_shown = done.json["plans"]
    for shown, candidate in zip(plans_shown, known["candidates"], strict=True):
        if "metrics" in candidate:
            assert shown["workflow"]["c_dependency"] == pytest.approx(candidate["metrics"]["c_dependency"], abs=1e-6)
            assert shown["workflow"]["p_avg"] == pytest.approx(candidate["metrics"]["p_avg_definition"], abs=1e-6)
            assert shown["path_parallelism"] == pytest.approx(candidate["metrics"]["p_avg_original_code"], abs=1e-6)
        else:
            assert "without both ends" in shown["notes"][0]
    assert in_process(capsys, "metrics", str(file)).code == 0


@pytest.mark.slow
@pytest.mark.shared("corpus/flow")
@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_published_candidates_are_imported(capsys: Capture, file: Path) -> None:
    task = json.loads(file.read_text(encoding="utf-8"))["overall_task"].strip()
    for number in range(1, 11):
        done = in_process(capsys, "import", f"{file}#{number}")
        assert done.code == 0
        analysis = analyse(done.out)
        assert not analysis.diagnostics
        assert format_text(done.out) == done.out
        assert analysis.typed is not None
        assert analysis.typed.by_id["PROBLEM"].resolution.parameters["default"].value == task


def test_what_can_not_be_imported_is_told(capsys: Capture) -> None:
    said: Any = flow_form(DIAMOND)
    said["workflow"]["A"]["prev"] = ["D"]
    write("cycle.json", said)
    write("two.json", {"candidates": [flow_form(DIAMOND), flow_form(DIAMOND)]})
    write("none.json", "[]")
    for arguments, says in [
        (("metrics", "cycle.json", "--journal"), "--journal looks for runs of a workflow file"),
        (("import", "cycle.json"), "wait for each other"),
        (("import", "two.json"), "two.json#1"),
        (("import", "two.json#3"), "there is no number 3"),
        (("import", "none.json"), "no JSON object with `tasks`"),
        (("import", "missing.json"), "missing.json"),
    ]:
        done = in_process(capsys, *arguments)
        assert (done.code, says in done.err) == (2, True), done.err
    done = in_process(capsys, "metrics", "cycle.json")
    assert (done.code, "wait for each other" in done.err) == (1, True)
    shown = in_process(capsys, "metrics", "cycle.json", "--format", "json")
    assert shown.code == 1
    assert "wait for each other" in json.dumps(shown.json)


@settings(max_examples=5, deadline=None)
@given(plans(most=7), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(0, 100))
def test_a_simulation_agrees_with_the_exact_figure(plan: TaskGraph, failure: float, seed: int) -> None:
    """Within three times the half of its interval, which 3 of a billion miss, where the formula is exact."""
    exact = measure(plan.ids, plan.edges, failure)
    found = simulate(plan.ids, plan.edges, dict.fromkeys(plan.ids, failure), 4_000, seed)
    assert found is not None
    assert exact.expected_exact is not None
    assert abs(found.mean - exact.expected_exact) <= 3 * (found.high - found.low) / 2 + 1e-9
    assert found.low <= found.mean <= found.high


@settings(max_examples=4, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.sampled_from([0.1, 0.3, 0.5]), st.integers(0, 100))
def test_a_simulation_agrees_with_both_formulas_on_trees(parents: list[int], failure: float, seed: int) -> None:
    """Where each task needs the result of at most one other, both formulas are exact."""
    ids = [f"t{number}" for number in range(len(parents) + 1)]
    edges = [(ids[parent % (number + 1)], ids[number + 1]) for number, parent in enumerate(parents)]
    known = measure(ids, edges, failure)
    assert known.expected_product == pytest.approx(known.expected_exact)
    found = simulate(ids, edges, dict.fromkeys(ids, failure), 4_000, seed)
    assert found is not None
    for formula in (known.expected_product, known.expected_exact):
        assert formula is not None
        assert abs(found.mean - formula) <= 3 * (found.high - found.low) / 2 + 1e-9


def test_a_simulation_covers_both_formulas_where_both_are_exact(capsys: Capture) -> None:
    write("plan.json", flow_form(plan_of("ABCD", "AB", "BC", "CD")))
    shown = in_process(capsys, "metrics", "plan.json", "--simulate", "20000", "--format", "json").json
    low, high = shown["simulated"]["interval"]
    for formula in ("product_formula", "all_ancestors_succeed"):
        assert low <= shown["workflow"]["expected_completed"][formula] <= high
    again = in_process(capsys, "metrics", "plan.json", "--simulate", "20000", "--format", "json").json
    assert again == shown
    write("flow.mmd", 'flowchart TD\n    PROBLEM([P]) --> A["Do it."] --> RETURN([R])\n')
    text = in_process(capsys, "metrics", "flow.mmd", "--simulate", "2000").out
    found = in_process(capsys, "metrics", "flow.mmd", "--simulate", "2000", "--format", "json").json
    mean, (low, high) = found["simulated"]["mean"], found["simulated"]["interval"]
    said = re.search(r"\nexpected completed, simulated: (.+) \(95 % interval (.+) to (.+), 2,000 runs\)\n", text)
    assert said is not None, text
    assert [float(one) for one in said.groups()] == pytest.approx([mean, low, high], abs=0.01)


CHAIN = plan_of("ABCD", "AB", "BC", "CD")
OF_THE_CHAIN = """\
                                       whole graph
nodes                                            4
edges                                            3
depth                                            4
width                                            1
largest antichain                                1
parallelism P_avg                                1
dependency complexity C_dependency             0.5
edges beyond the transitive reduction            0
expected completed, product formula          3.095
expected completed, exactly                  3.095
"""
REST_OF_THE_CHAIN = """
critical path (whole graph): A -> B -> C -> D

parallelism as Flow's code counts it (paths / steps): 1
rank by expected: 200.6 (time 11.11, work 11.11, rework 6.944)
"""
CYCLE = "The tasks wait for each other: `A` -> `B` -> `A`. Remove one of these dependencies."


def test_figures_of_task_graphs_as_they_are_printed(capsys: Capture) -> None:
    write("one.json", flow_form(CHAIN))
    write("two.json", {"candidates": [flow_form(CHAIN), flow_form(DIAMOND)]})
    done = in_process(capsys, "metrics", "one.json")
    assert (done.code, done.out, done.err) == (0, OF_THE_CHAIN + REST_OF_THE_CHAIN, "")
    done = in_process(capsys, "metrics", "one.json", "--simulate", "100")
    simulated = "\nexpected completed, simulated: 3.01 (95 % interval 2.711 to 3.309, 100 runs)\n"
    assert done.out == OF_THE_CHAIN + simulated + REST_OF_THE_CHAIN
    sure = in_process(
        capsys, "metrics", "one.json", "--simulate", "100", "--failure-probability", "0", "--format", "json"
    )
    assert sure.json["simulated"]["mean"] == 4
    done = in_process(capsys, "metrics", "two.json")
    first, second = done.out.split("\n\ntask graph 2\n")
    assert first == f"task graph 1\n{OF_THE_CHAIN}{REST_OF_THE_CHAIN}".rstrip()
    assert second.splitlines()[-5:] == [
        "",
        "parallelism as Flow's code counts it (paths / steps): 1.667",
        "rank by expected: 155.4 (time 8.642, work 11.42, rework 6.559)",
        "",
        "first by rule: expected 2, paper 2, code 2",
    ]
    assert (done.code, done.err) == (0, "")
    shown = in_process(capsys, "metrics", "one.json", "--format", "json").json
    figures = measure(CHAIN.ids, CHAIN.edges, 0.1).as_json()
    expected = shown.pop("expected")
    assert shown == {"file": "one.json", "workflow": figures, "graph": figures, "path_parallelism": 1.0, "notes": []}
    assert expected == pytest.approx({"score": 200.617, "time": 11.1111, "work": 11.1111, "rework": 6.9444}, abs=1e-3)


def test_a_task_graph_that_can_not_be_read_hides_no_other(capsys: Capture) -> None:
    cycle = flow_form(plan_of("AB", "AB", "BA"))
    write("some.json", {"candidates": [cycle, flow_form(CHAIN)]})
    done = in_process(capsys, "metrics", "some.json")
    assert done.out == (
        f"task graph 1\n{CYCLE}\n\ntask graph 2\n{OF_THE_CHAIN}{REST_OF_THE_CHAIN}\n"
        "first by rule: expected 2, paper 2, code 2\n"
    )
    assert (done.code, done.err) == (1, "merrow: some.json: 1 of 2 can't be read.\n")
    shown = in_process(capsys, "metrics", "some.json", "--format", "json")
    assert (shown.code, shown.err, shown.json["file"]) == (1, done.err, "some.json")
    bad, good = shown.json["plans"]
    assert bad == {"plan": 1, "problems": [CYCLE]}
    assert (good["plan"], good["workflow"]["depth"], good["notes"]) == (2, 4, [])
    assert shown.json["first"] == {"expected": 2, "paper": 2, "code": 2}
    write("none.json", {"candidates": [cycle, cycle]})
    done = in_process(capsys, "metrics", "none.json")
    assert done.out == f"task graph 1\n{CYCLE}\n\ntask graph 2\n{CYCLE}\n"
    assert (done.code, done.err) == (1, "merrow: none.json: 2 of 2 can't be read.\n")
    assert in_process(capsys, "metrics", "none.json", "--format", "json").json["first"] == {}
    write("cycle.json", cycle)
    done = in_process(capsys, "metrics", "cycle.json")
    assert (done.code, done.out, done.err) == (1, f"{CYCLE}\n", f"merrow: {CYCLE}\n")
    shown = in_process(capsys, "metrics", "cycle.json", "--simulate", "5", "--format", "json")
    assert (shown.code, shown.json) == (1, {"file": "cycle.json", "problems": [CYCLE]})


def test_failures_by_node_count_and_a_cycle_has_no_simulation() -> None:
    found = simulate("AB", [("A", "B")], {"A": 0.0, "B": 1.0}, 50)
    assert found is not None
    assert (found.mean, found.low, found.high) == (1.0, 1.0, 1.0)
    assert simulate("AB", [("A", "B"), ("B", "A")], {"A": 0.0, "B": 0.0}, 5) is None


def test_outputs_are_written_as_the_files_that_they_name(tmp_path: Path) -> None:
    written = write_outputs(
        tmp_path / "new" / "site",
        {"RETURN": "```html index.html\n<p>\n```\n```css css/a.css\nb {}\n```", "OTHER": "words", "DATA": {"a": 1}},
    )
    found = {str(path.relative_to(tmp_path / "new" / "site")): path.read_text(encoding="utf-8") for path in written}
    assert found == {
        "index.html": "<p>\n",
        "css/a.css": "b {}\n",
        "OTHER.md": "words\n",
        "DATA.json": '{\n  "a": 1\n}\n',
    }


@pytest.mark.parametrize("name", ["../x.txt", "/x.txt", "a/../../x.txt", "~/x.txt"])
def test_nothing_is_written_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="leads outside"):
        write_outputs(tmp_path / "site", {"RETURN": f"```text {name}\nx\n```", "A": "b"})
    assert not list(tmp_path.glob("**/*.txt"))
    assert not (tmp_path / "site").exists()


def test_an_output_whose_id_leads_elsewhere_is_a_file_inside(tmp_path: Path) -> None:
    """An id may have what separates folders."""
    ids = ["RETURN", "../../out", "/out", "a/b", "a_b", "a\\b", "..", "con", "x" * 300]
    written = write_outputs(tmp_path / "site", dict.fromkeys(ids, "words") | {"..b": 1})
    assert {path.parent for path in written} == {tmp_path / "site"}
    assert len({path.name for path in written}) == len(ids) + 1
    assert {path.name for path in written} >= {"RETURN.md", "a_b.md", "con_.md", "output.md", "b.json"}
    assert sorted(tmp_path.rglob("*.*")) == sorted(written)


def test_an_id_that_leads_elsewhere_is_written_by_a_run_inside(capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        'flowchart TD\n    PROBLEM([P]):::Interface --> A@{op: Custom, prompt: "x"}\n'
        "    A --> RETURN([R]):::Interface\n    A --> ../../out([R]):::Interface\n    classDef Interface fill:#eee\n"
    )
    Path("flow.mmd").write_text(text, encoding="utf-8")
    done = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", "offline", "-o", "a/site")
    assert done.code == 0, done.err
    assert sorted(str(path) for path in Path().rglob("*.md")) == ["a/site/RETURN.md", "a/site/_.._out.md"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_that_is_also_a_folder_of_another_output_is_refused(tmp_path: Path, order: int) -> None:
    outputs = {"A": "```text file=d\nx\n```", "B": "```text D/e.txt\nx\n```"}
    with pytest.raises(InputError, match=r"`d` is a file and also the folder of `D/e\.txt`"):
        write_outputs(tmp_path / "site", dict([*outputs.items()][::order]))
    assert not (tmp_path / "site").exists()


def test_two_outputs_of_one_name_are_refused(tmp_path: Path) -> None:
    page = "```html {}\nhi\n```"
    with pytest.raises(InputError, match=r"The outputs can't be written\. The file `A\.html` is given twice\."):
        write_outputs(tmp_path / "out", {"ONE": page.format("a.html"), "TWO": page.format("A.html")})
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="not an empty folder"):
        write_outputs(tmp_path, {"RETURN": "x"})


def test_a_run_writes_its_files(capsys: Capture) -> None:
    write(
        "flow.mmd",
        'flowchart TD\n    PROBLEM([Problem]):::Interface\n    PROBLEM@{ default: "```html a.html\\nhi\\n```" }\n'
        "    Z@{ op: Assemble, how: files }\n    RETURN([Result]):::Interface\n    PROBLEM -->|results| Z --> RETURN\n",
    )
    done = in_process(capsys, "run", "flow.mmd", "--base-url", "offline", "-o", "site")
    assert done.code == 0, done.err
    assert done.out == f"{Path('site') / 'a.html'} is written.\n"
    assert Path("site/a.html").read_text(encoding="utf-8") == "hi\n"
    again = in_process(capsys, "run", "flow.mmd", "--base-url", "offline", "-o", "site")
    assert (again.code, "not an empty folder" in again.err) == (2, True)


def test_a_folder_that_can_not_be_made_is_refused_before_anything_is_asked(capsys: Capture, tmp_path: Path) -> None:
    write("flow.mmd", "flowchart TD\n    PROBLEM([Problem]):::Interface --> RETURN([Result]):::Interface\n")
    write("there", "a file")
    sentence = f"merrow: {Path('there/site')} can't be made: {tmp_path / 'there'} is not a folder.\n"
    for asked in (("run", "flow.mmd", "--input", "problem=x", "-o"), ("plan", "Do it.", "--all")):
        refused = in_process(capsys, *asked, str(Path("there/site")), "--base-url", "offline")
        assert (refused.code, refused.out, refused.err) == (2, "", sentence)
    assert "No runs yet" in in_process(capsys, "runs").err


@pytest.mark.slow
def test_failure_rates_come_from_the_users_own_runs(capsys: Capture) -> None:
    write(
        "flow.mmd",
        "flowchart TD\n    PROBLEM([Problem]):::Interface\n    Z@{ op: Assemble, how: files }\n"
        "    Y@{ op: Assemble, how: concat }\n    RETURN([Result]):::Interface\n"
        "    PROBLEM -->|results| Z --> Y --> RETURN\n    classDef Interface fill:#eee\n",
    )
    for number in range(25):
        if number == 19:
            early = in_process(capsys, "metrics", "flow.mmd", "--journal", "--format", "json").json
            assert early["failures"] == {}
            said = in_process(capsys, "metrics", "flow.mmd", "--journal", "--failure-probability", "0.25").out
            assert said.endswith(
                "No node was executed at least 20 times in your runs of it, so each is taken to fail with probability 0.25.\n"
            )
            assert "at least 20 times" not in in_process(capsys, "metrics", "flow.mmd").out
            assert early["workflow"] == in_process(capsys, "metrics", "flow.mmd", "--format", "json").json["workflow"]
        said = "nothing" if number % 5 == 0 else "```text a.txt\nx\n```"
        done = in_process(capsys, "run", "flow.mmd", "--base-url", "offline", "--input", f"problem={said}")
        assert done.code == (1 if number % 5 == 0 else 0)
    shown = in_process(
        capsys,
        "metrics",
        "flow.mmd",
        "--journal",
        "--simulate",
        "5000",
        "--failure-probability",
        "0",
        "--format",
        "json",
    ).json
    text = in_process(capsys, "metrics", "flow.mmd", "--journal").out
    assert text.endswith("Z failed in 5 of 25 executions\nY failed in 0 of 20 executions\n")
    assert shown["failures"] == {"Z": {"failed": 5, "executions": 25}, "Y": {"failed": 0, "executions": 20}}
    assert shown["workflow"]["expected_completed"]["all_ancestors_succeed"] == pytest.approx(1.6)
    assert shown["workflow"]["expected_completed"]["product_formula"] == pytest.approx(1.6)
    low, high = shown["simulated"]["interval"]
    assert low <= 1.6 <= high


@settings(max_examples=10, deadline=None)
@given(plans(most=6), st.floats(0, 1), st.data())
def test_rates_by_node_are_the_one_rate_where_they_are_equal(plan: TaskGraph, rate: float, data: st.DataObject) -> None:
    some = data.draw(st.sets(st.sampled_from(plan.ids)))
    one, by_node = measure(plan.ids, plan.edges, rate), measure(plan.ids, plan.edges, rate, dict.fromkeys(some, rate))
    assert by_node.expected_exact == pytest.approx(one.expected_exact)
    assert by_node.expected_product == pytest.approx(one.expected_product)


FLOWS_TASKS: dict[str, object] = {
    "a list": {
        "workflow": [
            {"id": "t1", "objective": "Write it", "agent_id": 0, "next": ["t2"], "prev": []},
            {"id": "t2", "objective": "Fix it", "agent_id": 1, "next": [], "prev": ["t1"]},
        ],
        "agents": [{"id": "Agent 0", "role": "Writer"}, {"id": "Agent 1", "role": "Editor"}],
    },
    "a list alone": [
        {"id": "t1", "objective": "Write it", "agent": "Writer", "next": ["t2"], "prev": []},
        {"id": "t2", "objective": "Fix it", "agent": "Editor", "next": [], "prev": ["t1"]},
    ],
    "the paper's example": [
        {
            "id": "t1",
            "params": {"task": "Write it", "agent": "Writer"},
            "next": ["t2"],
            "prev": [],
            "status": "completed",
        },
        {
            "id": "t2",
            "params": {"task": "Fix it", "agent": "Editor"},
            "next": [],
            "prev": ["t1"],
            "status": "not started",
        },
    ],
    "the paper's dictionary": {
        "t1": {"requirement": "Write it", "num_parents_not_completed": 0, "child": ["t2"], "agent": "Writer"},
        "t2": {"requirement": "Fix it", "num_parents_not_completed": 1, "child": [], "agent": "Editor"},
    },
    "the early form": {
        "subtasks": [{"id": "t1", "objective": "Write it"}, {"id": "t2", "objective": "Fix it"}],
        "subtask_dependencies": [{"parent": "t1", "child": "t2"}],
        "agents": [
            {"id": "Agent 0", "role": "Writer", "subtasks": ["t1"]},
            {"id": "Agent 1", "role": "Editor", "subtasks": ["t2"]},
        ],
    },
}


@pytest.mark.parametrize("name", FLOWS_TASKS)
def test_each_of_flows_forms_of_tasks_becomes_the_same_legal_workflow(capsys: Capture, name: str) -> None:
    write("plan.json", json.dumps(FLOWS_TASKS[name]))
    done = in_process(capsys, "import", "plan.json")
    assert (done.code, done.err) == (0, "")
    write("first.json", json.dumps(FLOWS_TASKS["a list"]))
    assert done.out == in_process(capsys, "import", "first.json").out
    assert not analyse(done.out).errors
    assert re.search(r"\bt1\b.*-->", done.out)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"next": ["zz"]}, "names `zz`, which is not the id of a task"),
        ({"prev": ["t2"]}, "The tasks wait for each other: `t1` -> `t2` -> `t1`"),
        ({"id": "t2"}, "Two tasks have the id `t2`"),
        ({"prev": ["t1"]}, "needs its own result"),
        ({"params": {"agent": "Writer"}}, "has no objective"),
    ],
)
def test_a_list_of_tasks_that_is_no_plan_is_refused_with_a_sentence(
    capsys: Capture, change: dict[str, Any], why: str
) -> None:
    first, second = FLOWS_TASKS["the paper's example"]  # type: ignore[misc]
    write("plan.json", json.dumps([{**first, **change}, second]))
    done = in_process(capsys, "import", "plan.json")
    assert (done.code, why in done.err) == (2, True), done.err


def test_next_and_prev_that_disagree_are_noted(capsys: Capture) -> None:
    first, second = FLOWS_TASKS["a list alone"]  # type: ignore[misc]
    write("plan.json", json.dumps([first, {**second, "prev": []}]))
    done = in_process(capsys, "import", "plan.json")
    assert done.code == 0
    assert "Only `next` says the dependency `t1` -> `t2`; it is taken." in done.err
