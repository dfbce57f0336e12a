"""Whether the tools that a workflow calls can be called, for those who begin many runs of it."""

from __future__ import annotations

from functools import partial

from merrow_runtime.calls.tool_servers import ToolServers
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.program.tool_parameters import folder_of, pins_of, root_of, tools_of
from merrow_runtime.workflow import Workflow


def check_tools(workflow: Workflow, options: RunOptions, tools: ToolServers, *, unattended: bool) -> bool:
    """Whether a workflow, or a file that it calls, calls tools. Raises `UsageFailure` where ``tools`` can't call them;
    ``unattended`` as in `ToolServers.check`.
    """
    calls = False
    for reached in workflow.reached():
        definitions = [step.definition for step in make_steps(reached, options).values()]
        calling = tools_of(definitions)
        if calling:
            calls = True
            folder, offered = (
                folder_of(reached, root_of(workflow)),
                calling.keys() - tools_of(definitions, agents=False).keys(),
            )
            tools.check(folder, calling, partial(pins_of, reached), unattended=unattended, offered=offered)
    return calls
