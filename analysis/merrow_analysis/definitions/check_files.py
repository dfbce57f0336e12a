"""Checks of validators that are in Python files beside the workflow: ``python: checks.py``.

Such a file is read as text here and run in the sandbox alone, as Python in the workflow itself is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from merrow_analysis.definitions.prompts import ResourceProblem
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.definitions.validators import ValidatorCheck, problem_of_code

_LONGEST = 1 << 20


def with_check_files(
    settings: WorkflowSettings, provider: Provider | None
) -> tuple[WorkflowSettings, tuple[ResourceProblem, ...]]:
    """The settings with the Python of the files that their validators name, and what is wrong with these files. The same object
    comes back where no file is named. Without a provider they stay unread, which is not a mistake.
    """
    paths = tuple(dict.fromkeys(check.file for check in _checks(settings) if check.file is not None))
    if provider is None or not paths:
        return settings, ()
    texts: dict[str, str] = {}
    problems: list[ResourceProblem] = []
    for path in paths:
        try:
            text = provider.read(path).removeprefix("\ufeff")
        except ResourceError as error:
            problems.append(ResourceProblem(path, str(error), provider))
            continue
        fault = _fault(text)
        if fault is None:
            texts[path] = text
        else:
            problems.append(ResourceProblem(path, f"{path} can't be the check of a validator: {fault}"))
    return _merged(settings, tuple(texts.items())), tuple(problems)


def _fault(text: str) -> str | None:
    if len(text) > _LONGEST:
        return f"it is larger than {_LONGEST >> 20} MB."
    return problem_of_code(text)


def _checks(settings: WorkflowSettings) -> Iterator[ValidatorCheck]:
    for validator in settings.validators.values():
        yield from validator.checks


@lru_cache(maxsize=64)
def _merged(settings: WorkflowSettings, texts: tuple[tuple[str, str], ...]) -> WorkflowSettings:
    """The same object for the same settings and texts: by it a typed graph knows that nothing has changed."""
    known: Mapping[str | None, str] = dict(texts)
    return replace(
        settings,
        validators={
            name: replace(
                validator,
                checks=tuple(
                    replace(check, said=known[check.file]) if check.file in known else check
                    for check in validator.checks
                ),
            )
            for name, validator in settings.validators.items()
        },
    )
