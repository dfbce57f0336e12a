"""A refusal teaches what it names, if that was sent and refused, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from merrow_runtime.models.dialects import Dialect, after_refusal

SYSTEM = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 times 7?"}]
ALONE = SYSTEM[1:]
SENT: dict[str, dict[str, Any]] = {
    "seed": {"seed": 3},
    "temperature": {"temperature": 0.5},
    "stream_options": {"stream": True, "stream_options": {"include_usage": True}},
    "stream": {"stream": True},
    "max_tokens": {"max_tokens": 100},
}
CHANGES: dict[str, dict[str, object]] = {
    "seed": {"seed": False},
    "temperature": {"temperature": False},
    "stream_options": {"stream_options": False},
    "stream": {"stream": False},
    "max_tokens": {"limit": "max_completion_tokens"},
    "system": {"system": False},
}


def learned(sent: dict[str, Any], message: str, parameter: str = "", code: str = "") -> dict[str, object] | None:
    """What is sent otherwise after the refusal; None where it teaches nothing."""
    now = after_refusal(Dialect(), {"model": "m", **sent}, message, parameter, code)
    if now is None:
        return None
    return {name: value for name, value in now.to_json().items() if value != Dialect().to_json()[name]}


@pytest.mark.parametrize("name", SENT)
def test_each_part_is_learned_where_it_was_sent_and_refused(name: str) -> None:
    sent, said = {"messages": ALONE, **SENT[name]}, f"{name} is not supported"
    assert learned(sent, said) == CHANGES[name]
    assert learned(sent, "no", name, "unsupported_parameter") == CHANGES[name]
    # What was not sent can't be what is wrong, and what is only mentioned isn't.
    assert learned({"messages": ALONE}, said) is None
    assert learned({"messages": ALONE}, "no", name, "unsupported_parameter") is None
    assert learned(sent, f"{name} is 7") is None
    assert learned(sent, "no", name, "rate_limited") is None
    assert learned(sent, "that is not supported") is None


@pytest.mark.parametrize("name", SENT)
@pytest.mark.parametrize("other", SENT)
def test_of_several_parts_that_were_sent_the_one_that_is_named_is_learned(name: str, other: str) -> None:
    sent = {"messages": SYSTEM, **SENT[other], **SENT[name]}
    assert learned(sent, f"'{name}' is not supported") == CHANGES[name]


def test_the_system_role_is_learned_where_it_was_sent_and_refused() -> None:
    assert learned({"messages": SYSTEM}, "the system role is not supported") == CHANGES["system"]
    assert learned({"messages": ALONE}, "the system role is not supported") is None
    assert learned({"messages": SYSTEM}, "the system role is fine") is None
    assert learned({"messages": SYSTEM}, "this model is not available") is None
