"""Extracted operators: what they take and give, and how they are declared in a library or a front matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from merrow_analysis.definitions.types import TEXT, Type
from merrow_analysis.edits.yaml_write import quoted
from merrow_optimizer.extraction.kinds import INPUTS, OperatorSignature, port_of, signature
from merrow_optimizer.extraction.steps import CaseStep, operator_name
from merrow_optimizer.planning.plan_workflow import front_key, front_text


@dataclass(frozen=True, slots=True)
class ExtractedOperator:
    """An operator with a prompt. ``many`` are the kinds of which it takes several values; ``note`` is for readers of the
    library.
    """

    name: str
    signature: OperatorSignature
    prompt: str
    many: frozenset[Type] = frozenset()
    note: str = ""

    def port(self, kind: Type) -> Type | None:
        """The kind of the input that takes a value of this kind: its own, else any text; None where there is none."""
        for port_kind in (kind, TEXT):
            if port_kind in self.signature.kinds and (
                port_kind == kind or (kind not in ("Bool", "Number", "Json") and "[" not in kind)
            ):
                return port_kind
        return None

    def declared(self, indent: str) -> Iterator[str]:
        """Its lines below ``operators:``, each indented by ``indent``."""
        yield f"{indent}{front_key(self.name)}:"
        inputs = ", ".join(
            f"{port_of(port.kind)}{'?' * port.is_optional}: "
            + (f"{{type: {_written(port.kind)}, many: true}}" if port.kind in self.many else _written(port.kind))
            for port in self.signature.inputs
        )
        yield f"{indent}  inputs: {{{inputs}}}"
        yield f"{indent}  outputs: {{{port_of(self.signature.output)}: {_written(self.signature.output)}}}"
        yield f"{indent}  prompt: {front_text(self.prompt, indent + '    ')}"
        if self.note:
            yield f"{indent}  note: {quoted(self.note)}"


def _written(kind: Type) -> str:
    """A kind between YAML's braces."""
    return quoted(kind) if "[" in kind else kind


def own_operator(step: CaseStep, kinds: Mapping[str, Type]) -> ExtractedOperator:
    """The operator that a step is before anything is put together; ``kinds`` are those of all steps of its case."""
    taken = taken_by(step, kinds)
    many = frozenset(kind for kind in taken if taken.count(kind) > 1)
    return ExtractedOperator(operator_name(step.name), signature(taken, kinds[step.name]), step.prompt, many)


def taken_by(step: CaseStep, kinds: Mapping[str, Type]) -> list[Type]:
    """The kinds of what a step reads, one for each source."""
    return [INPUTS.get(name) or kinds[name] for name in step.reads]


def library_text(operators: Iterable[ExtractedOperator]) -> str:
    """The operator library, as a YAML file."""
    lines = [line for operator in operators for line in operator.declared("  ")]
    return "".join(f"{line}\n" for line in ("operators:" if lines else "operators: {}", *lines))
