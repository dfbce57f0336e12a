"""The files that start a scheduler and workers: what they name is there, and SLURM's script does its work with a stand-in."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.workers.cluster import OWN, Shared, newest, rows_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "workers"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
OBJECTS = list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text("utf-8")))
SETTINGS = {"MERROW_JOURNAL", "OPENAI_BASE_URL", "OPENAI_API_KEY", "MERROW_CONCURRENCY"}
"""What a worker, and who leads them, must have in its environment."""


@cache
def help_of(*command: str) -> str:
    module = {"dask": "dask", "merrow": "merrow_server"}[command[0]]
    more = "--help-all" if module == "merrow_server" else "--help"
    return subprocess.run(
        [sys.executable, "-m", module, *command[1:], more], capture_output=True, text=True, check=True
    ).stdout


def commands() -> list[list[str]]:
    """All commands of the files, in words; what follows after ``docker compose run`` is one, too."""
    found = [one["command"] for one in COMPOSE["services"].values() if "command" in one]
    for one in OBJECTS:
        pod = one["spec"].get("template", {}).get("spec", {})
        found += [each["command"] + each.get("args", []) for each in pod.get("containers", ())]
    text = (FOLDER / "compose.yaml").read_text("utf-8")
    found += [shlex.split(line) for line in re.findall(r"run --rm (merrow .*)", text)]
    script = (FOLDER / "slurm.sh").read_text("utf-8").replace("\\\n", " ")
    found += [line.split() for line in re.findall(r"^(?:srun )?((?:dask|merrow) .*)$", script, re.MULTILINE)]
    return [words for words in found if words[0] in ("dask", "merrow")]


@pytest.mark.slow
def test_commands_have_no_option_that_the_programs_do_not_have() -> None:
    assert len(commands()) >= 8
    for words in commands():
        for option in (word for word in words if word.startswith("--")):
            assert re.search(rf"{option}\b", help_of(*words[:2])), (words, option)


def test_nobody_else_reaches_the_scheduler_of_the_compose_file() -> None:
    services = COMPOSE["services"]
    assert not any("ports" in one or one.get("network_mode") for one in services.values())
    assert "-c listen_addresses=" in " ".join(services["database"]["command"])
    for name in ("worker", "merrow"):
        assert set(services[name]["environment"]) == SETTINGS
        # The same address and the same paths for all, as the check of workers asks for.
        assert services[name]["volumes"] == services["worker"]["volumes"]
        assert "scheduler:8786" in (FOLDER / "compose.yaml").read_text("utf-8")
    named = {volume.partition(":")[0] for one in services.values() for volume in one.get("volumes", ())}
    assert {name for name in named if re.fullmatch(r"\w+", name)} == set(COMPOSE["volumes"])
    assert all(
        (FOLDER / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
        for one in services.values()
        if "build" in one
    )


def test_the_parts_of_the_manifests_fit_together() -> None:
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for one in OBJECTS:
        by_kind.setdefault(f"{one['apiVersion']} {one['kind']}", []).append(one)
    kinds = ["apps/v1 Deployment", "batch/v1 Job", "networking.k8s.io/v1 NetworkPolicy", "v1 Service"]
    assert sorted(by_kind) == kinds
    [service], [policy] = by_kind["v1 Service"], by_kind["networking.k8s.io/v1 NetworkPolicy"]
    assert service["spec"]["type"] == "ClusterIP"
    only = policy["spec"]["podSelector"]["matchLabels"]
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": only}}]}]
    reached = []
    for one in by_kind["apps/v1 Deployment"] + by_kind["batch/v1 Job"]:
        template = one["spec"]["template"]
        labels, pod = template["metadata"]["labels"], template["spec"]
        assert only.items() <= labels.items()
        if one["kind"] == "Deployment":
            assert one["spec"]["selector"]["matchLabels"].items() <= labels.items()
        reached += [one] if service["spec"]["selector"].items() <= labels.items() else []
        [container] = pod["containers"]
        if labels["part"] != "scheduler":
            assert {each["name"] for each in container["env"]} == SETTINGS | {"PGPASSWORD"}
            assert f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}" in " ".join(
                container["command"] + container.get("args", [])
            )
            assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    assert len(reached) == 1
    # The secret that its first lines make has what is read of it.
    made = set(re.findall(r"--from-literal=(\w+)=", (FOLDER / "kubernetes.yaml").read_text("utf-8")))
    assert made == set(
        re.findall(r"secretKeyRef: \{name: merrow, key: (\w+)\}", (FOLDER / "kubernetes.yaml").read_text("utf-8"))
    )


def test_the_script_is_one_of_bash_and_wants_a_shared_journal() -> None:
    script = FOLDER / "slurm.sh"
    subprocess.run(["bash", "-n", str(script)], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "MERROW_JOURNAL"}
    done = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the journal is in PostgreSQL, which all nodes reach" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="the script makes a certificate with openssl")
@pytest.mark.parametrize("team", ["postgres"], indirect=True)
def test_the_script_evaluates_and_leaves_nothing(at: Shared, tmp_path: Path) -> None:
    """With a program in the place of ``srun`` that starts one worker here."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (
        ("srun", 'exec "$@"'),
        ("dask", f'exec {sys.executable} -m dask "$@"'),
        ("merrow", f'exec {sys.executable} -m merrow_server "$@"'),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    before = sorted(Path.cwd().iterdir())
    done = subprocess.run(
        ["bash", str(FOLDER / "slurm.sh"), "flow.mmd", *OWN, "--fresh"],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(rows_of(newest())) == 40
    assert len(at.server.requests) == 120
    assert sorted(Path.cwd().iterdir()) == before
