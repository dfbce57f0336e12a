"""ToolAgent: a model chooses which tools it uses, is told what they gave, and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from merrow_analysis.people.forms import ANSWER, Form, FormField, read_form
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.models.redaction import quoted as one_line
from merrow_runtime.operators.agents.offers import (
    ToolOffer,
    ToolOffers,
    UnusableCall,
    call_title,
    calls_title,
    most_steps,
)
from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.formats.answer_forms import AnswerForm, answer_form_of
from merrow_runtime.operators.human import shown_text
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion, default_port, output_shape
from merrow_runtime.operators.simulated_person import PARAMETER as SIMULATED
from merrow_runtime.operators.simulated_person import simulated_answer
from merrow_runtime.quoting import RULE, quoted
from merrow_runtime.records import record
from merrow_runtime.requests import (
    AskedCall,
    Conversation,
    Message,
    ModelReply,
    PersonQuestion,
    ToolCall,
    ToolResult,
)
from merrow_runtime.values import Outputs, Value, as_text, canonical

STEPS = "steps"
"""Its output that tells what it did."""
MOST_AT_ONCE = 32
"""Calls in one step that are made; those beyond it the model is told of."""
_LONGEST_TOLD = 4_000
"""Characters of a result in `STEPS`."""

INSTRUCTION = (
    "You can use tools, several in one step if they don't depend on each other. Use them as far as the task needs it; when you"
    f" know enough, answer without a call. What a tool gives comes between marks. {RULE}"
)
ANSWER_NOW = "Now give your answer."
NO_STEP_LEFT = (
    "You have used all of your steps, and can use no tool any more. Give your answer now, with what you know."
)


@record(frozen=True, slots=True)
class _Done:
    """What came of a call: what the model is told, and what `STEPS` has of it."""

    told: str
    shown: dict[str, Value]


class ToolAgent(ModelOperator):
    """Its steps are questions to its model. After each it makes the calls that the model asked for, at once where that may be."""

    name: ClassVar[str] = "ToolAgent"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (1, 2)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """Each step, and the answer where one has to be asked for. What the tools give is not known, so it is not in them."""
        offers, most, form = ToolOffers(task.node), most_steps(task.node), _form(task)
        first = _first(task)
        last = (*first, Message("user", _asking_for_answer(form, exhausted=True)))
        answered = PlannedQuestion("answer", last, form.schema, 0 if _is_text(task) else 1, 1)
        step = PlannedQuestion("step", first, None, 1, most, tools=offers.tools)
        model = task.node.parameters.get(SIMULATED)
        if model is None:
            return step, answered
        # It may ask so often, and a question is about as long as that of the agent itself.
        question = person_question(task, "", ())
        messages, _, schema = simulated_answer(question, read_form(question.schema))
        asked = PlannedQuestion("person", messages, schema, 0, most * MOST_AT_ONCE, judges=True, model=str(model))
        return step, asked, answered

    async def run(self, task: Task, tools: Tools) -> Outputs:
        offers, port = ToolOffers(task.node), default_port(task.node)
        talk = Conversation(list(_first(task)))
        steps: list[Value] = []
        exhausted = True
        for number in range(1, most_steps(task.node) + 1):
            step = f"step {number}"
            reply = await tools.converse(step, talk, _usable, offered=offers.tools)
            calls = tuple(replace(call, id=f"s{number:03}c{index:04}") for index, call in enumerate(reply.calls, 1))
            tools.step(step, "model", calls_title([call.name for call in calls]))
            if not calls:
                if _is_text(task):
                    return {port: reply.text.strip(), STEPS: steps}
                talk.messages.append(Message("assistant", reply.text))
                exhausted = False
                break
            if reply.text.strip():
                steps.append({"step": str(number), "text": _ends(reply.text.strip())})
            talk.messages.append(Message("assistant", reply.text, calls, own=reply.own))
            done = await self._done(task, tools, offers, number, calls)
            talk.messages += [Message("tool", one.told, answers=call.id) for call, one in zip(calls, done, strict=True)]
            steps += [one.shown for one in done]
        form = _form(task)
        talk.messages.append(Message("user", _asking_for_answer(form, exhausted=exhausted)))
        value = await tools.converse("answer", talk, lambda reply: form.read(reply.text), schema=form.schema)
        tools.step("answer", "model", "answers")
        return {port: value, STEPS: steps}

    async def _done(
        self, task: Task, tools: Tools, offers: ToolOffers, number: int, calls: Sequence[AskedCall]
    ) -> list[_Done]:
        """What came of the calls of one step."""
        meant = [offers.meant(call) for call in calls[:MOST_AT_ONCE]]
        more = f"It was not made: {MOST_AT_ONCE} calls are made in one step."
        meant += [UnusableCall(call.name, more) for call in calls[MOST_AT_ONCE:]]
        named = [f"{number}.{index}" for index in range(1, len(calls) + 1)]
        wanted = [_tool_call(one) for one in meant if not isinstance(one, UnusableCall)]
        asks_nobody = [call for call in wanted if call is not None]
        made = [partial(self._one, task, tools, *one) for one in zip(named, meant, strict=True)]
        return await tools.each(asks_nobody if len(asks_nobody) == len(wanted) else None, made)

    async def _one(
        self,
        task: Task,
        tools: Tools,
        named: str,
        meant: tuple[ToolOffer, dict[str, Any]] | UnusableCall,
    ) -> _Done:
        if isinstance(meant, UnusableCall):
            name = shown_text(meant.name)
            tools.step(f"step {named}", "tool", name, meant.told)
            return _Done(meant.told, {"step": named, "tool": name, "error": meant.told})
        offer, arguments = meant
        if offer.pin is None:
            return await self._person(task, tools, named, arguments)
        wanted = ToolCall(offer.name, offer.pin, arguments)
        result = await tools.use_asked(f"step {named}", wanted)
        text = _text(result)
        title = call_title(offer.name, arguments)
        tools.step(f"step {named}", "tool", title, (one_line(text) or "it failed") if result.failed else None)
        given = quoted({f"Result of {offer.tool.name}": text})
        told = f"The call failed.\n{given}" if result.failed else given
        shown: dict[str, Value] = {"step": named, "tool": offer.name, "arguments": arguments}
        return _Done(told, {**shown, "error" if result.failed else "result": _ends(text)})

    async def _person(self, task: Task, tools: Tools, named: str, arguments: dict[str, Any]) -> _Done:
        asked = shown_text(str(arguments["question"]))
        question = person_question(task, asked, [str(choice) for choice in arguments.get("choices", ())])
        shown: dict[str, Value] = {"step": named, "tool": "person", "arguments": arguments}
        model = task.node.parameters.get(SIMULATED)
        if tools.told is not None or model is not None:
            said = tools.told if tools.told is not None else await _simulated(tools, str(model), named, question)
            tools.step(f"step {named}", "person", asked)
            return _Done(quoted({"Answer of the person": said}), {**shown, "result": said})
        answer = await tools.person(f"step {named}", question)
        if answer.action != "accept":
            told = "The person declined to answer."
            tools.step(f"step {named}", "person", asked, told)
            return _Done(told, {**shown, "error": told})
        text = as_text(answer.content.get(ANSWER))
        tools.step(f"step {named}", "person", asked)
        return _Done(quoted({"Answer of the person": text}), {**shown, "result": text})


async def _simulated(tools: Tools, model: str, named: str, question: PersonQuestion) -> str:
    """What a model answers in the place of a person."""
    messages, read, schema = simulated_answer(question, read_form(question.schema))
    return as_text(await tools.ask(f"step {named}", messages, read, schema=schema, temperature=0.0, model=model))


def person_question(task: Task, asked: str, choices: Sequence[str]) -> PersonQuestion:
    """The question of an agent to a person."""
    words = tuple(dict.fromkeys(map(shown_text, choices)))
    kind = FormField(ANSWER, "word" if words else "text", "Your answer", words=words, labels=words)
    return PersonQuestion(
        asked, Form((kind,)).schema(), (("Who asks", f"The model of {task.node.id}, while it works"),)
    )


def _first(task: Task) -> tuple[Message, ...]:
    return compose((task.node.prompt, INSTRUCTION), input_sections(task.inputs), task.memory)


def _form(task: Task) -> AnswerForm:
    port = default_port(task.node)
    return answer_form_of(port, output_shape(task.node, port))


def _is_text(task: Task) -> bool:
    return output_shape(task.node, default_port(task.node)).is_text


def _asking_for_answer(form: AnswerForm, *, exhausted: bool) -> str:
    told = NO_STEP_LEFT if exhausted else ANSWER_NOW
    return told if form.instruction is None else f"{told}\n\n{form.instruction}"


def _usable(reply: ModelReply) -> ModelReply:
    """A reply with calls or with words. Raises `AnswerFailure`."""
    if not reply.calls and not reply.text.strip():
        raise AnswerFailure("The answer is empty.", advice="Your answer was empty. Use a tool, or answer the question.")
    return reply


def _tool_call(meant: tuple[ToolOffer, dict[str, Any]]) -> ToolCall | None:
    """The call of a tool; None where a person is asked."""
    offer, arguments = meant
    return None if offer.pin is None else ToolCall(offer.name, offer.pin, arguments)


def _text(result: ToolResult) -> str:
    if result.text.strip() or result.fields is None:
        return result.text
    return canonical(dict(result.fields))


def _ends(text: str) -> str:
    """The beginning and the end of a text that is long."""
    if len(text) <= _LONGEST_TOLD:
        return text
    half = _LONGEST_TOLD // 2
    return f"{text[:half]}\n... ({len(text) - _LONGEST_TOLD:,} more characters) ...\n{text[-half:]}"
