"""The version of Merrow, which `pyproject.toml` has as well: also copies that no package manager installed know it."""

VERSION = "0.1.0"
