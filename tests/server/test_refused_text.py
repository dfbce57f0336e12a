"""What Mermaid refuses is neither run nor changed, whatever a comment or the settings say."""

import pytest
from tests.server.program import GOOD, merrow, write

REFUSED = GOOD.replace("    A --> RETURN\n", "    A --> RETURN\n    %% merrow: ignore[MW001] later\n    A B\n")


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", 'ignore = ["MW001"]\n', '[severity]\nMW001 = "hint"\n'])
def test_no_command_works_with_it(settings: str) -> None:
    write("merrow.toml", settings)
    write("flow.mmd", REFUSED)
    write("good.mmd", GOOD)
    for arguments in (
        ["run", "flow.mmd", "--input", "PROBLEM=x"],
        ["mutate", "flow.mmd", "--list"],
        ["crossover", "flow.mmd", "good.mmd"],
        ["crossover", "good.mmd", "flow.mmd"],
    ):
        outcome = merrow(*arguments)
        assert outcome.code != 0, arguments
        assert outcome.out == "", arguments
        assert outcome.err, arguments
    if not settings:
        assert merrow("check", "flow.mmd").code == 1


def test_a_flowchart_that_names_no_operators_is_told_why_it_is_no_workflow() -> None:
    write("flow.mmd", "flowchart TD\n    A[Review] --> B[Revise]\n")
    err = merrow("mutate", "flow.mmd", "--list").err
    assert "no node names an operator by its class, an `op` key or a label like `Custom<br/>`" in err
    assert "it has no PROBLEM or RETURN" in err
