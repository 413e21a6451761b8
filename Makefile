# Everything happens in .venv, which the first command makes. `make help` lists what there is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Processes that share the tests, file by file. `pytest` alone runs them in one.
TESTERS ?= 2

# Bytecode is written whatever the shell says: tests start many processes that would compile every module again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
# How long `make fuzz` starts new worlds.
FUZZ_SECONDS ?= 600

.PHONY: help setup demo test check bench fuzz docs format clean parity-atari

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing worldloom and its tools into $(VENV) (three or four minutes and 3.5 GB the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile torch==2.13.0 2>&1 | grep -v '^WARNING: Location' || true
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[dev,atari,compat,jax,view,cluster]' 2>&1 | grep -v '^WARNING: Location' || true
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps ai-economist==1.7.1 2>&1 | grep -v '^WARNING: Location' || true  # data files for tests; none of its code is run
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true  # what pip was kept from, on all cores; a template of some package is no Python
	@$(BIN)/python -c 'import torch, warp, worldloom'
	@touch $@

setup: $(STAMP)  ## Make the virtual environment and install everything

demo: $(STAMP)  ## Train CartPole on the CPU into runs/demo, with a curve and a video, and evaluate it
	@rm -rf runs/demo
	@$(BIN)/worldloom train CartPole-v1 --device cpu --seed 0 --run-dir runs/demo
	@$(BIN)/worldloom eval runs/demo

test: $(STAMP)  ## Run the tests
	@$(BIN)/python -m pytest --numprocesses $(TESTERS) --dist loadfile --no-loadscope-reorder

check: $(STAMP)  ## Lint, formatting, types and the directions of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP)  ## Run the benchmarks of docs/benchmarks.md on this machine
	@$(BIN)/python benchmarks/run.py

fuzz: $(STAMP)  ## Compare fresh random worlds with the reference interpreter for FUZZ_SECONDS (600)
	@$(BIN)/python -m worldloom.testing.fuzz --seconds $(FUZZ_SECONDS) --processes $(TESTERS) --devices python,cpu

docs: $(STAMP)  ## Check that the documentation's links and code blocks hold
	@$(BIN)/python -m pytest tests/test_docs.py

parity-atari: $(STAMP)  ## Compare every Atari game with ALE, frame by frame, and write docs/worlds/atari_parity.md (10 minutes)
	@$(BIN)/python tests/parity/atari_report.py --write

format: $(STAMP)  ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:  ## Remove the virtual environment and caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
