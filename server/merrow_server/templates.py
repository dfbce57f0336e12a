"""The workflows that a new one can start from: the known patterns, as they are in ``examples/patterns``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_PACKED = Path(__file__).with_name("templates")
_CHECKOUT = Path(__file__).resolve().parents[2] / "examples" / "patterns"
_FRONT = re.compile(r"---\n(?P<front>.*?\n)---\n(?P<comments>(?:%%[^\n]*\n)*)", re.DOTALL)
_TITLE = re.compile(r"^title: *(.+)$", re.MULTILINE)
_TOOLS = re.compile(r"^  tools: \[(.+)\]$", re.MULTILINE)
_DOCUMENTS = re.compile(r"\{(?:file|folder): ([^,}]+)")
_PLAIN = re.compile(r"[\w.-]+")
_SERVERS = re.compile(r"\{server: ([^,}]+)\}")
_SOURCE = "Source: "
GROUPS = {
    "To begin with": ("chain_of_thought", "self_consistency", "self_refine", "routing", "triage", "map_reduce"),
    "Better answers": ("evaluator_optimizer", "debate", "tree_of_thoughts", "medprompt", "reflexion", "personas"),
    "Plans and divided work": ("plan_and_execute", "orchestrator_workers", "adapt"),
    "Documents and the web": ("answer_from_documents", "checked_answer", "web_answer"),
    "Programs": ("code_test_fix", "programs_vote_test"),
    "Tools": ("agent_with_tools", "plan_execute_with_tools", "react"),
    "People": ("triage_with_approval", "write_approve_send", "form_and_letter"),
    "Workflows of papers": (
        "aflow_gsm8k",
        "aflow_math",
        "aflow_humaneval",
        "aflow_mbpp",
        "aflow_hotpotqa",
        "aflow_drop",
        "task_graph",
        "lecture",
        "website",
        "a2flow_gsm8k",
        "a2flow_alfworld",
        "a2flow_textcraft",
        "react_textcraft",
    ),
}
"""The patterns by what they are for, in both what most people need first."""


@dataclass(frozen=True, slots=True)
class WorkflowTemplate:
    """A workflow to start from, of one of `GROUPS`. ``sentences`` say what it does and when it helps; ``source`` is whose idea it
    is. ``tools`` are those that it may use, of servers that a user has to set up; ``documents`` the files and folders that a user
    has to write; ``servers`` those of the environments that it acts in.
    """

    name: str
    group: str
    title: str
    sentences: tuple[str, ...]
    source: str
    text: str
    tools: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()

    def as_file(self, name: str) -> str:
        """The text in a file with this name: a workflow that calls itself calls that file."""
        # A name in a label is quoted where it could end the parameter.
        escaped = name.replace("'", "''").replace('"', "#quot;")
        said = f"./{name}" if _PLAIN.fullmatch(name) else f"'./{escaped}'"
        return self.text.replace(f"(workflow: ./{self.name}.mmd", f"(workflow: {said}")

    def listed(self) -> dict[str, str]:
        """What lists tell of it."""
        return {"name": self.name, "group": self.group, "title": self.title, "source": self.source}

    def needs(self) -> list[str]:
        """What a user has to add before it can run, in sentences."""
        from merrow_runtime.provenance import listed

        told = []
        if self.tools:
            server = self.tools[0].partition(".")[0]
            told.append(
                f"It uses {listed(self.tools)}. Pin the tools that it is to use: merrow tools add {server}, "
                f"merrow tools pull {server}"
            )
        if self.documents:
            told.append(f"It looks things up in {listed(self.documents)}, which you write.")
        if self.servers:
            told.append(
                f"It acts in an environment of {listed(self.servers)}, a server that you add: see merrow env --help."
            )
        return told


def templates() -> dict[str, WorkflowTemplate]:
    """All there are, by name, in the order of `GROUPS`. An installed Merrow has them packed beside this module, a checkout among
    its examples.
    """
    folder = _PACKED if _PACKED.is_dir() else _CHECKOUT
    return {name: _read(folder / f"{name}.mmd", group) for group, names in GROUPS.items() for name in names}


def _read(path: Path, group: str) -> WorkflowTemplate:
    """A file of ``examples/patterns``: its title, and below its front matter comments that explain it."""
    text = path.read_text("utf-8")
    match = _FRONT.match(text)
    title = _TITLE.search(match["front"]) if match is not None else None
    lines = [line.removeprefix("%%").strip() for line in match["comments"].splitlines()] if match is not None else []
    source = next((line.removeprefix(_SOURCE) for line in lines if line.startswith(_SOURCE)), "")
    sentences = tuple(line for line in lines if line and not line.startswith(_SOURCE))
    listed = _TOOLS.search(match["front"]) if match is not None else None
    tools = () if listed is None else tuple(name.strip() for name in listed[1].split(","))
    documents = () if match is None else tuple(_DOCUMENTS.findall(match["front"]))
    servers = () if match is None else tuple(_SERVERS.findall(match["front"]))
    title_text = "" if title is None else title[1].strip()
    return WorkflowTemplate(path.stem, group, title_text, sentences, source, text, tools, documents, servers)
