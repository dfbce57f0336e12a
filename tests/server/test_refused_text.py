"""What Mermaid refuses is neither run nor changed, whatever a comment or the settings say."""

import pytest
from tests.server.program import GOOD, merrow, write

REFUSED = GOOD.replace("    A --> RETURN\n", "    A --> RETURN\n    %% merrow: ignore[MW001] later\n    A B\n")


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


LABELS = 'flowchart TD\n    A["Custom<br/>(role: solver)"]\n    B["ScEnsemble<br/>"]\n    A --> B\n'


@pytest.mark.parametrize(
    "arguments", [["mutate", "flow.mmd", "--list"], ["graph", "flow.mmd"], ["run", "flow.mmd", "--input", "PROBLEM=x"]]
)
def test_a_flowchart_that_looks_like_a_workflow_is_told_why_it_is_none(arguments: list[str]) -> None:
    write("flow.mmd", LABELS)
    err = merrow(*arguments).err
    assert "Custom at A and ScEnsemble at B" in err
    assert "it has no PROBLEM or RETURN" in err
