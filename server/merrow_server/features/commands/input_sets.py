"""``merrow/inputSets`` ``{text}``: the named sets of inputs in the text of a file ``NAME.inputs.yaml``."""

from __future__ import annotations

from typing import Any

from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer

INPUT_SETS = "merrow/inputSets"


def register(server: MerrowServer) -> None:
    server.feature(INPUT_SETS)(input_sets)


def input_sets(_: MerrowServer, params: Any) -> dict[str, Any]:
    """The sets with their places and values, or why the text has none."""
    from merrow_server.input_sets import read_input_sets

    text = params.get("text") if isinstance(params, dict) else None
    if not isinstance(text, str):
        raise InvalidParameters(f"{INPUT_SETS} needs `text`, that of a file of input sets.")
    return read_input_sets(text)
