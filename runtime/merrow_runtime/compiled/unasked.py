"""Whether a program can call its tools where nobody can be asked what came of a call: it keeps no journal that could wait."""

from __future__ import annotations

from merrow_analysis.tools.pins import LOCAL
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.remember import Remember
from merrow_runtime.options import RunOptions
from merrow_runtime.outside.users_permissions import UsersPermissions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.program.tool_parameters import GYMNASIUM, UNPINNED, tools_of
from merrow_runtime.workflow import Workflow


def acts_once(workflow: Workflow, options: RunOptions) -> bool:
    """Whether a program has a tool that may not be called twice, or remembers: that may be another text the next time."""
    permissions = UsersPermissions()
    steps = [step for reached in workflow.reached() for step in make_steps(reached, options).values()]
    if any(isinstance(step.operator, Remember) for step in steps):
        return True
    return any(not permissions.may_repeat(tool) for tool, _ in tools_of([step.definition for step in steps]))


def check_nobody_asked(workflow: Workflow, options: RunOptions) -> None:
    """Raise `UsageFailure` for a tool about whose calls a person may have to be asked: one that may not be called twice, and one
    that a model may call and the user's settings don't allow.
    """
    permissions = UsersPermissions()
    for reached in workflow.reached():
        definitions = [step.definition for step in make_steps(reached, options).values()]
        fixed = tools_of(definitions, agents=False)
        for called, node in tools_of(definitions).items():
            tool, pin = called
            if pin == UNPINNED or pin.startswith(GYMNASIUM):
                continue  # What is done in an environment is done again in a new session, and nobody is asked.
            server, _, name = tool.partition(".")
            lists = [] if called in fixed or server == LOCAL or permissions.may_use(tool) else ["allow"]
            lists += [] if permissions.may_repeat(tool) else ["repeatable"]
            if lists:
                raise UsageFailure(
                    f"Node {node} calls the tool {tool}, about which a person may have to be asked, and nobody answers here. Run"
                    f" the program on a terminal, or use merrow run, which keeps a journal; if it may be called unasked and more"
                    f" than once, add {name} to {' and '.join(f'`{word}`' for word in lists)} in [servers.{server}] of your"
                    " settings."
                )
