"""Which means is taken, what is said of those that can't be, and that nothing runs where none is adequate."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import pytest
from tests.runtime.sandbox.conftest import run

from merrow_runtime.sandbox import Limits, Sandbox, SandboxRefusedError, TestResult, available_backends, backends
from merrow_runtime.sandbox.results import BackendStatus

CODE = "def solve():\n    return 1"

# A container engine that runs its guest without a container: it shows how it is called and spoken to, not that it holds.
ENGINE = """#!{python}
import os, sys
log = open({log!r}, "a")
print(*sys.argv[1:], sep="\\x1f", file=log, flush=True)
words = sys.argv[1:]
if words[0] == "image":
    sys.exit(words[2] != "python:3.12-slim")
if words[0] == "run":
    environment = dict(words[i + 1].split("=", 1) for i, word in enumerate(words) if word == "--env")
    at = words.index("python:3.12-slim")
    os.execve(sys.executable, [sys.executable, *words[at + 2:]], {{**environment, "HOME": "/", "TMPDIR": "/"}})
"""


def test_every_means_says_what_it_holds_and_why_it_can_be_used_or_not() -> None:
    found = {means.name: means for means in available_backends()}

    assert list(found) == ["landlock", "bubblewrap", "seatbelt", "container", "none"]
    assert all(means.why and means.holds for means in found.values())
    assert found["seatbelt"].usable is (sys.platform == "darwin")
    assert "files" not in found["none"].holds


def test_the_means_in_force_can_be_asked(default_means: str) -> None:
    assert run(Sandbox().status()).name == default_means
    assert run(Sandbox(default_means).evaluate(CODE)).value == "1"


def test_limits_alone_need_leave() -> None:
    with pytest.raises(SandboxRefusedError, match="allow unsafe execution explicitly"):
        run(Sandbox("none").evaluate(CODE))
    assert run(Sandbox("none", allow_unsafe=True).evaluate(CODE)).value == "1"
    assert run(
        Sandbox("none", allow_unsafe=True).test("def f():\n    return 1", ["assert f() == 1"], "f")
    ) == TestResult(True, (), "passed")


def test_without_an_adequate_means_nothing_runs_unless_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system that has none of them."""
    for one in backends._BACKENDS:
        if one.name != "none":
            monkeypatch.setattr(one, "status", lambda self: BackendStatus(self.name, False, "not here", ()))

    with pytest.raises(SandboxRefusedError) as refused:
        run(Sandbox().evaluate(CODE))

    assert str(refused.value).startswith("Generated code was not run: no adequate sandbox is available; ")
    assert str(refused.value).endswith(", or allow unsafe execution explicitly.")
    assert run(Sandbox(allow_unsafe=True).status()).name == "none"
    assert run(Sandbox(allow_unsafe=True).evaluate(CODE)).value == "1"


def test_leave_to_run_unsafely_does_not_replace_a_sandbox_that_is_there(default_means: str) -> None:
    assert run(Sandbox(allow_unsafe=True).status()).name == default_means


def test_a_means_that_can_not_be_used_is_refused_with_the_reason() -> None:
    missing = next((means for means in available_backends() if not means.usable), None)
    if missing is None:
        pytest.skip("every means can be used here")

    with pytest.raises(SandboxRefusedError) as refused:
        run(Sandbox(missing.name).evaluate(CODE))

    assert missing.name in str(refused.value)
    assert missing.why in str(refused.value)


def test_an_unknown_means_is_a_wrong_use() -> None:
    with pytest.raises(ValueError, match="choose one of landlock, bubblewrap"):
        run(Sandbox("jail").evaluate(CODE))


def answering(*images: str) -> str:
    """A container engine that answers and has these images."""
    return f'#!/bin/sh\ncase "$1" in version) exit 0;; esac\ncase " {" ".join(images)} " in *" $3 "*) exit 0;; esac\nexit 1\n'


@pytest.mark.skipif(sys.platform == "win32", reason="programs of POSIX")
@pytest.mark.parametrize(
    ("engines", "usable", "why"),
    [
        ({}, False, "docker is not installed; podman is not installed"),
        ({"docker": "#!/bin/sh\nexit 1\n"}, False, "docker does not answer; podman is not installed"),
        ({"docker": "\x7fELF of another machine"}, False, "docker does not answer; podman is not installed"),
        (
            {"podman": answering("alpine")},
            False,
            "docker is not installed; podman has no Python image: run `podman pull python:3.13-slim`",
        ),
        (
            {"docker": answering("alpine"), "podman": answering("python:3-slim")},
            True,
            "podman with the image python:3-slim",
        ),
        (
            {"docker": answering("python:3.11-slim", "python:3.12-slim"), "podman": answering("python:3.13-slim")},
            True,
            "docker with the image python:3.12-slim",
        ),
    ],
    ids=["none", "no answer", "no program", "no image", "the second engine", "the first image"],
)
def test_a_container_needs_an_engine_that_answers_and_an_image(
    engines: dict[str, str], usable: bool, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, script in engines.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = (means for means in available_backends() if means.name == "container")
    assert (found.usable, found.why) == (usable, why)
    if not usable:
        with pytest.raises(SandboxRefusedError) as refused:
            run(Sandbox("container").evaluate(CODE))
        assert f"the sandbox 'container' can't be used here ({why}); choose another one." in str(refused.value)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `docker` that is first on the path; its log of calls."""
    log = tmp_path / "log"
    program = tmp_path / "docker"
    program.write_text(ENGINE.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return log


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the guest in a container is Linux's")
def test_a_container_is_started_closed_and_ended(engine: Path) -> None:
    sandbox = Sandbox("container", Limits(memory_mb=700, wall_s=20))
    assert run(sandbox.evaluate(CODE)).value == "1"
    assert run(sandbox.test("def f(x):\n    return x", ["assert f(1) == 1"], "f")).passed

    calls = [line.split("\x1f") for line in engine.read_text().splitlines()]
    starts = [call for call in calls if call[0] == "run"]
    assert len(starts) == 3
    for words in starts:
        pairs = dict(itertools.pairwise(words))
        assert (pairs["--network"], pairs["--pull"], pairs["--cap-drop"], pairs["--memory"]) == (
            "none",
            "never",
            "ALL",
            "700m",
        )
        assert {"--read-only", "--rm", "--init"} <= set(words)
        assert ["kill", pairs["--name"]] in calls


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="on macOS its own sandbox comes first")
def test_where_the_guest_can_not_lock_itself_in_nothing_is_run(tmp_path: Path, engine: Path) -> None:
    """An engine whose guest fails before it is closed: refused, with its words."""
    program = tmp_path / "docker"
    program.write_text(
        program.read_text().replace("    os.execve(", "    sys.exit('no such container')\n    os.execve(")
    )

    with pytest.raises(SandboxRefusedError, match="no such container"):
        run(Sandbox("container").evaluate(CODE))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the guest in a container is Linux's")
def test_a_container_is_sent_source_since_its_python_may_be_another_one(tmp_path: Path, engine: Path) -> None:
    program = tmp_path / "docker"
    reads = "import marshal; sent = marshal.loads(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))"
    told = "sys.exit('sent ' + ' and '.join({type(code).__name__ for _, code in sent}))"
    program.write_text(program.read_text().replace("    os.execve(", f"    {reads}; {told}\n    os.execve("))

    with pytest.raises(SandboxRefusedError, match=r"\(sent str\)"):
        run(Sandbox("container").evaluate(CODE))


def test_a_profile_for_macos_denies_first_and_names_the_folder() -> None:
    """What can be told without macOS: its form."""
    from merrow_runtime.sandbox.backends.seatbelt import profile

    text = profile('/private/tmp/a"b.c', ["/usr/lib"], ["/packages"])

    assert text.index("(deny default)") < text.index("(allow")
    assert '(subpath "/private/tmp/a\\"b.c")' in text
    assert "(deny network*)" in text
    assert "(deny process-fork)" in text
    assert text.count("(") == text.count(")")


def test_a_guest_on_macos_is_started_under_the_profile_of_its_real_folder(tmp_path: Path) -> None:
    from merrow_runtime.sandbox.backends.base import environment, resource_limits
    from merrow_runtime.sandbox.backends.seatbelt import Seatbelt

    real, limits = tmp_path / "real", Limits()
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    start = Seatbelt().start(tmp_path / "link", limits)
    program, option, text, interpreter, *_ = start.command
    assert (program, option) == ("/usr/bin/sandbox-exec", "-p")
    assert interpreter == os.path.realpath(interpreter) or interpreter == sys.executable
    assert f'(allow file-read* (subpath "{os.path.realpath(real)}"))' in text
    assert str(tmp_path / "link") not in text
    assert start.environment == environment(os.path.realpath(real))
    assert start.lock == {"limits": resource_limits(limits)}
    for folder in start.libraries:
        assert f'(allow file-read-data (literal "{os.path.realpath(folder)}"))' in text
