"""The front matter of a child of two workflows: that of one parent, with what it needs of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.settings import WorkflowSettings, read_settings
from merrow_analysis.edits.front_matter import exchange_prompts
from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.edits.yaml_write import quoted, word
from merrow_analysis.syntax.parser import parse_diagram

_BODY = "flowchart TD\n"
_STEP = "  "


def merged_front_matter(
    host: Analysis,
    prompts: Mapping[str, str],
    unused: Iterable[str],
    types: Mapping[str, object],
    operators: Mapping[str, object],
    agents: Mapping[str, object],
    validators: Mapping[str, object],
) -> str:
    """The host's front matter, fences and all, with more prompts, types, operators, agents and validators, no unused prompts.

    A prompt file that it names gives way to the prompts themselves, libraries to what is used of them. Empty where there
    is none and none is needed. Raises `CannotWriteError` where the front matter is written
    in a way that leaves no place for something.
    """
    front = host.diagram.front_matter
    text = _without_libraries("" if front is None else front[1].text)
    sections = {"types": types, "operators": operators, "agents": agents, "validators": validators}
    for section, entries in sections.items():
        for name, body in entries.items():
            text = _with_entry(text, section, name, body)
    if prompts:
        text = _without_prompt_file(text)
    return exchange_prompts(text, prompts.items(), unused)


def _settings(text: str) -> WorkflowSettings:
    front = parse_diagram(text + _BODY).front_matter
    return read_settings("") if front is None else read_settings(front[0].body, front[0].indent)


def _without_prompt_file(text: str) -> str:
    """Without the path of a prompt file, so that prompts can take its place."""
    front = parse_diagram(text + _BODY).front_matter
    if front is None:
        return text
    settings = read_settings(front[0].body, front[0].indent)
    places = settings.document.places("workflow", "prompts")
    if settings.prompt_file is None or places is None:
        return text
    shift = front[0].body_span[0]
    start, end = shift + places[1][0], shift + places[1][1]
    return text[:start].rstrip(" ") + text[end:]


def _without_libraries(text: str) -> str:
    """Without the entry that names operator libraries."""
    front = parse_diagram(text + _BODY).front_matter
    if front is None:
        return text
    settings = read_settings(front[0].body, front[0].indent)
    places = settings.document.places("workflow", "libraries")
    if places is None:
        return text
    shift = front[0].body_span[0]
    start, end = shift + places[0][0], shift + max(places[0][1], places[1][1])
    line = text.rfind("\n", 0, start) + 1
    following = text.find("\n", max(start, end - 1))
    made = text[:line] + text[following + 1 :]
    after = _settings(made)
    if text[line:start].strip() or after.libraries or after.document.error is not None:
        raise CannotWriteError("The libraries can't be removed from the front matter.")
    if (after.operators, after.types, after.prompts) != (settings.operators, settings.types, settings.prompts):
        raise CannotWriteError("The libraries can't be removed from the front matter.")
    return made


def _with_entry(text: str, section: str, name: str, body: object) -> str:
    """With a type or an operator as the first entry of its section."""
    before = _settings(text)
    old = _section(before, section)
    entry = f"{name}: {_flow(body)}"
    if not text:
        made = f"---\nworkflow:\n{_STEP}{section}:\n{_STEP * 2}{entry}\n---\n"
    else:
        made = _inserted(text, section, entry, has_section=bool(old))
    after = _settings(made)
    if after.document.error is not None or _section(after, section) != {**old, name: body}:
        raise CannotWriteError(f"{name} can't be written below `{section}:` of the front matter.")
    return made


def _section(settings: WorkflowSettings, name: str) -> dict[str, object]:
    """The entries of a section, as they are written."""
    block = settings.document.values.get("workflow")
    section = block.get(name) if isinstance(block, dict) else None
    return section if isinstance(section, dict) else {}


def _inserted(text: str, section: str, entry: str, *, has_section: bool) -> str:
    front = parse_diagram(text + _BODY).front_matter
    if front is None:
        raise CannotWriteError("The front matter can't be read.")
    matter = front[0]
    document = read_settings(matter.body, matter.indent).document
    block = document.values.get("workflow")
    path: tuple[str, ...] = ("workflow", section) if has_section else ("workflow",)
    shift = matter.body_span[0]
    if not isinstance(block, dict) or not block:
        if "workflow" in document.values:
            raise CannotWriteError("The `workflow:` block has no entries to write others beside.")
        line = f"{matter.indent}workflow:\n{matter.indent}{_STEP}{section}:\n{matter.indent}{_STEP * 2}{entry}\n"
        return text[:shift] + line + text[shift:]
    opened = document.places(*path)
    mapping = block[section] if has_section else block
    first = document.places(*path, str(next(iter(mapping)))) if isinstance(mapping, dict) else None
    if opened is None or first is None:
        raise CannotWriteError(f"There is no place for `{section}:` in the front matter.")
    at = shift + opened[1][0]
    if text[at : at + 1] == "{":
        inner = entry if has_section else f"{section}: {{{entry}}}"
        return f"{text[: at + 1]}{inner}, {text[at + 1 :]}"
    at = shift + first[0][0]
    start = text.rfind("\n", 0, at) + 1
    indent = text[start:at]
    lines = f"{indent}{entry}\n" if has_section else f"{indent}{section}:\n{indent}{_STEP}{entry}\n"
    return text[:start] + lines + text[start:]


def _flow(value: object) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(str(key))}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if value is None:
        return "null"
    written = word(value)
    return written if written is not None else quoted(str(value))
