# `make demo` and `make test` set up what they need in a virtual environment of their own.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test bench docs lint format wheel-test clean

VENV ?= .venv
BIN := $(VENV)/bin
WHEEL = build/wheel$(VENV:.venv%=%)
CORE := */domain/*,*/ports/*,*/application/*

# The first that runs and is new enough; `make test PYTHON=...` chooses another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& echo $$python && break; done)

help:  ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/demo.done  ## Show a conversation stored, recalled and searched, on a Honcho kept in memory
	@$(BIN)/honcho-memory demo

test: $(VENV)/test.done  ## Run the tests and check their coverage
ifdef PYTEST_ARGS
	$(BIN)/python -m pytest --numprocesses auto $(PYTEST_ARGS)
else
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report=
	$(BIN)/coverage report --include='$(CORE)' --fail-under=100
	$(BIN)/coverage report --fail-under=95
endif

bench: $(VENV)/bench.done  ## Measure against the official SDK and DeerFlow's backend, into docs/benchmark.*
	@$(BIN)/python benchmarks/compare.py $(BENCH_ARGS)

docs: $(VENV)/docs.done  ## Build the documentation into site/; warnings are errors
	$(BIN)/python tools/settings_page.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Open site/index.html, or run: $(BIN)/mkdocs serve"

lint: $(VENV)/lint.done  ## Check style, types and the direction of dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/lint.done  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel-test: $(VENV)/build.done  ## Test the wheel without the source tree; LOWEST=1: with the oldest dependencies
	rm -rf $(WHEEL)
	$(BIN)/python -m build --outdir $(WHEEL)/dist
	$(BIN)/python -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --upgrade pip
ifdef LOWEST
	$(BIN)/python tools/lowest.py > $(WHEEL)/constraints.txt
	$(WHEEL)/bin/python -m pip install --quiet $(WHEEL)/dist/*.whl --group test -c $(WHEEL)/constraints.txt
else
	$(WHEEL)/bin/python -m pip install --quiet $(WHEEL)/dist/*.whl --group test
endif
	mkdir $(WHEEL)/project
	cp -R tests pyproject.toml $(WHEEL)/project
	cd $(WHEEL)/project && ../bin/python -m pytest --numprocesses auto --hypothesis-profile=light $(PYTEST_ARGS)

clean:  ## Remove everything that was made
	rm -rf .venv* build .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache site

$(VENV)/pip.done:
	@test -n "$(PYTHON)" || { \
		echo "Python 3.11 or newer is missing: install it, or name it with PYTHON=/path/to/python" >&2; \
		exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { \
		echo "$(PYTHON) cannot make a virtual environment: install its venv module" \
			"(on Debian the package python3-venv)" >&2; \
		exit 1; }
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/demo.done $(VENV)/test.done $(VENV)/bench.done $(VENV)/docs.done $(VENV)/lint.done $(VENV)/build.done: $(VENV)/pip.done pyproject.toml
	@echo "Setting up $(VENV)"
	@$(BIN)/python -m pip install --quiet $(NEEDS)
	@touch $@

$(VENV)/demo.done: NEEDS = --editable '.[cli]'
$(VENV)/test.done: NEEDS = --editable '.[cli]' --group test
$(VENV)/bench.done: NEEDS = --editable . --group bench
$(VENV)/docs.done: NEEDS = --editable '.[http,langchain,testing]' --group docs
$(VENV)/lint.done: NEEDS = --editable '.[cli]' --group dev
$(VENV)/build.done: NEEDS = --group build
