# Needs Python 3.11 or later and nothing else: `make help` lists what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
FULL := $(VENV)/.full
BESIDE := .venv-integrations

# Whatever pip has to say about itself, a build does not wait for it.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start the program hundreds of times: what Python has compiled is kept, though the shell may ask for the opposite.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo test integrations check bench soak matrix docs pins clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(FULL) ## build the full environment

demo: $(RUNTIME) ## watch a live session, then compare four policies: a table, and build/demo.png
	@mkdir -p build
	$(BIN)/boxthirding demo --out build/demo.png

test: check ## run the checks and the tests
	$(BIN)/pytest -n 2 --ignore tests/integrations tests

integrations: $(BESIDE)/.ready ## test what works inside other tools, with the real ones, in an environment of its own
	$(BESIDE)/bin/pytest tests/integrations

check: $(FULL) ## lint, formatting, types, import layers, size
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m benchmarks.size

bench: $(BESIDE)/.ready ## measure speed, as ratios within one run, printed as JSON; fails when a limit is broken
	$(BESIDE)/bin/python -m benchmarks

soak: $(FULL) ## run the tests that take long: kills, races, load
	$(BIN)/pytest -m soak --ignore tests/integrations tests

matrix: $(RUNTIME) ## test the built wheel on Python 3.11 to 3.13, with the newest and the oldest NumPy and Numba
	$(BIN)/python -m benchmarks.matrix

docs: $(FULL) ## build the documentation into build/docs
	$(BIN)/sphinx-build -W --keep-going -b html docs build/docs

clean: ## remove everything that make made, the environment too
	rm -rf $(VENV) $(BESIDE) build dist docs/_pictures .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"Python is {v[0]}.{v[1]}, but must be at least 3.11: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# The backend is among the pins: without build isolation, nothing unpinned is ever fetched.
$(RUNTIME): requirements/runtime.txt pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/pip install --quiet --require-hashes -r requirements/runtime.txt
	$(BIN)/pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

$(FULL): requirements/dev.txt $(RUNTIME)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

$(BESIDE)/.ready: requirements/integrations.txt pyproject.toml
	test -x $(BESIDE)/bin/python || $(PYTHON) -m venv $(BESIDE)
	$(BESIDE)/bin/pip install --quiet --require-hashes -r requirements/integrations.txt
	$(BESIDE)/bin/pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

# The oldest Python resolves: a newer one may choose releases that it can no longer install.
# Pins stay where they are unless `make pins UPGRADE=--upgrade`.
PIN = build/pins/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-header --no-emit-options $(UPGRADE)

pins: ## recompile the requirement files
	@$(PYTHON) -c 'import sys; sys.version_info[:2] == (3, 11) or sys.exit("pins are made with Python 3.11: make pins PYTHON=python3.11")'
	$(PYTHON) -m venv build/pins
	build/pins/bin/pip install --quiet pip-tools
	$(PIN) -o requirements/runtime.txt requirements/runtime.in
	$(PIN) -o requirements/dev.txt requirements/dev.in
	$(PIN) -o requirements/integrations.txt requirements/integrations.in
