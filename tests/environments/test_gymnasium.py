"""Environments of the package gymnasium: started only after consent, in a process of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.environments.play import REACT
from tests.runtime.openai_server import Reply, serving
from tests.server.program import in_process
from tests.server.terminal import terminals

from merrow_runtime.environments.interface import EpisodeError
from merrow_runtime.outside.hosts.gymnasium_host import MISSING, GymnasiumEnvironment

CART = REACT.replace("workflow:\n", "workflow:\n  environments: {cart: {gymnasium: CartPole-v1}}\n").replace(
    "env: textcraft", "env: cart"
)


class Array:
    """What numpy has, as far as it is asked."""

    def __init__(self, values: list[float]) -> None:
        self._values = values

    def tolist(self) -> list[float]:
        return self._values


class Discrete:
    def from_jsonable(self, values: list[Any]) -> list[int]:
        return [int(value) for value in values]

    def contains(self, action: object) -> bool:
        return action in (0, 1)

    def __repr__(self) -> str:
        return "Discrete(2)"


class Text(Discrete):
    pass


class Cart:
    def __init__(self, space: Discrete) -> None:
        self.action_space = space
        self.taken: list[object] = []
        self.begun: tuple[object, object] | None = None
        self.closed = False

    def reset(self, seed: int | None = None, options: object = None) -> tuple[Any, dict[str, Any]]:
        self.begun = seed, options
        return Array([0.5, 1.0]), {"lives": Array([3])}

    def step(self, action: object) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken.append(action)
        return {"cart": Array([1.5]), "pole": (1, None)}, 1, False, True, {}

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def cart(monkeypatch: pytest.MonkeyPatch) -> Cart:
    made = Cart(Discrete())
    module = ModuleType("gymnasium")
    module.make = lambda name: made if name == "Cart-v0" else None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gymnasium", module)
    return made


def test_observations_are_texts_and_actions_are_of_the_space(cart: Cart) -> None:
    environment = GymnasiumEnvironment("Cart-v0")
    begun = environment.reset({"seed": 4.0, "wind": 2})
    assert (begun.observation, begun.info, begun.done) == ("[0.5, 1.0]", {"lives": [3]}, False)
    assert cart.begun == (4, {"wind": 2})
    step = environment.step("I push it to the right.\n\n 1 ")
    assert (json.loads(step.observation), step.reward) == ({"cart": [1.5], "pole": [1, None]}, 1.0)
    assert (step.terminated, step.truncated) == (False, True)
    for wrong in ("2", "right", "", "[" * 9_000, "1" * 20_000, "null"):
        said = environment.step(wrong)
        assert (said.reward, said.done) == (0.0, False)
        assert len(said.observation) < 400
    assert cart.taken == [1]
    environment.close()
    assert cart.closed


def test_a_task_is_a_seed_with_options(cart: Cart) -> None:
    environment = GymnasiumEnvironment("Cart-v0")
    for task, begun in ((None, (None, None)), (3, (3, None)), ('{"seed": 5}', (5, None)), ({"a": 1}, (None, {"a": 1}))):
        environment.reset(task)
        assert cart.begun == begun
    for wrong in ({"seed": "x"}, {"seed": 0.5}, {"seed": True}, "nothing"):
        with pytest.raises(EpisodeError):
            environment.reset(wrong)


def test_a_space_of_texts_takes_the_action_as_it_is(cart: Cart) -> None:
    cart.action_space = Text()
    environment = GymnasiumEnvironment("Cart-v0")
    environment.step("go north\nand look")
    assert cart.taken == ["go north\nand look"]


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "cart.mmd").write_text(CART)
    return tmp_path


def test_nothing_is_started_before_the_user_agrees(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", "cart.mmd", "--input", "problem=1"]
    with serving(lambda _: Reply("1")) as model:
        refused = in_process(capsys, *given, "--base-url", model.base_url)
        assert refused.code != 0
        assert "CartPole-v1 of the package gymnasium" in refused.err
        assert not (flow / "state" / "trusted.json").exists()
        with terminals() as terminal:
            shown = terminal(*given, "--base-url", model.base_url, typed="y\n")
        # It is a process of Merrow's own Python, in which the package is not installed.
        assert "Start it?" in shown
        assert "The package gymnasium is not installed" in shown
        assert "gymnasium" not in sys.modules
        # Agreed to once, it is started without a question; another one is not.
        again = in_process(capsys, *given, "--base-url", model.base_url)
        assert MISSING.rpartition(":")[0] in again.err
        (flow / "cart.mmd").write_text(CART.replace("CartPole-v1", "CartPole-v0"))
        assert "CartPole-v0 of the package gymnasium" in in_process(capsys, *given, "--base-url", model.base_url).err
        assert model.requests == []
