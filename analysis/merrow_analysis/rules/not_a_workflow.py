"""Why a flowchart is not read as a workflow."""

from __future__ import annotations

from merrow_analysis.graph.drawings.drawing import PROBLEM_ID, RETURN_ID
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.rules.reporting import listed


def why_not(flow: Flowchart) -> str:
    """Why a flowchart that does not say so itself is not a workflow, as part of a sentence."""
    missing = listed([name for name in (PROBLEM_ID, RETURN_ID) if name not in flow.nodes], "or")
    return f"it has no {missing}, and no node names an operator by its class, an `op` key or a label like `Custom<br/>`"
