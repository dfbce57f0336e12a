"""The report of a search as a file beside its candidates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from merrow_optimizer.optimization.rounds import REPORT
from merrow_server.files import write_bytes

if TYPE_CHECKING:
    from merrow_optimizer.optimization.record import SearchRecord


def write_report(search_record: SearchRecord, file: Path | None = None) -> Path:
    """Write the report of a search, without ``file`` beside its candidates; its path. Raises `UsageFailure`."""
    from merrow_server.optimizations.search_html import as_html

    path = Path(search_record.search.plan["folder"]) / REPORT if file is None else file
    write_bytes(path, as_html(search_record).encode("utf-8", "surrogatepass"), through_links=file is not None)
    return path
