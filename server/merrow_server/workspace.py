"""What stands around a workflow file; it lives in the runtime, which reads the same files."""

from merrow_runtime.program.workspace import (
    LARGEST_RESOURCE,
    PROJECT_FILE,
    SETTINGS_FILE,
    FileProvider,
    WorkspaceFinder,
)

__all__ = ["LARGEST_RESOURCE", "PROJECT_FILE", "SETTINGS_FILE", "FileProvider", "WorkspaceFinder"]
