"""A program whose workflow only the runtime holds: its lines written as files of Mermaid, and run as `merrow run` runs a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from merrow_analysis.definitions.provider import ResourceError
from merrow_runtime.compiling.mermaid import file_names, mermaid_text
from merrow_runtime.compiling.program import Flow as PlainFlow
from merrow_runtime.compiling.program import Result, asked_for, endpoint_of
from merrow_runtime.compiling.reading import ReadFunction
from merrow_runtime.compiling.tracing import Lines
from merrow_runtime.compiling.work import traced
from merrow_runtime.errors import RunFailure
from merrow_runtime.revising.reviser import Reviser
from merrow_runtime.running.api import finish, start
from merrow_runtime.workflow import Workflow, check_workflow


class Flow(PlainFlow):
    """As `merrow_runtime.compiling.program.Flow`, for workflows that change, or are planned, while they run."""

    reviser: ClassVar[Reviser | None] = None
    """Who changes the workflow where it has ``refine:``."""

    async def run(self) -> Result:
        """Run it: what reaches its outputs. Raises `RunFailure`."""
        asked = asked_for()
        options = replace(asked.options, no_store=True)
        endpoint = None if options.replay is not None else endpoint_of(options)
        try:
            begun = start(
                workflow_of(self),
                {**self.inputs, **asked.inputs},
                options=options,
                endpoint=endpoint,
                reviser=self.reviser,
            )
            done = await finish(begun)
        finally:
            if endpoint is not None:
                await endpoint.close()
        if done.failure is not None:
            raise done.failure
        if done.status != "finished":
            raise RunFailure(done.error or f"The run was {done.status}.")
        return Result(done.outputs, self.diagram)


class _Written:
    """Hands out the files that the functions of a program were written as."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def read(self, path: str) -> str:
        """The text of a file. Raises `ResourceError`."""
        if path not in self._files:
            raise ResourceError(f"{path} is not in the program.")
        return self._files[path]

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files


def workflow_of(flow: Lines) -> Workflow:
    """The workflow that a program's lines describe. Raises `UsageFailure` where it has an error."""
    functions = {"workflow": flow}
    waiting = [flow]
    for one in waiting:  # It grows meanwhile.
        for made in one.functions.values():
            if made.__name__ not in functions:
                functions[made.__name__] = called = traced(made)
                waiting.append(called)
    files = file_names({name: lines.name for name, lines in functions.items()})
    texts = {files[name]: mermaid_text(ReadFunction(name, "", lines), files) for name, lines in functions.items()}
    own = files["workflow"]
    return check_workflow(texts[own], name=flow.name, path=own, provider=_Written(texts))
