"""The steps of a case as a model proposes them, read and checked; and the kinds that each of them takes and gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from merrow_analysis.definitions.operators import BUILT_IN_TABLE, OPERATOR_VARIANTS, InputPort, OperatorSpec
from merrow_analysis.definitions.types import BUILT_IN_TYPES, TEXT, Type, TypeExpressionError, innermost, is_variable
from merrow_optimizer.extraction.kinds import GIVEN, INPUTS
from merrow_optimizer.extraction.refused import AnswerRefused

MOST_STEPS = 12
"""Steps that a case may have."""
LONGEST_PROMPT = 4_000
"""Characters of an operator's prompt."""
LONGEST_NAME = 40
_LONGEST_DOES = 300
ALLOWED = (
    "AnswerGenerate",
    "CustomCodeGenerate",
    "Programmer",
    "ScEnsemble",
    "MdEnsemble",
    "Test",
    "Review",
    "Revise",
    "Format",
)
"""The built-in operators that a step may be."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
_RESERVED = frozenset(
    {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "none", "nan", "inf"}
    | {"end", "graph", "flowchart", "subgraph", "style", "class", "click", "default", "interface"}
    | {"constructor", "prototype", "proto"}
)
"""Names that YAML, Mermaid or a program that reads a library may take for something else."""


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One step: ``reads`` has names of steps or ids of inputs (`INPUTS`); ``gives`` is the kind that was declared. It is an
    operator of its own with a ``prompt``, or a ``built_in`` one.
    """

    name: str
    does: str
    reads: tuple[str, ...]
    gives: Type
    prompt: str
    built_in: str | None = None


Steps = tuple[CaseStep, ...]
"""The steps of one case, each after those that it reads; the last one gives the answer."""


def operator_name(wanted: str) -> str:
    """A name that an operator can have, like the one that is wanted: in words with capitals, of ASCII letters and digits."""
    words = [word for word in _NOT_IN_NAMES.split(wanted) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)[:LONGEST_NAME]
    if not name or not name[0].isalpha():
        name = f"Step{name}"
    taken = name.casefold() in BUILT_IN_TABLE.specs or name.casefold() in OPERATOR_VARIANTS
    return f"{name}Step" if taken or name.casefold() in _RESERVED else name


def words_of_name(name: str) -> int:
    """Of how many words a name consists."""
    return len(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name))


def read_prompt(value: object, whose: str) -> str:
    """A prompt that can be used. Raises `AnswerRefused`."""
    if not isinstance(value, str) or not value.strip():
        raise AnswerRefused([f"`prompt` of {whose} is missing; write what the model is to do."])
    text = value.strip()
    if len(text) > LONGEST_PROMPT:
        raise AnswerRefused([f"`prompt` of {whose} has {len(text):,} characters; write at most {LONGEST_PROMPT:,}."])
    return text


def read_name(value: object) -> str:
    """A name as it can be used. Raises `AnswerRefused`."""
    if not isinstance(value, str) or not value.strip() or len(value) > 4 * LONGEST_NAME:
        raise AnswerRefused([f"`name` must be a name of at most {LONGEST_NAME} letters."])
    return operator_name(value)


def read_steps(answer: Mapping[str, object], inputs: Iterable[str]) -> Steps:
    """The steps of an answer, in an order in which they can run; ``inputs`` are the ids of the case's inputs.

    Raises `AnswerRefused` with all that is wrong.
    """
    listed = answer.get("steps")
    if not isinstance(listed, list) or not listed:
        raise AnswerRefused(["`steps` must be a list with at least one step."])
    if len(listed) > MOST_STEPS:
        raise AnswerRefused([f"There are {len(listed):,} steps; divide the work into at most {MOST_STEPS}."])
    problems: list[str] = []
    names: dict[str, str] = {}
    spelled = {name.casefold(): name for name in inputs} | {"input": "PROBLEM", "inputs": "PROBLEM"}
    for number, entry in enumerate(listed, 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name.strip() or len(name) > 4 * LONGEST_NAME:
            problems.append(f"Step {number} needs a `name` of at most {LONGEST_NAME} letters.")
        elif name.casefold() in names or name.casefold() in spelled:
            problems.append(f"The name of step {number} is that of another step or input; each has a name of its own.")
        else:
            names[name.casefold()] = name
    if problems:
        raise AnswerRefused(problems)
    steps: dict[str, CaseStep] = {}
    for entry in listed:
        try:
            step = _step(entry, names, spelled)
            steps[step.name] = step
        except AnswerRefused as why:
            problems += why.sentences
    if problems:
        raise AnswerRefused(problems)
    return _in_order(steps)


def _step(entry: Mapping[str, object], names: Mapping[str, str], spelled: Mapping[str, str]) -> CaseStep:
    name = str(entry["name"])
    problems: list[str] = []
    listed = entry.get("reads")
    reads: list[str] = []
    for source in listed if isinstance(listed, list) else []:
        folded = source.casefold() if isinstance(source, str) else ""
        known = names.get(folded) or spelled.get(folded)
        if known is None or known == name:
            problems.append(
                f"Step {name} reads {str(source)[:LONGEST_NAME]!r}, which is neither another step nor an input."
            )
        elif known not in reads:
            reads.append(known)
    if not reads and not problems:
        problems.append(f"Step {name} reads nothing; name at least one step or input in `reads`.")
    built_in = entry.get("built_in") or None
    if built_in is not None and built_in not in ALLOWED:
        problems.append(f"Step {name} is not one of the built-in operators that a step may be: {', '.join(ALLOWED)}.")
    gives = TEXT
    try:
        gives = _kind(entry.get("gives"))
    except AnswerRefused as why:
        if built_in is None:
            problems += [f"Step {name}: {sentence}" for sentence in why.sentences]
    prompt = ""
    if built_in is None:
        try:
            prompt = read_prompt(entry.get("prompt"), f"step {name}")
        except AnswerRefused as why:
            problems += why.sentences
    if problems:
        raise AnswerRefused(problems)
    does = entry.get("does")
    return CaseStep(
        name,
        " ".join(does.split())[:_LONGEST_DOES] if isinstance(does, str) else "",
        tuple(reads),
        gives,
        prompt,
        None if built_in is None else str(built_in),
    )


def _kind(value: object) -> Type:
    known = ", ".join(GIVEN)
    try:
        kind = BUILT_IN_TYPES.parse(value) if isinstance(value, str) else ""
    except TypeExpressionError:
        kind = ""
    if innermost(kind) not in GIVEN:
        raise AnswerRefused([f"`gives` must be one of {known}, or a list of one such as list[Text]."])
    return kind


def _in_order(steps: Mapping[str, CaseStep]) -> Steps:
    """The steps by what they read, then as they were written. Raises `AnswerRefused` for cycles, and unless one of them alone
    is the last.
    """
    left, ordered = dict(steps), list[CaseStep]()
    while left:
        ready = next((step for step in left.values() if not any(name in left for name in step.reads)), None)
        if ready is None:
            raise AnswerRefused(
                [f"The steps {', '.join(sorted(left))} wait for each other; let none read what needs its result."]
            )
        ordered.append(left.pop(ready.name))
    read = {name for step in ordered for name in step.reads}
    last = [step for step in ordered if step.name not in read]
    if len(last) != 1:
        names = ", ".join(step.name for step in last)
        raise AnswerRefused([f"Nothing reads {names}; exactly one step gives the answer, and every other one is read."])
    return (*(step for step in ordered if step is not last[0]), last[0])


# What flows


def spec_of(step: CaseStep) -> OperatorSpec | None:
    """The signature of a built-in step."""
    return None if step.built_in is None else BUILT_IN_TABLE.specs[step.built_in.casefold()]


def kinds_of(steps: Steps, answer: Type) -> dict[str, Type]:
    """What each step gives: as it was declared, unless a built-in operator or the data says otherwise, and with a Text the kind
    that its only reader wants, where that is known.
    """
    kinds: dict[str, Type] = dict(INPUTS)
    for step in steps:
        kinds[step.name] = _given(step, kinds)
    last = steps[-1]
    if last.built_in is None:
        kinds[last.name] = answer
    for step in steps:
        readers = [reader for reader in steps if step.name in reader.reads]
        if kinds[step.name] == TEXT and step.built_in is None and len(readers) == 1:
            wanted = _wanted(readers[0], step.name, kinds)
            if wanted is not None:
                kinds[step.name] = wanted
    return {step.name: kinds[step.name] for step in steps}


def _given(step: CaseStep, kinds: Mapping[str, Type]) -> Type:
    spec = spec_of(step)
    if spec is None:
        return step.gives
    return _filled(output_port(step, spec)[1], [kinds[name] for name in step.reads])


def output_port(step: CaseStep, spec: OperatorSpec) -> tuple[str, Type]:
    """The output of a built-in step that is meant: that of the declared kind, else the default one."""
    port = next((output for output in spec.outputs if output.type == step.gives), spec.outputs[0])
    return port.name, port.type


def _filled(type_: Type, given: Sequence[Type]) -> Type:
    """A type with the variable in it replaced by what is common to the values that come in."""
    return BUILT_IN_TYPES.common(given) if is_variable(innermost(type_)) else type_


def _wanted(reader: CaseStep, name: str, kinds: Mapping[str, Type]) -> Type | None:
    """The kind of text that a built-in reader wants of a step; None where any will do."""
    spec = spec_of(reader)
    if spec is None:
        return None
    others = replace(reader, reads=tuple(read for read in reader.reads if read != name))
    fed = [port for _, port in ports_of(others, spec, kinds)]
    left = [port.item for port in spec.inputs if port.required and all(other is not port for other in fed)]
    if len(left) != 1 or left[0] == TEXT or left[0] not in GIVEN or not BUILT_IN_TYPES.fits(left[0], TEXT):
        return None
    return left[0]


def ports_of(step: CaseStep, spec: OperatorSpec, kinds: Mapping[str, Type]) -> list[tuple[str, InputPort]]:
    """Which port of a built-in step each of its sources feeds; inputs of the case that it needs and does not read are added."""
    fed: list[tuple[str, InputPort]] = []
    for source in step.reads:
        free = [port for port in spec.inputs if port.many or all(other is not port for _, other in fed)]
        fitting = [port for port in free if fits(kinds[source], port)]
        if source in INPUTS:
            fitting.sort(key=lambda port: port.name != source.lower())
        else:
            own = kinds[source]
            fitting.sort(key=lambda port, own=own: (port.name == "problem", port.item != own))  # type: ignore[misc]
        fed += [(source, fitting[0])] if fitting else []
    for port in spec.inputs:
        source = port.name.upper()
        is_wanted = port.required or source == "TESTS"
        if is_wanted and source in INPUTS and source in kinds and all(other is not port for _, other in fed):
            fed.append((source, port))
    return fed


def fits(kind: Type, port: InputPort) -> bool:
    """Whether a value of a kind may flow into a port."""
    if is_variable(innermost(port.type)):
        return True
    return BUILT_IN_TYPES.fits(kind, port.item) or BUILT_IN_TYPES.fits(kind, port.type)
