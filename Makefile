# Everything runs in an environment of its own, .venv: with uv where it is installed, else with venv and pip.
# A stamp file remembers a finished installation; it is redone when pyproject.toml or constraints.txt changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
WORKERS ?= 2
REFERENCE ?= python3
CONFIGS ?= ../shared/hub/configs
N ?= 10000
FIRST ?= 0

# Without compiled files every process would compile every import again.
unexport PYTHONDONTWRITEBYTECODE
# An environment or path of the caller's must not mix with ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

ifdef UV
MAKE_VENV = uv venv --quiet --seed --allow-existing --python '>=3.11' $(VENV)
INSTALL = uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt
else
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help atlas test check dist bench soak digests oracle news peers changed class-defaults library config-mutants mutants vocabulary clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

atlas: $(VENV)/installed ## set up, then build the snapshot and the guide from the catalogue (no network once set up)
	$(BIN)/atlas refresh --source catalogue

digests: $(VENV)/installed ## write the digests of the catalogue's snapshot, to be committed with the guide
	rm -rf $(VENV)/digests
	$(BIN)/atlas refresh --source catalogue --home $(VENV)/digests >$(VENV)/digests.log
	$(BIN)/python -c "from pathlib import Path; from pipeline.store import cite; cite.record(Path('$(VENV)/digests'))"

test: $(VENV)/installed-dev ## run the tests
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(VENV)/installed-dev ## lint, format, types, and the committed guide against a fresh one
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	rm -rf $(VENV)/guide
	$(BIN)/atlas refresh --source catalogue --home $(VENV)/guide >$(VENV)/guide.log 2>&1
	! grep 'differs from the published' $(VENV)/guide.log
	$(BIN)/atlas guide check --home $(VENV)/guide
	diff -r $(VENV)/guide/reports/guide reports/guide

dist: $(VENV)/installed-dev ## build the wheel and the sdist into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist

bench: $(VENV)/installed-dev ## measure speed and memory
	$(BIN)/python tests/bench

soak: $(VENV)/installed-dev ## run the long tests (minutes)
	$(BIN)/python -m pytest -m soak

oracle: $(VENV)/installed-dev ## compare every family with the reference figures beside this checkout
	$(BIN)/python tests/tables/oracle_table.py

news: $(VENV)/installed-dev ## compare with the gallery and the public catalogue
	$(BIN)/python tests/tables/news_table.py

config-mutants: $(VENV)/installed-dev ## change one key of a published config, N times, and ask the library: REFERENCE=its Python, N=10000, FIRST=0
	$(REFERENCE) tests/tables/library_mutants.py $(CONFIGS) $(N) $(FIRST) >$(VENV)/mutants.jsonl
	$(BIN)/python tests/tables/mutants_table.py $(CONFIGS) <$(VENV)/mutants.jsonl

peers: $(VENV)/installed-dev ## compare with other public tools
	$(BIN)/python tests/tables/peers_table.py

changed: $(VENV)/installed-dev ## sum up what changed between two snapshots of the catalogue (FROM=, TO=)
	$(BIN)/python tests/tables/changed_table.py $(FROM) $(TO)

class-defaults: $(VENV)/installed-dev ## ask the library's classes for their defaults again (REFERENCE=a Python with transformers)
	ATLAS_REFERENCE_PYTHON=$(REFERENCE) $(BIN)/python tests/support/class_defaults.py

library: $(VENV)/installed-dev ## ask the library again what short models of every row weigh (REFERENCE=a Python with torch and transformers)
	$(BIN)/python tests/tables/library_answers.py $(REFERENCE)

mutants: $(VENV)/installed-dev ## change 300 points one at a time and see which no test notices (half an hour)
	$(BIN)/python tests/tables/mutants.py

vocabulary: $(VENV)/installed-dev ## list the parts, layouts, ends and fields that rows may name, from the code
	$(BIN)/python tests/support/vocabulary.py

clean: ## remove the environment and caches; snapshots and the guide stay
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(MAKE_VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/installed
