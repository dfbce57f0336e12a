"""Data sets that come with Merrow, by their names."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).with_name("shipped")


def shipped_names() -> list[str]:
    """The names of the sets that come with Merrow."""
    return sorted(file.stem for file in _FOLDER.glob("*.jsonl"))


def is_shipped(named: str) -> bool:
    """Whether a set that comes with Merrow is meant: by its name, where there is no file of that name."""
    return named in shipped_names() and not Path(named).exists()


def data_file(named: str) -> Path:
    """The file of data that are named by its path, or by the name of a set that comes with Merrow."""
    return shipped_file(named) if is_shipped(named) else Path(named)


def shipped_file(name: str) -> Path:
    """The file of a set that comes with Merrow."""
    return _FOLDER / f"{name}.jsonl"


def data_name(file: Path) -> str:
    """A file of data for people: the name of a set that comes with Merrow, else its path."""
    return file.stem if file.parent == _FOLDER else str(file)


def short_name(file: Path) -> str:
    """A file of data where there is little room: the name of a set that comes with Merrow, else that of the file."""
    return file.stem if file.parent == _FOLDER else file.name
