"""Cases that expect something of fields of the output."""

from __future__ import annotations

import json

import pytest
from tests.runtime.openai_server import OpenAIServer
from tests.server.program import in_process, write
from tests.server.test_scored_fields import MAILS, server

__all__ = ["server"]

CASES = """cases:
  - id: m0
    inputs: {problem: "%s"}
    expect: %s
"""


def outcome(capsys: pytest.CaptureFixture[str], expect: str) -> tuple[int, str, str]:
    """The exit code of a test, the status of its only case, and what is said of it."""
    write("flow.cases.yaml", CASES % (MAILS[0][0], expect))
    done = in_process(capsys, "test", "flow.mmd", "--format", "json")
    if not done.out:
        return done.code, "", done.err
    [case] = done.json["results"]
    return done.code, case["status"], case["message"]


@pytest.mark.parametrize(
    ("expect", "status", "said"),
    [
        ("{category: billing, urgent: yes, amount: '12'}", "passed", ""),
        ("{category: Billing}", "passed", ""),
        ("{category: [sales, billing]}", "passed", ""),
        ("{category: sales, urgent: true}", "failed", "category `sales`: differs"),
        ("{amount: 13}", "failed", "amount `13`: not 13"),
        ("{urgent: false}", "failed", "urgent `false`"),
        ("[{reply: {contains: sorry}}, {category: billing}]", "passed", ""),
        ("{reply: {not-contains: sorry}}", "failed", "reply not-contains `sorry`"),
        ("{category: billing, output: RETURN}", "passed", ""),
    ],
)
def test_a_field_is_compared_as_its_type_is(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], expect: str, status: str, said: str
) -> None:
    code, ended, message = outcome(capsys, expect)
    assert (code, ended, said in message) == (int(status == "failed"), status, True), message


@pytest.mark.parametrize(
    ("expect", "code", "said"),
    [
        ("{categry: billing}", "MW522", "did you mean `category`?"),
        ("{contians: billing}", "MW521", "did you mean `contains`?"),
        ("{category: biling}", "MW521", "Did you mean `billing`?"),
        ("{category: {contains: 1, tolerance: 2}}", "MW521", "has no option `tolerance`"),
        ("{contains: sorry, category: billing}", "MW521", "`category` means nothing here"),
        ("{category: {regex: 7}}", "MW521", "`regex` must be"),
    ],
)
def test_what_a_case_can_not_expect_is_a_finding(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], expect: str, code: str, said: str
) -> None:
    write("flow.cases.yaml", CASES % (MAILS[0][0], expect))
    found = json.loads(in_process(capsys, "check", "flow.cases.yaml", "--format", "json").out)
    assert [(one["code"], said in one["message"]) for one in found] == [(code, True)], found
    assert not server.requests
