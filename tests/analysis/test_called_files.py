"""What is said of Calls: the ports of the called file, files that can't be called, calls that never end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.rule_page import GivenFiles
from tests.analysis.workflows import edge

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.text import Position, Range, TextEdit


def flow(*lines: str, front: str = "") -> str:
    head = f"---\nworkflow: {front}\n---\n" if front else ""
    body = ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface", *lines]
    return head + "flowchart TD\n" + "".join(f"    {line}\n" for line in body) + "    classDef Interface fill:#eee\n"


def call(path: str, name: str = "C") -> str:
    return f'{name}@{{op: Call, workflow: "{path}"}}'


THINK = 'A@{op: Custom, prompt: "think"}'
SIMPLE = flow(THINK, "PROBLEM --> A --> RETURN")
CALLS = flow(call("./f.mmd"), "PROBLEM --> C --> RETURN")
TYPED = "RETURN@{type: Text}"
"""Makes the type of the output known without looking at what reaches it."""


def check(text: str, path: str = "main.mmd", **files: str) -> list[Diagnostic]:
    given = {name.replace("__", "/") + ".mmd": said for name, said in files.items()}
    provider = GivenFiles({**given, path: text})
    return [one for one in analyse(text, path=path, provider=provider).diagnostics if one.severity.value == "error"]


def codes(found: list[Diagnostic]) -> list[str]:
    return [one.code for one in found]


def test_inputs_and_outputs_are_ports_with_their_types() -> None:
    called = flow(
        "LEVEL([Level]):::Interface", "LEVEL@{type: Number, default: 3}", "CODE([Code]):::Interface",
        'W@{op: CustomCodeGenerate, instruction: w}', "PROBLEM --> W --> CODE", THINK, "PROBLEM --> A", "LEVEL --> A",
        "A --> RETURN", front="{prompts: {w: write}}",
    )  # fmt: skip
    text = flow(call("f.mmd"), "PROBLEM --> C", "C -->|CODE:input| N --> RETURN", 'N@{op: Custom, prompt: "n"}')
    graph = analyse(text, path="main.mmd", provider=GivenFiles({"f.mmd": called})).typed
    assert graph is not None
    node = graph.by_id["C"]
    ports = {port.name: (port.type, port.required) for port in node.input_ports}
    assert ports == {"PROBLEM": ("Problem", True), "LEVEL": ("Number", False)}
    assert node.outputs == {"RETURN": "Text", "CODE": "Code"}
    assert edge(graph, "C", "N").type == "Code"


def test_a_type_of_the_called_file_is_the_callers_where_both_mean_the_same() -> None:
    front = "{types: {Level: [low, high]}, prompts: {p: q}}"
    gives = flow('A@{op: Custom, prompt: "a", returns: Level}', "PROBLEM --> A --> RETURN", front=front)
    takes = flow(
        "L([Level]):::Interface", "L@{type: Level}", THINK, "PROBLEM & L --> A --> RETURN", front="{types: {Level: [low, high]}}"
    )  # fmt: skip
    text = [call("gives.mmd", "G"), call("takes.mmd", "T"), "PROBLEM --> G -->|L| T", "PROBLEM --> T --> RETURN"]
    same, other = "{types: {Level: [low, high]}}", "{types: {Level: [low, higher]}}"
    assert check(flow(*text, front=same), gives=gives, takes=takes) == []
    for front in (other, ""):
        found = check(flow(*text, front=front), gives=gives, takes=takes)
        assert codes(found) == ["MW206"]
        assert "Level of takes.mmd" in found[0].message


MANY = " & ".join(f"N{number}" for number in range(500))


@pytest.mark.parametrize(
    ("called", "says"),
    [
        (None, "There is no file f.mmd"),
        ("sequenceDiagram\n    A->>B: hi\n", "not a workflow"),
        ("flowchart TD\n    A --> B\n", "not a workflow"),
        ("flowchart TD\n    A --> B\n" + f"    {MANY} --> {MANY}\n", "f.mmd has 250,001 edges, more than the 200,000"),
        (flow('A["Custm<br/>"]:::CustmOp', "PROBLEM --> A --> RETURN"), "has an error on line 4"),
    ],
)
def test_a_file_that_cannot_be_called_is_one_finding(called: str | None, says: str) -> None:
    found = check(CALLS) if called is None else check(CALLS, f=called)
    assert codes(found) == ["MW227"]
    assert says in found[0].message
    start, end = found[0].range
    assert CALLS.splitlines()[start.line][start.column : end.column].strip('"') == "./f.mmd"


def test_an_error_of_the_called_file_is_shown_at_its_place() -> None:
    broken = flow("A@{op: Custm}", "PROBLEM --> A --> RETURN")
    (found,) = check(CALLS, f=broken)
    (related,) = found.related
    assert related.file == "f.mmd"
    (own,) = check(broken, path="f.mmd")
    assert (related.range, related.message) == (own.range, own.message)


def test_an_error_is_seen_through_several_files() -> None:
    broken = flow("A@{op: Custm}", "PROBLEM --> A --> RETURN")
    between = flow(call("../deep/broken.mmd"), "PROBLEM --> C --> RETURN")
    found = check(CALLS.replace("./f", "sub/f"), sub__f=between, deep__broken=broken)
    assert codes(found) == ["MW227"]
    assert found[0].related[0].file == "sub/f.mmd"


def test_a_call_needs_a_file() -> None:
    for node in ("C@{op: Call}", 'C["Call<br/>"]:::CallOp', "C@{op: Call, workflow: 3}"):
        assert codes(check(flow(node, "PROBLEM --> C --> RETURN"))) == ["MW227"]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_call_that_always_comes_back_is_endless(count: int) -> None:
    names = [f"f{number}" for number in range(count)]
    files = {
        name: flow(call(f"./{following}.mmd"), "PROBLEM --> C --> RETURN", TYPED)
        for name, following in zip(names, [*names[1:], names[0]], strict=True)
    }
    for name, text in files.items():
        found = check(text, path=f"{name}.mmd", **files)
        assert codes(found) == ["MW226"]
        assert f"{name}.mmd, the file that it is in" in found[0].message


ENDS = ('R["Review<br/>"]:::ReviewOp', "D{good?}:::DecisionOp", THINK, "PROBLEM --> A -->|solution| R",
        "PROBLEM -->|problem| R", "R -->|result:when| D", "A -->|value| D", "D -->|yes| RETURN", "D -->|no| C",
        "PROBLEM --> C --> RETURN")  # fmt: skip


def test_a_decision_ends_it() -> None:
    files = {"f": flow(call("g.mmd"), *ENDS, TYPED), "g": flow(call("h.mmd"), "PROBLEM --> C --> RETURN", TYPED)}
    files["h"] = flow(call("f.mmd"), "PROBLEM --> C --> RETURN", TYPED)
    for name, text in files.items():
        assert check(text, path=f"{name}.mmd", **files) == []
    files["g"] = files["g"].replace(TYPED, "")
    found = check(files["f"], path="f.mmd", **files)
    assert codes(found) == ["MW227"]
    assert "its output RETURN must say its type" in found[0].message


def test_errors_of_a_file_that_calls_itself_are_said_once() -> None:
    text = flow(call("./main.mmd"), *ENDS, TYPED)
    assert check(text) == []
    broken = text.replace("|solution|", "|soluton|")
    assert codes(check(broken)) == ["MW201"]
    # Seen from another file they are those of a file that can't be called.
    assert codes(check(CALLS, f=broken.replace("main.mmd", "f.mmd"))) == ["MW227"]


def test_a_caller_of_an_endless_file_is_told_so() -> None:
    endless = flow(call("f.mmd"), "PROBLEM --> C --> RETURN", TYPED)
    found = check(CALLS, f=endless)
    assert codes(found) == ["MW227"]
    assert "MW226" in found[0].message


@pytest.mark.slow
def test_a_long_chain_of_files_is_read() -> None:
    files = {f"f{n}": flow(call(f"f{n + 1}.mmd"), "PROBLEM --> C --> RETURN") for n in range(150)}
    files["f150"] = SIMPLE
    assert check(files["f0"], path="f0.mmd", **files) == []
    files |= {f"f{n}": flow(call(f"f{n + 1}.mmd"), "PROBLEM --> C --> RETURN") for n in range(150, 300)}
    files["f300"] = SIMPLE
    found = check(files["f0"], path="f0.mmd", **files)
    assert codes(found) == ["MW227"]


def test_a_changed_file_is_noticed_at_the_next_analysis() -> None:
    files = {"f.mmd": SIMPLE, "main.mmd": CALLS}
    analyser = Analyser(CALLS, path="main.mmd", provider=GivenFiles(files))
    assert analyser.analysis().errors == []
    files["f.mmd"] = SIMPLE.replace("Custom", "Custm")
    assert codes(analyser.analysis().errors) == ["MW227"]
    files["f.mmd"] = SIMPLE
    assert analyser.analysis().errors == []
    del files["f.mmd"]
    assert codes(analyser.analysis().errors) == ["MW227"]


@given(st.lists(st.sampled_from(["f", "g", "h", "broken"]), min_size=1, max_size=6), st.data())
def test_warm_is_cold(paths: list[str], data: st.DataObject) -> None:
    """Whatever is typed in the caller and changed in the files, the analysis is that of the texts as they are."""
    variants = {
        "f.mmd": [SIMPLE, flow(call("g.mmd"), "PROBLEM --> C --> RETURN"), flow(call("f.mmd"), *ENDS, TYPED)],
        "g.mmd": [SIMPLE, flow(call("main.mmd"), *ENDS, TYPED), flow(call("h.mmd"), "PROBLEM --> C --> RETURN")],
        "h.mmd": [SIMPLE, "flowchart TD\n    A --> B\n", flow(call("g.mmd"), *ENDS)],
    }
    files = {name: several[0] for name, several in variants.items()}
    text = CALLS
    files["main.mmd"] = text
    analyser = Analyser(text, path="main.mmd", provider=GivenFiles(files))
    analyser.analysis()
    for path in paths:
        name = data.draw(st.sampled_from(sorted(variants)))
        files[name] = data.draw(st.sampled_from(variants[name]))
        lines = text.splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if "op: Call" in line)
        new = f"    {call(f'{path}.mmd')}\n"
        edit = TextEdit(Range(Position(place, 0), Position(place, len(lines[place]))), new)
        text = "".join([*lines[:place], new, *lines[place + 1 :]])
        files["main.mmd"] = text
        analyser.edit(edit)
        cold = analyse(text, path="main.mmd", provider=GivenFiles(dict(files)))
        assert analyser.analysis().diagnostics == cold.diagnostics


def test_a_file_behind_the_called_one_that_changed_is_noticed() -> None:
    between = flow(call("behind.mmd"), "PROBLEM --> C --> RETURN", front="{libraries: [own.yaml]}")
    files = {"main.mmd": CALLS, "f.mmd": between, "behind.mmd": SIMPLE, "own.yaml": "types: {Own: Text}"}

    def found() -> list[str]:
        return codes(analyse(CALLS, path="main.mmd", provider=GivenFiles(dict(files))).errors)

    assert found() == []
    files["behind.mmd"] = SIMPLE.replace("Custom", "Custm")
    assert found() == ["MW227"]
    files["behind.mmd"] = SIMPLE
    assert found() == []
    files["own.yaml"] = "types: 3"
    assert found() == ["MW227"]
