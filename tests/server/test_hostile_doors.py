"""Whatever text a file, a model or a settings file brings: the command ends on its own, in bounded memory, and says why.

Without bounds each of these takes minutes, gigabytes, or for good.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from tests.runtime.openai_server import Reply, serving
from tests.server.measured import measured

HEAD = "flowchart TD\n    PROBLEM([P]):::Interface\n    RETURN([R]):::Interface\n    classDef Interface fill:#eee\n"
TAIL = "    PROBLEM -->|input| A --> RETURN\n"
BACK_AND_FORTH = "^([A-Za-z]+ ?)+$"
LONG_NAME = "Maximilian Alexander Bartholomew Featherstone the 3rd"
STARS = "*a" * 300 + "*b"
MANY_SETS = "(?i)" + "[\\x00-\U0010ffff]" * 700
LONG_KEY = ".".join(["a"] * 100_000) + " = 1\n"


def decision(expression: str) -> str:
    return (
        f"{HEAD}    D{{{{Q}}}}\n    D@{{ if: {json.dumps(expression)} }}\n    A@{{ op: Custom, prompt: x }}\n"
        "    B@{ op: Custom, prompt: y }\n    PROBLEM -->|value| D\n    D -->|yes:input| A --> RETURN\n"
        "    D -->|no:input| B --> RETURN\n"
    ).replace("{{Q}}", '{"Q"}')


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (the name of PyYAML's)
        return True


_Plain.add_representer(str, lambda dumper, said: dumper.represent_scalar("tag:yaml.org,2002:str", said, style='"'))


def node(**keys: object) -> str:
    said = yaml.dump({"op": "Custom", "prompt": "x", **keys}, Dumper=_Plain, sort_keys=False, width=10**6)
    return f"{HEAD}    A@{{\n{textwrap.indent(said, '      ')}    }}\n{TAIL}"


def front(said: object, text: str) -> str:
    return f"---\nworkflow: {json.dumps(said)}\n---\n{text}"


def judged(check: object) -> str:
    return front({"validators": {"v": check}}, node(validate="v", attempts=1))


def loop(key: str, expression: str) -> str:
    return (
        f'{HEAD}    subgraph L["Loop (max: 2, {key}: {expression})"]\n        A@{{ op: Custom, prompt: x }}\n'
        "        A -->|again:input| A\n    end\n    PROBLEM -->|input| A --> RETURN\n"
    )


def aliases(first: str, indent: str = "    ") -> str:
    lines = [f"{indent}T0: &a0 {first}"]
    lines += [f"{indent}T{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 13)]
    return "\n".join(lines) + "\n"


def doubling(**more: object) -> dict[str, object]:
    inner = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    return {"$defs": {**inner, "d40": {"type": "object"}}, "type": "object", "$ref": "#/$defs/d0", **more}


def shaped(schema: object) -> str:
    return node(returns="Json", format=schema)


def fenced(text: str) -> str:
    return f"```mermaid\n{text}```"


PLANNED = (
    f'{HEAD}    PLAN@{{ op: Custom, prompt: plan, returns: Workflow }}\n    WORK[["Call<br/>"]]\n'
    "    PROBLEM -->|input| PLAN\n    PROBLEM -->|problem| WORK\n    PLAN -->|workflow| WORK\n    WORK -->|result:| RETURN\n"
)
MANY_TIMES = {"t": {"text": "{input} " * 4_000, "template": True}}
TEMPLATE = front({"prompts": MANY_TIMES}, f"{HEAD}    A@{{ op: Custom, role: t }}\n{TAIL}")
NAMED = {"type": "object", "properties": {"name": {"type": "string", "pattern": BACK_AND_FORTH}}}
MANY = {"properties": {f"k{n}": True for n in range(5_000)}}
MANY_WORDS = {"type": "object", "properties": {"x": {"anyOf": [{"type": "integer"}] * 2_000}}}
LIBRARY = f"types:\n{aliases('[x]', '  ')}"
CASES = f"cases:\n- id: a\n  inputs:\n{aliases('[x]')}"
LONG_FILE = "a" * 240 + ".mmd"


@dataclass(frozen=True)
class Door:
    """Files of a folder, the command that meets them, what a model answers, and a word of what is said."""

    text: str
    said: str
    reply: str | None = None
    command: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    problem: Callable[[], str] = lambda: "a problem"


PLAIN = node()
PROMPT = '"prompt": "x"'
CHECKED: dict[str, Door] = {
    "power": Door(decision("3999999**3999999 > 1"), "MW214"),
    "quotient of powers": Door(decision("len(value) > 5**3999998 // 3**2600000"), "MW214"),
    "width of an f-string": Door(decision("f'{value:>999999999}' == value"), "MW214"),
    "width of a percent": Door(decision("'%99999999d' % 1 == value"), "MW214"),
    "width in bytes": Door(decision("b'%999999999d' % 1 == value"), "is not an expression"),
    "format that leads elsewhere": Door(shaped({"$ref": "#/enum/0", "enum": [{"required": 5}]}), "names"),
    "edges to itself": Door(HEAD + "    A" + " --> A" * 20_000 + "\n", "MW111"),
    "until": Door(loop("until", "A.response == 'x' * 9**9**9"), "16,384 bits"),
    "best": Door(loop("best", "9**9**9 * A.response"), "16,384 bits"),
    "validator's if": Door(judged({"if": "3999999**3999999 > len(output)"}), "MW333"),
    "validator's regex": Door(judged({"regex": MANY_SETS}), "MW333"),
    "aliases in front matter": Door(f"---\nworkflow:\n  other:\n{aliases('[x]')}---\n{PLAIN}", "too large"),
    "aliases in types": Door(f"---\nworkflow:\n  types:\n{aliases('{x: Text}')}---\n{PLAIN}", "too large"),
    "aliases in metadata": Door(PLAIN.replace(PROMPT, f'{PROMPT}\n      "note":\n{aliases("[x]", "        ")}'), "too large"),
    "aliases in a library": Door(front({"libraries": ["lib.yaml"]}, PLAIN), "too large", files={"lib.yaml": LIBRARY}),
    "patterns of settings": Door(PLAIN, "", files={"merrow.toml": f'[per-path]\n"{STARS}" = ["MW3"]\n', LONG_FILE: PLAIN}),
    "patterns of .gitignore": Door(PLAIN, "", files={".gitignore": f"{STARS}\n**/{STARS}\n", LONG_FILE: PLAIN}),
    "keys of settings": Door(PLAIN, "100 parts", files={"merrow.toml": LONG_KEY}),
    "keys of a project": Door(PLAIN, "", files={"pyproject.toml": "[tool.merrow]\n" + LONG_KEY}),
    "prompts in Python": Door(PLAIN.replace(PROMPT, '"role": "nothing"'), "", files={"prompt.py": "x;" * 500_000}),
}  # fmt: skip
RUN: dict[str, Door] = {
    "format with a pattern": Door(shaped(NAMED),
                                  "does not match", json.dumps({"name": LONG_NAME})),
    "format with allOf": Door(shaped(doubling()), "100,000 steps", "{}"),
    "format with many names": Door(shaped(doubling(**{"$defs": {**doubling()["$defs"], "d40": MANY}})), "100,000 steps", "{}"),
    "format with unevaluatedProperties": Door(shaped(doubling(unevaluatedProperties=False)), "100,000 steps", "{}"),
    "format with patternProperties": Door(shaped({"type": "object", "patternProperties": {BACK_AND_FORTH: False}}), "",
                                          json.dumps({"a" * 60 + "3": 1})),
    "format with uniqueItems": Door(shaped({"type": "object", "properties": {"l": {"uniqueItems": True}}}), "",
                                    json.dumps({"l": [{"n": n, "l": [n]} for n in range(6_000)]})),
    "format that leads back": Door(shaped({"$ref": "#"}), "leads back to itself", "{}"),
    "format in many words": Door(shaped(MANY_WORDS), "does not fit",
                                 json.dumps({"x": "x" * 300_000})),
    "validator's schema": Door(judged({"schema": doubling()}), "100,000 steps", "{}"),
    "planned if": Door(PLANNED, "16,384 bits", fenced(decision("3999999**3999999 > 1"))),
    "planned validator": Door(PLANNED, "16,384 bits", fenced(judged({"if": "3999999**3999999 > len(output)"}))),
    "planned aliases": Door(PLANNED, "too large", fenced(f"---\nworkflow:\n  types:\n{aliases('{x: Text}')}---\n{PLAIN}")),
    "expression on an input": Door(decision("len('x' * int(value)) > 3"), "too long", "x", problem=lambda: "9" * 4_000),
    "expression on a long input": Door(decision("value.replace('', value) == value"), "too long", "x",
                                       problem=lambda: "a" * 100_000),
    "template": Door(TEMPLATE, "10,000,000 characters", "x", problem=lambda: "a" * 100_000),
    "code": Door(node(returns="Code"), "", "x;" * 1_000_000),
    "deep JSON": Door(node(returns="Json", format="json"), "", '{"a":' * 100_000),
    "sums": Door(PLAIN, "", command=("run", "f.mmd", "--base-url", "offline"), problem=lambda: "(" * 100_000),
}  # fmt: skip
COLUMNS = ",".join(f"c{n}" for n in range(100_000))
SCORED = ("evaluate", "f.mmd", "--dataset", "d.csv", "--gold", "answer", "--metric", "contains", "--dry-run")
OTHER: dict[str, Door] = {
    "import": Door(PLAIN, "", command=("import", "x.py"), files={"x.py": "x;" * 2_000_000}),
    "cases": Door(
        PLAIN,
        "too large",
        command=("test", "f.mmd"),
        files={"f.cases.yaml": CASES},
    ),
    "columns of a data set": Door(
        PLAIN, "", command=SCORED, files={"d.csv": f"input,answer,{COLUMNS}\nx,1,{COLUMNS}\n"}
    ),
    "columns of one name": Door(PLAIN, "and 99,992 more", command=SCORED, files={"d.csv": f"{COLUMNS},{COLUMNS}\n"}),
    "deep data set": Door(
        PLAIN, "", command=(*SCORED[:3], "d.jsonl", *SCORED[4:]), files={"d.jsonl": '{"a":' * 100_000}
    ),
    "fmt": Door(f"---\nworkflow:\n  other:\n{aliases('[x]')}---\n{PLAIN}", "", command=("fmt", "--check", "f.mmd")),
}
DOORS = {**CHECKED, **RUN, **OTHER}


def command_of(door: Door, problem: Path, url: str) -> list[str]:
    if door.command and door.command[0] != "run":
        return list(door.command)
    if door.reply is None and not door.command:
        return ["check", "."]
    return [*(door.command or ("run", "f.mmd", "--base-url", url, "--model", "m")), "--input", f"PROBLEM=@{problem}"]


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_command_ends_whatever_it_is_given(tmp_path: Path, door: Door) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    problem = tmp_path / "problem.txt"
    problem.write_text(door.problem())
    for name, text in {"f.mmd": door.text, **door.files}.items():
        (folder / name).write_text(text)
    with serving(lambda _: Reply(door.reply or "x")) as server:
        env = {"XDG_STATE_HOME": str(tmp_path / "state"), "NO_COLOR": "1", "HOME": str(tmp_path)}
        done = measured(folder, *command_of(door, problem, server.base_url), env=env)
    assert "internal error" not in done.text.casefold()
    assert "Traceback" not in done.text
    assert door.said in done.text, (done.text[:300], done.text[-300:])
    assert done.cpu_s < 30  # some 1 s; a command that hangs never gets here
    assert done.memory_mb < 400
