"""Settings and files around a workflow: what no shared file may say, files that can't be used, ``merrow.toml``."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.configuration import Config
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.registry import Family, Scope
from merrow_analysis.rules.reporting import report
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Position, Range

_FAMILY = Family[TextContext](Scope.TEXT)
MACHINE_SETTING = _FAMILY.rule(
    "MW501",
    "machine-setting-in-file",
    "A file that can be shared says where requests go or what is executed; that is ignored.",
    Severity.WARNING,
    fix="sometimes",
)
UNUSABLE_FILE = _FAMILY.rule(
    "MW502", "unusable-file", "A prompt file or an operator library can't be used.", Severity.ERROR
)
BAD_CONFIGURATION = _FAMILY.rule(
    "MW520", "bad-configuration", "A setting in `merrow.toml` means nothing or has a wrong value.", Severity.WARNING
)


def machine_setting_message(key: str) -> str:
    """Why ``key`` is ignored, and where it belongs."""
    return (
        f"`{key}` is ignored in a file that can be shared; set it in the environment, in your own settings or on the"
        " command line."
    )


@_FAMILY.checked_by
def check_files(context: TextContext) -> Iterator[Diagnostic]:
    """Findings about files that the workflow uses, where it names them, else where the diagram begins."""
    for problem in context.problems:
        place = _place(context.settings, context.front, problem.path)
        yield report(UNUSABLE_FILE, place or context.top, problem.message)


def _place(settings: WorkflowSettings, front: tuple[FrontMatter, Block] | None, path: str) -> Range | None:
    if front is None:
        return None
    matter, block = front
    found = None
    if settings.prompt_file == path:
        found = settings.document.places("workflow", "prompts")
    elif path in settings.libraries:
        index = settings.libraries.index(path)
        found = settings.document.places("workflow", "libraries", index) or settings.document.places(
            "workflow", "libraries"
        )
    if found is None:
        return None
    start = matter.body_span[0]
    return block.range((start + found[1][0], start + found[1][1]))


def check_configuration(config: Config) -> Iterator[Diagnostic]:
    """Findings about the configuration, with ranges in its own file: whole lines."""
    for problem in config.problems:
        line = Range(Position(problem.line, 0), Position(problem.line + 1, 0))
        yield report(BAD_CONFIGURATION, line, problem.message)
