# Two commands for a fresh machine with Python 3.11+, make and npm:
#   make demo    checks a broken example, repairs it and shows the difference
#   make test    formatting, lint, types, import contracts and all tests
# Both set everything up by themselves, in .venv and node_modules, and are quick once that is done.

SHELL := bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHONS := $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
BIN := .venv/bin
VENV := .venv/.installed
NPM_FOLDERS := tests/oracle tests/server/sarif_schema tests/runtime/third_party vscode-extension
NPM := $(NPM_FOLDERS:%=%/node_modules/.installed)

.PHONY: help demo test lint types contracts unit extension workbench format docs setup node_modules clean

help:
	@sed -n '1,4s/^# \{0,1\}//p' Makefile

demo: $(VENV)
	@$(BIN)/python scripts/demo.py

test: lint types contracts unit extension workbench
	@echo "All is well: format, lint, types, import contracts, tests, extension, workbench."

lint: $(VENV)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(VENV)
	@$(BIN)/mypy

contracts: $(VENV)
	@$(BIN)/lint-imports

unit: $(VENV) $(NPM)
	@MERROW_REQUIRE_MERMAID=1 MERROW_REQUIRE_AIMOCK=1 $(BIN)/pytest -n 2 -q

# Lint, types, unit tests and the packed extension, vscode-extension/merrow.vsix.
extension: $(VENV) $(NPM)
	@cd vscode-extension && npm run --silent check

# The packed extension in a real workbench; says why where there is none (vscode-extension/test/e2e/README.md sets one up).
workbench: extension
	@cd vscode-extension && export E2E_VSIX=$(CURDIR)/vscode-extension/merrow.vsix && node test/host/run.mjs && node test/e2e/run.mjs

format: $(VENV)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)
	@$(BIN)/python scripts/generate_docs.py
	@$(BIN)/python scripts/generate_extension.py
	@$(BIN)/python scripts/make_images.py

setup: $(VENV) $(NPM)

node_modules: $(NPM)

$(VENV): pyproject.toml
	@echo "Setting up .venv ..."
	@for python in $(PYTHONS); do \
	  if "$$python" -c '$(USABLE)' 2>/dev/null; then \
	    "$$python" -m venv .venv && \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' && touch $@ && exit 0; \
	    exit 1; \
	  fi; \
	done; \
	echo "Merrow needs Python 3.11 or newer with the venv module; name one with: make PYTHON=/path/to/python" >&2; exit 1

%/node_modules/.installed: %/package.json %/package-lock.json
	@command -v npm >/dev/null || { echo "The tests need npm; install Node.js with npm and try again." >&2; exit 1; }
	@echo "Setting up $*/node_modules ..."
	@cd $* && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
	@touch $@

clean:
	@rm -rf .venv $(NPM_FOLDERS:%=%/node_modules) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
