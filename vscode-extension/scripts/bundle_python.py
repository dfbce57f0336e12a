"""Collect the language server's Python parts into ``python/``: Merrow's own packages and the pure-Python ones it imports.

python scripts/bundle_python.py

Third-party packages come as wheels, pinned by version and hash in ``python-requirements.txt``, and are kept in
``.cache/wheels``, so that only the first run needs the network. Nothing is done when nothing changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

EXTENSION = Path(__file__).resolve().parent.parent
REPOSITORY = EXTENSION.parent
TARGET = EXTENSION / "python"
LIBRARIES = TARGET / "lib"
WHEELS = EXTENSION / ".cache" / "wheels"
REQUIREMENTS = Path(__file__).with_name("python-requirements.txt")
STAMP = TARGET / ".stamp"
OWN = (
    "analysis/merrow_analysis",
    "runtime/merrow_runtime",
    "optimizer/merrow_optimizer",
    "server/merrow_server",
)
PATTERNS = REPOSITORY / "examples" / "patterns"
"""Which an installed Merrow has as templates."""
STANDINS = Path(__file__).with_name("standins")
NOT_SHIPPED = (
    "__pycache__",
    "tests",
    "benchmarks",
    "py.typed",
    "RECORD",
    "WHEEL",
    "INSTALLER",
    "entry_points.txt",
    "top_level.txt",
)
NOT_SHIPPED_SET = frozenset(NOT_SHIPPED)
DOWNLOAD = ("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
PURE = (
    "--only-binary",
    ":all:",
    "--platform",
    "any",
    "--python-version",
    "3.11",
    "--implementation",
    "py",
    "--abi",
    "none",
)


def main() -> int:
    """Collect what changed; the exit code."""
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text("utf-8") == wanted:
        # Whoever ran a server from the bundle meanwhile left compiled files there, which vsce would pack.
        for compiled in sorted(LIBRARIES.rglob("__pycache__")):
            shutil.rmtree(compiled, ignore_errors=True)
        return 0
    wheels = sorted(download())
    with tempfile.TemporaryDirectory(prefix=".python-", dir=EXTENSION) as place:
        fresh = Path(place) / "python"
        collect(wheels, fresh)
        (fresh / STAMP.name).write_text(wanted, "utf-8")
        exchange(fresh, wanted)
    files = [file for file in LIBRARIES.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    sys.stdout.write(f"python/lib: {len(files)} files, {size / 1e6:.1f} MB\n")
    return 0


def collect(wheels: list[Path], target: Path) -> None:
    """The bundle in a new folder."""
    libraries = target / LIBRARIES.name
    libraries.mkdir(parents=True)
    for wheel in wheels:
        unpack(wheel, libraries)
    for standin in STANDINS.glob("*.py"):
        shutil.copyfile(standin, libraries / standin.name)
    for package in OWN:
        source = REPOSITORY / package
        shutil.copytree(source, libraries / source.name, ignore=shutil.ignore_patterns(*NOT_SHIPPED))
    templates = libraries / "merrow_server" / "templates"
    templates.mkdir()
    for pattern in PATTERNS.glob("*.mmd"):
        shutil.copyfile(pattern, templates / pattern.name)
    (target / "constraints.txt").write_text("".join(f"{line}\n" for line in versions()), "utf-8")


def exchange(fresh: Path, wanted: str) -> None:
    """Put a new bundle in the place of the old one; of two that do so at once, one wins."""
    if TARGET.exists():
        with contextlib.suppress(FileNotFoundError):
            TARGET.rename(fresh.with_name("old"))
    try:
        fresh.rename(TARGET)
    except OSError:
        if not STAMP.is_file() or STAMP.read_text("utf-8") != wanted:
            raise


def own_files() -> Iterator[Path]:
    """The files of Merrow's own packages, and the patterns."""
    yield from sorted(PATTERNS.glob("*.mmd"))
    for package in OWN:
        for file in sorted((REPOSITORY / package).rglob("*")):
            if file.is_file() and not NOT_SHIPPED_SET & set(file.parts):
                yield file


def fingerprint() -> str:
    """What the bundle is made of, as one number: this script, the requirements and every file of our own."""
    digest = hashlib.sha256()
    for file in (Path(__file__), REQUIREMENTS, *sorted(STANDINS.glob("*.py")), *own_files()):
        digest.update(str(file.relative_to(REPOSITORY)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def versions() -> list[str]:
    """What is bundled, as requirements without hashes: packages installed beside it must get along with these."""
    lines = REQUIREMENTS.read_text("utf-8").splitlines()
    return [line.split(" ")[0] for line in lines if "==" in line]


def pinned() -> dict[str, str]:
    """The file-name beginning and the hash of each pinned wheel."""
    found = {}
    for line in REQUIREMENTS.read_text("utf-8").splitlines():
        requirement, mark, digest = line.partition(" --hash=sha256:")
        if mark:
            found[requirement.replace("==", "-") + "-"] = digest
    return found


def download() -> list[Path]:
    """The pinned wheels, from the cache where it has them all."""
    found = cached()
    if found is None:
        WHEELS.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, *DOWNLOAD, *PURE, "--dest", str(WHEELS), "--requirement", str(REQUIREMENTS)]
        subprocess.run(command, check=True)  # noqa: S603 - pip, with the pinned requirements
        found = cached()
    if found is None:
        raise SystemExit("pip did not download every wheel of python-requirements.txt.")
    return found


def cached() -> list[Path] | None:
    """The pinned wheels in the cache, checked by their hashes; None where one is missing."""
    found = []
    for beginning, digest in pinned().items():
        wheel = next(WHEELS.glob(f"{beginning}*.whl"), None)
        if wheel is None or hashlib.sha256(wheel.read_bytes()).hexdigest() != digest:
            return None
        found.append(wheel)
    return found


def unpack(wheel: Path, libraries: Path) -> None:
    """A wheel's modules, metadata and licences."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith("/") or NOT_SHIPPED_SET & set(Path(name).parts):
                continue
            if name.endswith((".so", ".pyd")):
                raise SystemExit(f"{wheel.name} is not pure Python: {name}")
            archive.extract(name, libraries)


if __name__ == "__main__":
    sys.exit(main())
