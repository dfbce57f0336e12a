"""Write what the code knows best: the pages of rules, settings, operators and patterns, the JSON Schemas of files, and the
forms of common lines.

python scripts/generate_docs.py            write what has changed
python scripts/generate_docs.py --check    say what is out of date, and fail if anything is
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.make_replays import scripts  # noqa: E402

from merrow_analysis.cases.schema import cases_schema  # noqa: E402
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, PLANNED_CALL, InputPort, OperatorSpec  # noqa: E402
from merrow_analysis.definitions.schema import schema  # noqa: E402
from merrow_analysis.rules.configuration import settings_schema, settings_table  # noqa: E402
from merrow_analysis.rules.registry import all_rules  # noqa: E402
from merrow_analysis.syntax.forms import form_of  # noqa: E402
from merrow_analysis.syntax.parser import plan_of  # noqa: E402
from merrow_server.templates import templates  # noqa: E402

GROUPS = {
    "0": "Syntax",
    "1": "The graph",
    "2": "Types and ports",
    "3": "Prompts, parameters and front matter",
    "4": "Style and performance",
    "5": "Resources and configuration",
}
NOTICE = "<!-- Written by scripts/generate_docs.py; change the code and run `make docs`. -->\n\n"

ABOUT_PATTERNS = """\
Each is a file in [examples/patterns](../examples/patterns). `merrow new --list` lists them, and
`merrow new flow.mmd --template debate` writes a file that starts from one.

Each has a recording that you can replay in the repository's folder without a model, a key or a sandbox. Its answers were written
by hand, not by a model, but its programs and tests were really run.

Where people are asked, the recording has their answers, too. Without `--replay` the run waits for you ([ask people](people.md)).

Where tools are used, the recording has what they gave, which was written by hand, too. To run these with servers of your own,
[add and pin them](tools.md), and write the names of their tools.

Where [documents](stores.md) are looked up, [handbook.jsonl](../examples/patterns/handbook.jsonl) and
[solved_questions.jsonl](../examples/patterns/solved_questions.jsonl) are examples, in whose place you write your own.
"""


def rules() -> str:
    """All rules by group, each with a link to its page."""
    text = "# Rules\n\n" + NOTICE
    text += "`merrow explain CODE` shows a rule's page. *Fix* says whether `--fix` or an editor can fix it;\n"
    text += "if not, the page says why.\n"
    for digit, subject in GROUPS.items():
        group = [rule for rule in all_rules() if rule.code[2] == digit]
        if not group:
            continue
        text += (
            f"\n## MW{digit}xx: {subject}\n\n| code | name | severity | fix | what it says |\n|---|---|---|---|---|\n"
        )
        for rule in group:
            page = f"../analysis/merrow_analysis/rules/pages/{rule.code}.md"
            fix = "" if rule.fix == "none" else rule.fix
            summary = rule.summary.replace("|", "\\|")
            text += f"| [{rule.code}]({page}) | {rule.name} | {rule.severity.value} | {fix} | {summary} |\n"
    return text


def settings() -> str:
    """The table of settings."""
    text = "# Settings\n\n" + NOTICE
    text += "Settings are in `merrow.toml`, or below `[tool.merrow]` in `pyproject.toml`. Merrow uses the nearest\n"
    text += "such file in a workflow's folder or above it. `--config FILE` names another file, `--no-config` ignores them all.\n"
    text += "[schemas/](../schemas) has the JSON Schema.\n\n"
    return text + settings_table()


def operators() -> str:
    """The built-in operators with their ports."""
    text = "# Operators\n\n" + NOTICE
    text += (
        "These operators are built in. `*` marks a required input, and unlabelled edges go to the input in bold.\n\n"
    )
    text += "| operator | class | inputs | outputs |\n|---|---|---|---|\n"
    for spec in BUILT_IN_TABLE.specs.values():
        inputs = ", ".join(_input(port, spec) for port in spec.inputs)
        outputs = ", ".join(f"{port.name}: {port.type}" for port in spec.outputs)
        if spec.is_call:
            planned = [", ".join(_input(port, spec) for port in PLANNED_CALL.inputs)]
            planned.append(", ".join(f"{port.name}: {port.type}" for port in PLANNED_CALL.outputs))
            inputs, outputs = (f"those of the called file; for a planned Call {ports}" for ports in planned)
        if spec.is_tool:
            inputs, outputs = "the parameters of its tool", "the fields of what its tool gives, or result: Text"
        text += f"| {spec.name} | `{spec.class_spelling or spec.name + 'Op'}` | {inputs} | {outputs} |\n"
    return text


def gallery() -> str:
    """The known patterns with their files and the commands that replay them."""
    text = "# Patterns of workflows\n\n" + NOTICE + ABOUT_PATTERNS
    replays = {script.workflow: script for script in scripts()}
    for template in templates().values():
        replay = replays[f"patterns/{template.name}.mmd"]
        text += f"\n## {template.name}\n\n**{template.title}.** {' '.join(template.sentences)}"
        text += f" ({template.source})\n\n" if template.source else "\n\n"
        # A file that one calls is beside it, and not beside this page.
        shown = _without_comments(template.text).replace("(workflow: ./", "(workflow: ../examples/patterns/")
        text += f"```mermaid\n{shown}```\n\n"
        text += f"The recording: {replay.shows}\n\n```sh\n{shlex.join(replay.command)}\n```\n"
    return text


def _without_comments(text: str) -> str:
    """A workflow file without the comments above its header, which are said beside it."""
    front, body = text.split("\n---\n", 1)
    return f"{front}\n---\n" + "".join(line for line in body.splitlines(keepends=True) if not line.startswith("%%"))


def _input(port: InputPort, spec: OperatorSpec) -> str:
    name = f"**{port.name}**" if port.name == spec.bulk else port.name
    if not port.many:
        number = ""
    elif not port.required:
        number = " (any number)"
    else:
        number = " (two or more)" if spec.sources == 2 and port == spec.through else " (one or more)"
    return f"{name}{'*' if port.required else ''}: {port.type}{number}"


def as_json(value: dict[str, Any]) -> str:
    """A JSON Schema as the text of its file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def common_forms() -> str:
    """The forms of the lines of the examples, and of nodes, arrows and classes as most people write them, each with its plan."""
    lines = {line for path in ROOT.glob("examples/**/*.mmd") for line in path.read_text("utf-8").splitlines()}
    brackets = ("[]", "()", "{}", "([])", "[()]", "(())", "[[]]", "{{}}", "[//]")
    sides = [(pair[: len(pair) // 2], pair[len(pair) // 2 :]) for pair in brackets]
    nodes = [f"A{left}{label}{right}" for left, right in sides for label in ("one", '"one"')]
    for arrow in ("-->", "---", "-.->", "==>", "<-->", "-.-", "~~~"):
        links = [arrow, f"{arrow}|one|", f'{arrow}|"one"|']
        lines |= {
            f"{source} {link} {target}" for link in links for source in ("A", "A & B") for target in ("B", "B & C")
        }
        # Of plain drawings most lines have their boxes at both ends.
        drawn = (nodes[0], nodes[1], nodes[4], nodes[6]) if arrow == "-->" else (nodes[0], nodes[1])
        lines |= {f"{source} {link} {target}" for link in links for source in ("A", *drawn) for target in nodes[:8]}
    colours = ("#aaa", "#111", "#1aa")
    for looks in ("", ",stroke-width:1px", ",stroke-width:1px,stroke-dasharray:1 1", ",color:#111"):
        lines |= {
            f"classDef A fill:{fill},stroke:{stroke}{looks}{end}"
            for fill in colours
            for stroke in colours
            for end in ("", ";")
        }
    lines |= {
        *nodes,
        *(f"{node}:::b" for node in nodes),
        "A",
        "A --> B --> C",
        "A-->B",
        "A --> B;",
        "A-->|one|B",
        "A --> |one|B",
    }
    lines |= {
        "subgraph A",
        "subgraph A[one]",
        'subgraph A ["one"]',
        "end",
        "class A b",
        "class A,B c",
        "style A fill:#a",
    }
    found = sorted({form[0] for form in map(form_of, lines) if form is not None})
    rows = [(form, plan) for form in found if (plan := plan_of(form)) is not None]
    return "".join("\t".join(json.dumps(half, separators=(",", ":")) for half in row) + "\n" for row in rows)


FILES: dict[str, Callable[[], str]] = {
    "docs/rules.md": rules,
    "docs/settings.md": settings,
    "docs/operators.md": operators,
    "docs/patterns-gallery.md": gallery,
    "schemas/front-matter.schema.json": lambda: as_json(schema("front-matter")),
    "schemas/cases.schema.json": lambda: as_json(cases_schema()),
    "schemas/library.schema.json": lambda: as_json(schema("library")),
    "schemas/merrow.schema.json": lambda: as_json(settings_schema()),
    "analysis/merrow_analysis/syntax/forms.tsv": common_forms,
}
"""What is written, by its path in the repository."""


def stale() -> list[str]:
    """The paths of the files that are not as the code would write them."""
    return [
        name
        for name, write in FILES.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text("utf-8") != write()
    ]


def main() -> int:
    """Write or check; the exit code."""
    changed = stale()
    if "--check" in sys.argv[1:]:
        for name in changed:
            sys.stderr.write(f"{name} is out of date; run: make docs\n")
        return int(bool(changed))
    for name in changed:
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(FILES[name](), "utf-8")
        sys.stdout.write(f"{name} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
