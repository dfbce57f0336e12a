"""Known vulnerabilities of the locked packages: ``python scripts/audit.py``.

Asks pip-audit for ``requirements/*.txt`` and npm for each ``package-lock.json``. The exit code is 1 where a vulnerability is
known. A package or lock that could not be checked, for instance without a network, is reported and fails nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYTHON_LOCKS = ("requirements/dev.txt",)
"""It contains ``run.txt``; a test compares them."""
NPM_FOLDERS = ("vscode-extension", "tests/oracle", "tests/runtime/third_party", "tests/server/sarif_schema")
SECONDS = 300
"""How long an index may take to answer."""


def answer(command: list[str], folder: Path) -> tuple[Any, str]:
    """The JSON that a command prints, or None, and the last line that it complains with."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed commands
            command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {SECONDS} seconds"
    complaint = next((line.strip() for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
    try:
        return json.loads(done.stdout), complaint
    except ValueError:
        return None, complaint


def python_findings(found: Any) -> tuple[list[str], list[str]]:
    """The vulnerabilities in a report of pip-audit, and the names of the packages that it could not check."""
    known, skipped = [], []
    for package in found["dependencies"]:
        if "skip_reason" in package:
            skipped.append(package["name"])
        for vulnerability in package.get("vulns", ()):
            fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
            known.append(f"{package['name']} {package['version']}: {vulnerability['id']}, fixed in {fixed}")
    return known, skipped


def npm_findings(found: Any) -> list[str] | None:
    """The vulnerabilities in a report of ``npm audit``; None where the report is an error."""
    if not isinstance(found, dict) or "vulnerabilities" not in found:
        return None
    return [
        f"{name}: {entry['severity']}, versions {entry['range']}" for name, entry in found["vulnerabilities"].items()
    ]


def check_python(lock: str) -> list[str]:
    """Print what is known about a lock of Python packages; the vulnerabilities."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "-r", lock]
    found, complaint = answer([*command, "--format", "json", "--progress-spinner", "off"], ROOT)
    if found is None:
        print(f"{lock}: NOT CHECKED, pip-audit can't reach its index ({complaint})")
        return []
    known, skipped = python_findings(found)
    checked = len(found["dependencies"]) - len(skipped)
    if not checked:
        print(f"{lock}: NOT CHECKED, the index that pip-audit asks knows none of the {len(skipped)} packages")
    else:
        print(f"{lock}: {checked} packages checked, {len(known)} vulnerabilities")
        if skipped:
            print(f"{lock}: NOT CHECKED: {', '.join(skipped)}")
    return known


def check_npm(folder: str) -> list[str]:
    """Print what is known about an npm lock; the vulnerabilities."""
    lock = f"{folder}/package-lock.json"
    npm = shutil.which("npm")
    if npm is None:
        print(f"{lock}: NOT CHECKED, npm is not installed")
        return []
    found, complaint = answer([npm, "audit", "--json", "--package-lock-only"], ROOT / folder)
    known = npm_findings(found)
    if known is None:
        reason = found.get("message") or complaint if isinstance(found, dict) else complaint
        print(f"{lock}: NOT CHECKED, npm can't ask its registry ({reason})")
        return []
    print(f"{lock}: checked, {len(known)} vulnerabilities")
    return known


def main() -> int:
    """All locks in turn; 1 where a vulnerability is known."""
    known = [line for lock in PYTHON_LOCKS for line in check_python(lock)]
    known += [line for folder in NPM_FOLDERS for line in check_npm(folder)]
    for line in known:
        print(f"VULNERABLE {line}")
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
