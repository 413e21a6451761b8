# All targets use the virtual environment .venv, which the first command creates. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
STAMP := $(VENV)/.installed

# Worker processes of the tests. Each starts with one half of the files and takes tests of the other when it is done.
# `pytest` alone runs all tests in one process.
TESTERS ?= 2
# How long `make fuzz` generates new worlds.
FUZZ_SECONDS ?= 600

# The files that `make test-fast` runs: the language of systems, schedule and lifecycle, parts of learning, documentation.
FAST := test_accumulate test_bounds test_conditions test_hints test_integer_overflow test_language test_language_edges \
	test_language_properties test_language_rows test_python_target \
	test_entity test_fields test_registry test_schedule test_fusion test_lifecycle test_autoreset test_wrong_worlds \
	test_advantages test_storage test_distributions test_config_validation test_make test_architecture test_reference_pages

# Bytecode is written even where the shell disables it: the tests start many processes that import the same modules.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-thorough check bench fuzz docs format clean parity-atari parity-overcooked

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
# pip warns about every script that it installs outside of PATH; the exit status is that of pip.
QUIET := 2> >(grep -v '^WARNING: Location' >&2)
# Compiles what pip left uncompiled, on all cores. Some packages contain templates that are not valid Python.
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true
SHELL := bash

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

$(DEMO): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing worldloom into $(VENV) (a minute or two the first time)"
	@$(PIP) --editable '.[view]' $(QUIET)
	@$(COMPILE)
	@$(BIN)/python -c 'import torch, warp, worldloom'
	@touch $@

$(STAMP): $(DEMO)
	@echo "installing what the tests and checks need into $(VENV) (two or three minutes the first time)"
	@$(PIP) --editable '.[dev,atari,robots,compat,jax,cluster]' $(QUIET)
	@$(PIP) --no-deps ai-economist==1.7.1 $(QUIET)  # only its data files are read, by tests
	@CMAKE_POLICY_VERSION_MINIMUM=3.5 $(PIP) hanabi-learning-environment $(QUIET) \
		|| echo "hanabi-learning-environment needs a C++ compiler and CMake: tests against it are skipped"
	@$(PIP) --no-deps overcooked-ai==1.1.0 $(QUIET)  # the reference of Overcooked; tests have a stand-in for gym
	@$(COMPILE)
	@touch $@

setup: $(STAMP)  ## Create the virtual environment and install everything

demo: $(DEMO)  ## Train CartPole on the CPU into runs/demo, with a curve and a video, and evaluate it
	@rm -rf runs/demo
	@$(BIN)/worldloom train CartPole-v1 --device cpu --seed 0 --run-dir runs/demo --eval-every 1e6 --eval-episodes 100

test: $(STAMP)  ## Run all tests in TESTERS (2) processes; PYTEST_OPTIONS adds options
	@$(BIN)/python -m pytest --numprocesses $(TESTERS) --dist worksteal $(PYTEST_OPTIONS)

test-fast: $(STAMP)  ## Run a selection of quick tests in under a minute
	@$(BIN)/python -m pytest -q --numprocesses $(TESTERS) --dist worksteal \
		$$(find tests $(foreach name,$(FAST),-name $(name).py -o) -false)

test-thorough: $(STAMP)  ## Run all tests with every case of those of which `make test` runs a sample
	@WORLDLOOM_THOROUGH=1 $(BIN)/python -m pytest --numprocesses $(TESTERS) --dist worksteal $(PYTEST_OPTIONS)

check: $(STAMP)  ## Check style, formatting, types and the directions of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP)  ## Run the benchmarks of docs/benchmarks.md on this machine
	@$(BIN)/python benchmarks/run.py

fuzz: $(STAMP)  ## Compare new random worlds with the reference interpreter for FUZZ_SECONDS (600)
	@$(BIN)/python -m worldloom.testing.fuzz --seconds $(FUZZ_SECONDS) --processes $(TESTERS) --devices python,cpu

docs: $(STAMP)  ## Regenerate the reference pages, then test links and code of the documentation
	@$(BIN)/python docs/reference/generate.py
	@$(BIN)/python -m pytest tests/test_docs.py tests/test_architecture.py tests/test_reference_pages.py

parity-atari: $(STAMP)  ## Compare every Atari game with ALE, frame by frame, and write docs/worlds/atari_parity.md (10 minutes)
	@$(BIN)/python tests/parity/atari_report.py --write

parity-overcooked: $(STAMP)  ## Compare every layout of Overcooked with overcooked-ai, 400 episodes each (1 to 2 hours)
	@$(BIN)/python tests/parity/overcooked_report.py

format: $(STAMP)  ## Format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:  ## Remove the virtual environment and caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
