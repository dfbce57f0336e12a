"""Which class runs a node."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.agents.tool_agent import ToolAgent
from merrow_runtime.operators.answer_generate import AnswerGenerate
from merrow_runtime.operators.ask_decision import AskDecision
from merrow_runtime.operators.assemble import Assemble
from merrow_runtime.operators.base import NodeDefinition
from merrow_runtime.operators.call import Call
from merrow_runtime.operators.custom import Custom
from merrow_runtime.operators.ensembles.md_ensemble import MdEnsemble
from merrow_runtime.operators.ensembles.sc_ensemble import ScEnsemble
from merrow_runtime.operators.environment import Environment
from merrow_runtime.operators.format import Format
from merrow_runtime.operators.human import Human
from merrow_runtime.operators.pass_on import Pass
from merrow_runtime.operators.programs.custom_code_generate import CustomCodeGenerate
from merrow_runtime.operators.programs.programmer import Programmer
from merrow_runtime.operators.programs.test import TestOperator
from merrow_runtime.operators.questions import ModelOperator
from merrow_runtime.operators.remember import Remember
from merrow_runtime.operators.retrieve import BY, EMBEDDING, Retrieve, RetrieveByEmbedding
from merrow_runtime.operators.review import Review
from merrow_runtime.operators.revise import Revise
from merrow_runtime.operators.select_best import Select
from merrow_runtime.operators.simulated_person import PARAMETER, SimulatedPerson
from merrow_runtime.operators.tool import Tool
from merrow_runtime.operators.user import UserOperator

_CLASSES: tuple[type[ModelOperator], ...] = (
    Custom,
    AnswerGenerate,
    CustomCodeGenerate,
    Programmer,
    ScEnsemble,
    MdEnsemble,
    TestOperator,
    Review,
    Revise,
    Format,
    Assemble,
    Pass,
    Select,
    Call,
    Human,
    Tool,
    Environment,
    Retrieve,
    Remember,
    ToolAgent,
    AskDecision,
)

BUILT_IN: Mapping[str, ModelOperator] = {operator.name: operator() for operator in _CLASSES}
"""The operators of the language by name. A Decision that asks no model is the scheduler's to decide."""

_USER = UserOperator()
_SIMULATED = SimulatedPerson()
_BY_EMBEDDING = RetrieveByEmbedding()


def operator_for(definition: NodeDefinition) -> ModelOperator:
    """The operator that runs a node: its built-in one, or for a declared one the class that runs all of those.

    Raises `NodeFailure` for a name that is neither.
    """
    if definition.spec is not None:
        return _USER
    if definition.operator == SimulatedPerson.name and PARAMETER in definition.parameters:
        return _SIMULATED
    if definition.operator == Retrieve.name and definition.parameters.get(BY) == EMBEDDING:
        return _BY_EMBEDDING
    operator = BUILT_IN.get(definition.operator)
    if operator is None:
        raise NodeFailure.of(definition.id, f"there is no operator `{definition.operator}` that could run it.")
    return operator
