"""Build Merrow's packages and try them as a user gets them: ``python scripts/dist.py``.

Builds sdist and wheel in ``dist/`` and puts the packed VS Code extension and an archive of the documentation beside them.
Then it builds the wheel again from the sdist and compares the two byte by byte, looks for every data file in the wheel, and
installs the wheel, with the locked dependencies, for each Python from 3.11 to 3.14 that it finds. There the program checks and
runs an example outside of the checkout. Pythons that are absent are named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
VSIX = ROOT / "vscode-extension" / "merrow.vsix"
EXAMPLES = ROOT / "examples"
MINORS = (11, 12, 13, 14)


def build(folder: Path, target: Path, *kinds: str) -> list[Path]:
    """Build ``kinds`` (sdist, wheel) from ``folder`` into ``target``; the files."""
    options = [option for kind in kinds for option in ("--target", kind)]
    run([sys.executable, "-m", "hatchling", "build", *options, "--directory", str(target)], folder)
    return sorted(target.iterdir())


def run(command: list[str], folder: Path, **environment: str) -> str:
    """What a command prints. Ends with its output where it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(  # noqa: S603 - our own build and program
        command,
        cwd=folder,
        env={**kept, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nExit code {done.returncode}: {' '.join(command)}")
    return done.stdout


def missing_files(wheel: Path) -> list[str]:
    """The files of the source packages that the wheel does not have."""
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]["packages"]
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    expected = {
        file.relative_to((ROOT / package).parent).as_posix()
        for package in packages
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    return sorted(expected - packed)


def rebuilt_differs(sdist: Path, wheel: Path) -> bool:
    """Whether the wheel that is built from the sdist is another one."""
    with tempfile.TemporaryDirectory() as place:
        shutil.unpack_archive(sdist, place)
        [source] = Path(place).iterdir()
        [again] = build(source, Path(place) / "dist", "wheel")
        return again.name != wheel.name or again.read_bytes() != wheel.read_bytes()


def candidates(minor: int) -> Iterator[str]:
    """Programs that may be Python 3.``minor``, on the path or installed by pyenv."""
    name = f"python3.{minor}"
    yield from filter(None, [shutil.which(name)])
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/3.{minor}*/bin/{name}"), reverse=True))


def interpreter(minor: int) -> str | None:
    """A Python 3.``minor`` that can be started, or None."""
    question = "import sys, venv; print(sys.version_info[1])"
    for program in candidates(minor):
        done = subprocess.run([program, "-c", question], capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode == 0 and done.stdout.strip() == str(minor):
            return program
    return None


def try_wheel(wheel: Path, python: str) -> str:
    """Install the wheel for ``python`` in a fresh environment and use it; the version that it says."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lock = str(ROOT / "requirements" / "run.txt")
        run([str(ROOT / "scripts" / "install.sh"), str(folder / "venv"), lock, str(wheel)], folder, PYTHON=python)
        program = str(folder / "venv" / "bin" / "merrow")
        for example in ("vote.mmd", "inputs/word_problem.txt", "replays/vote.jsonl"):
            shutil.copy(EXAMPLES / example, folder)
        state = {"MERROW_STATE_DIR": str(folder / "state"), "MERROW_CONFIG_DIR": str(folder / "config")}
        version = run([program, "--version"], folder, **state).strip()
        run([program, "check", "vote.mmd"], folder, **state)
        run([program, "explain", "MW105"], folder, **state)
        problem = ["--input", "problem=@word_problem.txt"]
        run([program, "run", "vote.mmd", *problem, "--replay", "vote.jsonl"], folder, **state)
        return version


def documentation(archive: Path) -> None:
    """Pack the documentation, with the pages of rules and the schemas that it links to; the same bytes for the same files."""
    files = [
        ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff")
    ]
    for folder in ("docs", "schemas", "examples", "analysis/merrow_analysis/rules/pages"):
        files += (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, path.read_bytes())


def main() -> int:
    """Build everything and try it; ends with the reason where something is wrong."""
    shutil.rmtree(DIST, ignore_errors=True)
    built = build(ROOT, DIST, "sdist", "wheel")
    [sdist] = [path for path in built if path.name.endswith(".tar.gz")]
    [wheel] = [path for path in built if path.suffix == ".whl"]
    shutil.copy(VSIX, DIST / f"{sdist.name.removesuffix('.tar.gz')}.vsix")
    documentation(DIST / f"{sdist.name.removesuffix('.tar.gz')}-docs.zip")
    for path in sorted(DIST.iterdir()):
        print(f"dist/{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    if missing := missing_files(wheel):
        raise SystemExit(f"The wheel lacks: {', '.join(missing)}")
    if rebuilt_differs(sdist, wheel):
        raise SystemExit("The wheel that is built from the sdist differs from the one that is built from the checkout.")
    print("The wheel has every file of the packages, and the sdist builds the same wheel.")
    tried = 0
    for minor in MINORS:
        python = interpreter(minor)
        if python is None:
            print(f"Python 3.{minor}: ABSENT, not tried")
            continue
        print(f"Python 3.{minor}: {try_wheel(wheel, python)} installed; --version, check, explain and run work")
        tried += 1
    return 0 if tried else 1


if __name__ == "__main__":
    sys.exit(main())
