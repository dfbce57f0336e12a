"""What programs made by `merrow compile` import: `Flow`, whose lines describe a workflow, the words `either`, `each`, `over` and
`first` in these lines, the `Result` of a run, and `run_program`, the command line. See docs/compiling.md.

    async def workflow(problem: str) -> Result:
        flow = Flow("flow.mmd", NODES)
        problem = flow.input("PROBLEM", problem)
        answer = flow("ANSWER", input=[problem])
        flow.output("RETURN", answer)
        return await flow.run()
"""

from __future__ import annotations

from merrow_runtime.compiled.command_line import run_program
from merrow_runtime.compiled.flow import Flow
from merrow_runtime.compiled.handles import Handle, each, either, first, over
from merrow_runtime.compiled.result import Result

__all__ = ["Flow", "Handle", "Result", "each", "either", "first", "over", "run_program"]
