"""Fixes that give roles their prompts, and nodes something to tell their model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from merrow_analysis.definitions.prompts import words_of_role
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.front_matter import add_prompts
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.yaml_write import quoted, word
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.places.front_names import scalar_span
from merrow_analysis.places.template_places import TemplateText
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.reporting import fix
from merrow_analysis.text import Range, TextEdit

_MOST_ADDED = 200
"""Roles of a file for which one fix writes all prompts."""
_MOST_OFFERED = 3
"""Prompts that are offered to a node without one."""


def prompt_for_role(context: GraphContext, node: TypedNode, role: str) -> Iterator[Fix]:
    """Add the prompt that a role names, to the front matter or to the node itself."""
    edit = add_prompts(context.front, [(role, words_of_role(role))])
    if edit is not None:
        yield fix(f"Add prompt {role} to the front matter", [edit], safe=False)
    yield from _own_prompt(node, words_of_role(role))


def prompts_for_all(context: GraphContext, named: Iterable[str]) -> Iterator[Fix]:
    """Add a prompt for each of the roles that nodes name: the sentence that the role runs on without one.

    Not a safe fix, since the front matter takes precedence over a file of prompts that is not there yet or not seen here.
    """
    roles: dict[str, str] = {}
    for role in named:
        roles.setdefault(role.casefold(), role)
    if not roles or len(roles) > _MOST_ADDED:
        return
    what = f"a prompt for role {next(iter(roles.values()))}" if len(roles) == 1 else "a prompt for each role"
    title = f"Add {what} to the front matter"
    if context.titles and context.front is None:
        yield fix(title, (), safe=False)
        return
    edit = add_prompts(context.front, [(role, words_of_role(role)) for role in roles.values()])
    if edit is not None:
        yield fix(title, [edit], safe=False)


def something_to_tell(context: GraphContext, node: TypedNode, used: Iterable[str]) -> Iterator[Fix]:
    """Give a node without role and prompt one of the prompts that no node uses, or a text of its own."""
    key = node.spec.instruction_key if node.spec is not None else None
    taken = set(used)
    idle = (prompt.name for name, prompt in context.book.prompts.items() if name not in taken)
    for name in islice(idle, _MOST_OFFERED):
        written = word(name)
        edits = None if written is None else rewrite(node, Moved(metadata={key or "role": written}))
        if edits is not None:
            yield fix(f"Write {key or 'role'}: {name}", edits, safe=False)
    yield from _own_prompt(node, f"Say here what {node.id} is to do.")


def _own_prompt(node: TypedNode, text: str) -> Iterator[Fix]:
    edits = rewrite(node, Moved(metadata={"prompt": quoted(text, in_statement=True)}))
    if edits is not None:
        yield fix(f"Write a prompt at {node.id}", edits, safe=False)


def another_variable(place: Range, written: str, near: str | None, doubled: str) -> Iterator[Fix]:
    """Write the port that was meant in place of a variable that is none, or braces, or leave it out."""
    if near is not None:
        yield fix(f"Write {{{near}}}", [TextEdit(place, f"{{{near}}}")], safe=False)
    yield fix(f"Write {doubled}", [TextEdit(place, doubled)], safe=False)
    yield fix(f"Remove {written}", [TextEdit(place, "")], safe=False)


def variable_at_end(template: TemplateText, port: str) -> Iterator[Fix]:
    """Add a variable at the end of a template."""
    block = template.block
    if block is None or not template.written():
        return
    start, end = template.span
    written = block.text[start:end]
    start, end = scalar_span(block.text, (start, start + len(written.rstrip())))
    text = f" {{{port}}}"
    if written[:1] in "|>":
        last = block.text[block.text.rfind("\n", 0, end) + 1 : end]
        text = f"\n{last[: len(last) - len(last.lstrip())]}{{{port}}}"
    at = block.position(end)
    yield fix(f"Add {{{port}}} at the end of the prompt", [TextEdit(Range(at, at), text)], safe=False)
