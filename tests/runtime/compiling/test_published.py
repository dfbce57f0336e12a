"""Published workflow classes (AFlow's, MermaidFlow's) become workflows; what is not understood is refused by its line."""

from __future__ import annotations

import pytest

from merrow_runtime import check_workflow
from merrow_runtime.compiling.program_reader import NotReadError
from merrow_runtime.compiling.published import read_published

PUBLISHED = '''import workspace.operator as operator
import workspace.prompt as prompt_custom

SOLVE_PROMPT = "Solve it step by step."

class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)
        self.sc_ensemble = operator.ScEnsemble(self.llm)
        self.review = operator.Review(self.llm)

    async def __call__(self, problem: str):
        """The workflow."""
        solutions = []
        for _ in range(3):
            solution = await self.custom(input=problem, instruction=prompt_custom.SOLVE_PROMPT)
            solutions.append(solution['response'])
        best = await self.sc_ensemble(solutions=solutions, problem=problem)
        review = await self.review(problem=problem, solution=best['response'])
        if review['review_result']:
            return best['response'], self.llm.get_usage_summary()["total_cost"]
        better = await self.custom(input=problem + best['response'] + review['feedback'], instruction="Better.")
        return better['response'], self.llm.get_usage_summary()["total_cost"]
'''


def test_a_published_class_becomes_a_workflow() -> None:
    text, notes = read_published(PUBLISHED)
    graph = check_workflow(text).graph
    assert notes == []
    assert {node.id: node.operator for node in graph.nodes} == {
        "PROBLEM": "Interface", "SOLUTION": "Custom", "BEST": "ScEnsemble", "REVIEW": "Review", "CHECK": "Decision",
        "BETTER": "Custom", "RETURN": "Interface",
    }  # fmt: skip
    assert graph.by_id["SOLUTION"].resolution.parameters["samples"].value == 3
    edges = {(edge.source.id, edge.target.id, edge.port, edge.case_label) for edge in graph.edges}
    assert {
        ("SOLUTION", "BEST", "solutions", None),
        ("REVIEW", "CHECK", "when", None),
        ("BEST", "CHECK", "value", None),
        ("CHECK", "RETURN", "result", "yes"),
        ("CHECK", "BETTER", None, "no"),
        ("REVIEW", "BETTER", "input", None),
        ("BETTER", "RETURN", "result", None),
    } <= edges


JOINED = "problem + best['response'] + review['feedback']"
ALONE = "a loop is understood as `for _ in range(3)` alone."
AWAITED = "only operators of the class are awaited."
RESULT = "an `if` is understood on the `result` of Test or Review alone."
NO_VALUE = "`{}` is not understood as a value of a workflow."
REFUSED = (
    "len(problem)", "str()", "self.str(problem)", "problem - problem", "problem['x']", "best['response']['x']", "best[0]",
    "best.response", "not problem",
)  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "sources", "has_text"),
    [
        ("problem", ["PROBLEM"], False),
        ("str(problem)", ["PROBLEM"], False),
        ("str(best['response'])", ["BEST"], False),
        ("best + problem", ["BEST", "PROBLEM"], False),
        ("problem + best['response'] + problem", ["PROBLEM", "BEST"], False),
        ("problem + '\\n' + best['response']", ["PROBLEM", "BEST"], False),
        ("problem + ' and ' + best['response']", ["PROBLEM", "BEST"], True),
        ("f\"{problem} {best['response']}\"", ["PROBLEM", "BEST"], False),
        ("f\"Of {problem}: {str(best['response'])}\"", ["PROBLEM", "BEST"], True),
        ("[problem, review['feedback']]", ["PROBLEM", "REVIEW"], False),
        ("(review['feedback'], problem)", ["REVIEW", "PROBLEM"], False),
        ("solutions", ["SOLUTION"], False),
        ("problem + 3", ["PROBLEM"], False),
        ("best + best['response']", ["BEST"], False),
    ],
)
def test_what_an_input_is_joined_of_becomes_edges(expression: str, sources: list[str], has_text: bool) -> None:
    text, notes = read_published(PUBLISHED.replace(JOINED, expression))
    edges = check_workflow(text).graph.by_id["BETTER"].incoming
    assert [edge.source.id for edge in edges if edge.port == "input"] == sources
    assert notes == (["Line 23: the text between joined results is left out."] if has_text else [])


@pytest.mark.parametrize("expression", REFUSED)
def test_what_an_input_can_not_be_joined_of_is_refused_by_its_line(expression: str) -> None:
    with pytest.raises(NotReadError) as refused:
        read_published(PUBLISHED.replace(JOINED, expression))
    what = "an output of a step" if expression.endswith("]") else "understood as a value of a workflow"
    assert str(refused.value) == f"Line 23: `{expression}` is not {what}."


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("range(3)", "range(count)", 16, ALONE),
        ("range(3)", "range(1, 3)", 16, ALONE),
        ("range(3)", "range('3')", 16, ALONE),
        ("range(3)", "ranged(3)", 16, ALONE),
        ("range(3)", "self.range(3)", 16, ALONE),
        ("range(3)", "solutions", 16, ALONE),
        (
            "self.custom(input=problem, instruction=prompt_custom.SOLVE_PROMPT)",
            "self.own(problem)",
            17,
            "`self.own` is not an operator that Merrow knows.",
        ),
        ("await self.custom(input=problem", "await other.custom(input=problem", 17, AWAITED),
        ("await self.custom(input=problem", "await self.a.custom(input=problem", 17, AWAITED),
        ("await self.custom(input=problem", "await custom(input=problem", 17, AWAITED),
        ("await self.sc_ensemble(solutions=solutions, problem=problem)", "await self.x", 19, AWAITED),
        ("review['review_result']", "'yes' in review['feedback']", 21, NO_VALUE.format("'yes' in review['feedback']")),
        ("review['review_result']", "review['feedback']", 21, RESULT),
        ("review['review_result']", "best['response']", 21, RESULT),
        ("review['review_result']", "problem", 21, RESULT),
        ("review['review_result']", "solutions + best", 21, RESULT),
        (
            "prompt_custom.SOLVE_PROMPT",
            "prompt_custom.OTHER",
            17,
            "there is no text `OTHER`; put the prompt.py that has it beside the file.",
        ),
        (
            "prompt_custom.SOLVE_PROMPT",
            "problem + problem",
            17,
            "an instruction is a text or the name of one in prompt.py.",
        ),
        ("solutions = []", "solutions = [] if problem else []", 15, NO_VALUE.format("[] if problem else []")),
        ("solutions = []", f"solutions = {'a' * 30}.{'b' * 30}", 15, NO_VALUE.format(f"{'a' * 30}.{'b' * 29}")),
        ("problem: str", "question: str", 13, "the input `question` is not one of published workflows."),
        (
            "        best =",
            "        while True: pass\n        best =",
            19,
            "`while True:` is not understood as a step of a workflow.",
        ),
        ("async def __call__", "def __call__", 6, "its class `Workflow` has no `async def __call__`."),
        ("input=problem, instruction", "other=problem, instruction", 17, "Custom has no port `other`."),
        ("input=problem, instruction", "input=solved, instruction", 17, "`solved` has no value here."),
        (
            "problem=problem, solution",
            "problem='this', solution",
            20,
            "a value at the port `problem` of Review comes from another step.",
        ),
    ],
)
def test_what_is_not_understood_of_a_class_is_refused_by_its_line(old: str, new: str, line: int, sentence: str) -> None:
    with pytest.raises(NotReadError) as refused:
        read_published(PUBLISHED.replace(old, new, 1))
    assert str(refused.value) == f"Line {line}: {sentence}"


GO = "await self.custom(input=problem, instruction='Go.')"
REVIEWED = (f"x = {GO}", "r = await self.review(problem=problem, solution=x['response'])")
FIRST = 8
"""The line of the first statement of `of_lines`."""


def of_lines(*body: str, inputs: str = "problem: str") -> str:
    """A published class whose ``__call__`` has these lines."""
    made = ("custom = operator.Custom", "code = operator.CustomCodeGenerate", "test = operator.Test")
    lines = ["class Workflow:", "    def __init__(self, name, llm_config, dataset):"]
    lines += [f"        self.{one}(self.llm)" for one in (*made, "review = operator.Review")]
    lines += [f"    async def __call__(self, {inputs}):", *(f"        {line}" for line in body)]
    return "".join(f"{line}\n" for line in lines)


def edges_of(text: str) -> list[str]:
    """The edges of a workflow in its order, with their labels."""
    assert check_workflow(text).graph.outputs
    arrows = [line.strip() for line in text.splitlines() if "-->" in line]
    return [arrow.replace("-->|", "-").replace("| ", "-> ").replace("-->", "->") for arrow in arrows]


@pytest.mark.parametrize(
    ("body", "edges"),
    [
        ([f"x = {GO}", "return x"], ["PROBLEM -input-> X", "X -> RETURN"]),
        (["x = await self.custom(problem, 'Go.')", "return x, 3"], ["PROBLEM -input-> X", "X -> RETURN"]),
        (
            [f"x = {GO}", "x = await self.custom(input=x, instruction='Again.')", "x = await self.custom(input=x)", "return x"],
            ["PROBLEM -input-> X", "X -input-> X_2", "X_2 -input-> X_3", "X_3 -> RETURN"],
        ),
        (
            [
                *REVIEWED,
                "if r['result']:",
                "    y = await self.custom(input=x, instruction='a')",
                "else:",
                "    y = await self.custom(input=problem, instruction='b')",
                "z = await self.custom(input=y['response'], instruction='c')",
                "return z",
            ],
            [
                "PROBLEM -input-> X", "PROBLEM -problem-> R", "X -solution-> R", "R -result:when-> CHECK",
                "CHECK -yes:after-> Y", "X -input-> Y", "CHECK -no:after-> Y_2", "PROBLEM -input-> Y_2",
                "Y -input-> Z", "Y_2 -input-> Z", "Z -> RETURN",
            ],
        ),
        (
            [*REVIEWED, "if not r['result']:", f"    y = {GO}", "    return y['response']", "return x['response'], 1"],
            [
                "PROBLEM -input-> X", "PROBLEM -problem-> R", "X -solution-> R", "R -result:when-> CHECK",
                "CHECK -no:after-> Y", "PROBLEM -input-> Y", "Y -> RETURN", "X -value-> CHECK", "CHECK -yes-> RETURN",
            ],
        ),
    ],
    ids=["one", "by position", "one name", "both ways", "not"],
)  # fmt: skip
def test_lines_become_nodes_and_edges(body: list[str], edges: list[str]) -> None:
    text, notes = read_published(of_lines(*body))
    assert edges_of(text) == edges
    assert notes == []


def test_both_inputs_of_a_problem_of_code_are_inputs_of_the_workflow() -> None:
    body = (
        "x = await self.code(problem=problem, entry_point=entry_point, instruction='')",
        "t = await self.test(problem=problem, solution=x['response'], entry_point=entry_point)",
        "return t['solution']",
    )
    text, _ = read_published(of_lines(*body, inputs="problem: str, entry_point: str"))
    assert [node.id for node in check_workflow(text).graph.inputs] == ["PROBLEM", "ENTRY_POINT"]
    assert "    PROBLEM([problem]):::Interface\n    ENTRY_POINT([entry_point]):::Interface\n" in text
    assert "ENTRY_POINT -entry_point-> T" in edges_of(text)
    assert "prompts:" not in text


def test_prompts_come_from_the_line_or_the_file_beside_it() -> None:
    body = (f"x = {GO}", "y = await self.custom(input=x, instruction=prompt.FIX_IT_PROMPT)", "return y")
    text, _ = read_published(of_lines(*body), "COUNT = 3\nFIX_IT_PROMPT = 'Fix it.'\n")
    graph = check_workflow(text).graph
    assert [graph.by_id[name].resolution.parameters["role"].value for name in ("X", "Y")] == ["x", "fix_it"]
    assert "    x: Go.\n    fix_it: Fix it.\n" in text


def test_a_name_beside_the_file_that_is_no_text_is_no_prompt() -> None:
    body = ("x = await self.custom(input=problem, instruction=prompt.COUNT)", "return x")
    with pytest.raises(NotReadError, match="there is no text `COUNT`"):
        read_published(of_lines(*body), "COUNT = 3\n")


RICH = '''import workspace.prompt as prompt_custom

"""A class."""
SOLVE_PROMPT = OTHER = "Solve it.\\nStep by step: 100 %."
COUNT = 3

class Helper:
    pass

class Workflow:
    name = "x"

    def __init__(self, name):
        self.name = name
        self.llm, self.x = create(name)
        self.custom = operator.Custom(self.llm)
        self.ask = Custom(self.llm)
        self.program = operators.programmer(self.llm)
        self.other = make()(self.llm)
        self.unknown = operator.Unknown(self.llm)
        print(self.custom)

    def helper(self):
        return 3

    async def __call__(self, problem, entry_point):
        """Do it."""
        answer = await self.answer_generate(problem)
        answer = await self.custom(problem + answer["thought"], SOLVE_PROMPT)
        solve = await self.ask(input=str(answer) + f"and {problem}", instruction="Plain: it's #1")
        code = await self.program(problem=problem, analysis="think hard")
        code2 = await self.program(problem, solve)
        none = await self.program(problem=problem, analysis=None)
        texts = [code["code"], code2["output"]]
        texts.append(none)
        best = await self.sc_ensemble(texts, problem)
        fixed = await self.custom(input=best, instruction=prompt_custom.FIX)
        same = await self.custom(input=fixed, instruction=prompt_custom.SOLVE_PROMPT)
        made = await self.custom_code_generate(problem, entry_point, "")
        test = await self.test(problem=problem, solution=made, entry_point=entry_point)
        if not test["result"]:
            done = await self.custom(input=test["feedback"] + test["solution"], instruction="Mend it.")
        else:
            done = await self.format(problem=problem, solution=same)
        return done, self.cost
'''
WRITTEN = """---
workflow:
  prompts:
    solve: Other.
    solve_2: "Plain: it's \\x231"
    fix: Fix.
    done: Mend it.
---
flowchart TD
    PROBLEM([problem]):::Interface
    ENTRY_POINT([entry_point]):::Interface
    ANSWER@{ op: AnswerGenerate }
    ANSWER_2@{ op: Custom, role: solve }
    SOLVE@{ op: Custom, role: solve_2 }
    CODE@{ op: Programmer, analysis: think hard }
    CODE2@{ op: Programmer }
    NONE@{ op: Programmer }
    BEST@{ op: ScEnsemble }
    FIXED@{ op: Custom, role: fix }
    SAME@{ op: Custom, role: solve }
    MADE@{ op: CustomCodeGenerate }
    TEST@{ op: Test }
    CHECK@{ op: Decision, shape: diam, label: "passed?" }
    DONE@{ op: Custom, role: done }
    DONE_2@{ op: Format }
    RETURN([answer]):::Interface
    PROBLEM -->|input| ANSWER
    PROBLEM -->|input| ANSWER_2
    ANSWER -->|thought:input| ANSWER_2
    ANSWER_2 -->|input| SOLVE
    PROBLEM -->|input| SOLVE
    PROBLEM -->|problem| CODE
    PROBLEM -->|problem| CODE2
    SOLVE -->|analysis| CODE2
    PROBLEM -->|problem| NONE
    CODE -->|code:solutions| BEST
    CODE2 -->|solutions| BEST
    NONE -->|solutions| BEST
    PROBLEM -->|problem| BEST
    BEST -->|input| FIXED
    FIXED -->|input| SAME
    PROBLEM -->|problem| MADE
    ENTRY_POINT -->|entry_point| MADE
    PROBLEM -->|problem| TEST
    MADE -->|solution| TEST
    ENTRY_POINT -->|entry_point| TEST
    TEST -->|result:when| CHECK
    CHECK -->|no:after| DONE
    TEST -->|feedback:input| DONE
    TEST -->|input| DONE
    CHECK -->|yes:after| DONE_2
    PROBLEM -->|problem| DONE_2
    SAME -->|solution| DONE_2
    DONE --> RETURN
    DONE_2 --> RETURN
"""


def test_all_that_a_class_does_becomes_the_workflow_and_two_prompts_of_one_name_two_roles() -> None:
    text, notes = read_published(RICH, "FIX = 'Fix.'\nSOLVE_PROMPT = 'Other.'\n")
    assert text == WRITTEN
    assert notes == ["Line 30: the text between joined results is left out."]
    assert check_workflow(text).graph.by_id["SOLVE"].resolution.parameters["role"].value == "solve_2"
    # Without the file beside it its own text counts, and the other is missing.
    with pytest.raises(NotReadError, match=r"^Line 37: there is no text `FIX`"):
        read_published(RICH)
    own, _ = read_published(RICH, "FIX = 'Fix.'\n")
    assert own == WRITTEN.replace("solve: Other.", "solve: |-\n      Solve it.\n      Step by step: 100 %.")


@pytest.mark.parametrize("last", ["x", "x['response']"])
def test_what_is_from_before_an_if_goes_through_it_once(last: str) -> None:
    text, _ = read_published(of_lines(*REVIEWED, "if r['result']:", "    return x", f"return {last}"))
    assert edges_of(text)[-3:] == ["X -value-> CHECK", "CHECK -yes-> RETURN", "CHECK -no-> RETURN"]
    with pytest.raises(NotReadError, match="both ways of an `if` return results from before it"):
        read_published(of_lines(*REVIEWED, "if r['result']:", "    return x", "return problem"))


LOOP = ("xs = []", "for _ in range(2):", f"    x = {GO}", "    xs.append(x)", "return xs")


@pytest.mark.parametrize(
    ("body", "line", "sentence"),
    [
        (["x = problem"], -1, "`__call__` returns nothing."),
        (["return"], 0, "it returns nothing."),
        (["x = await self.custom(input=problem, colour=problem)", "return x"], 0, "Custom has no port `colour`."),
        (["x = await self.test(problem='y')", "return x"], 0, "a value at the port `problem` of Test comes from"),
        (["x = await self.custom(problem, COUNT)", "return x"], 0, "there is no text `COUNT`"),
        (["x = await other(problem)", "return x"], 0, "only operators of the class are awaited."),
        (["x = await self.inner.custom(problem)", "return x"], 0, "only operators of the class are awaited."),
        (["x = await self.inner", "return x"], 0, "only operators of the class are awaited."),
        *(
            ([LOOP[0], f"for _ in {times}:", *LOOP[2:]], 1, "a loop is understood as `for _ in range(3)` alone.")
            for times in ("range(2.5)", "range(n)", "range(1, 3)", "[1, 2]", "many(3)")
        ),
        *(
            ([*LOOP[:2], *inside, LOOP[4]], 1, "a loop is understood where it asks one question and appends")
            for inside in ([LOOP[2]] * 2, [LOOP[3]] * 2, [*LOOP[2:4], LOOP[3]], [LOOP[2]])
        ),
        (["if problem:", "    return problem", "return problem"], 0, "an `if` is understood on the `result`"),
        ([f"x = {GO}", "if x['response']:", "    return x", "return x"], 1, "an `if` is understood on the `result`"),
        ([*REVIEWED, "if r['feedback']:", "    return x", "return x"], 2, "an `if` is understood on the `result`"),
        (
            [*REVIEWED, "if r['result']:", "    if r['result']:", "        return x", "return x"],
            3,
            "an `if` inside an `if` is not understood.",
        ),
        ([*REVIEWED, "if r['result']:", f"    x = {GO}", "return x"], 2, "`x` must be made on both ways of the `if`"),
        ([*REVIEWED, "if r['result']:", f"    y = {GO}", "return y"], 2, "`y` must be made on both ways of the `if`"),
        (
            [*REVIEWED, "if r['result']:", f"    y = {GO}", "else:", "    y = x", "    z = x", "return y"],
            2,
            "`z` must be made on both ways of the `if`",
        ),
        (
            [*REVIEWED, "if r['result']:", "    return x", f"y = {GO}"],
            2,
            "both ways of an `if` must return, or neither.",
        ),
    ],
)
def test_what_is_no_step_of_a_workflow_is_refused_with_its_reason(body: list[str], line: int, sentence: str) -> None:
    with pytest.raises(NotReadError) as refused:
        read_published(of_lines(*body))
    assert str(refused.value).startswith(f"Line {FIRST + line}: {sentence}")


def test_a_file_without_a_workflow_is_none() -> None:
    with pytest.raises(NotReadError, match="neither a class `Workflow` nor what merrow compile writes"):
        read_published("class Other:\n    pass\n")
    with pytest.raises(NotReadError, match="has no `async def __call__`"):
        read_published("class Workflow:\n    names = []\n")
