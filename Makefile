# Two commands for a newcomer: `make demo` and `make test`. Each sets up what it needs; a second run is quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/chronicle/bin
export PATH := $(TOOLS):$(PATH)
# These run side by side; the others start JVMs and brokers of their own, so one after another.
QUICK := not spark and not kafka and not slow

.DEFAULT_GOAL := help
.PHONY: help setup jars helm demo test test-quick test-deep lint format bench bench-quick contenders lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(READY) ## Make .venv with the chronicle command in it
	@sh deploy/java.sh

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Chronicle needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

jars: setup ## Let Maven copy the Kafka and Delta jars into the cache (the embedded default needs none)
	@sh deploy/jars.sh

helm: ## Build Helm from the Go module proxy into the cache, for the tests of the chart (needs go)
	@test -x $(TOOLS)/helm || GOBIN=$(TOOLS) go install helm.sh/helm/v3/cmd/helm@v3.19.0

demo: setup ## 200,000 calls through the engine: bills, a moving sum, the ledger, a refused view
	@$(BIN)/python examples/demo.py

test: lint jars ## Everything CI runs: lint, types, import contracts, all tests
	$(BIN)/pytest -n 2 -m "$(QUICK)"
	$(BIN)/pytest -m "not ($(QUICK)) and not deep" --durations=10 -rs

test-quick: setup ## The quick loop: no Spark, no broker, no killed processes
	$(BIN)/pytest -n 2 -m "$(QUICK)"

test-deep: lint jars helm ## The long campaigns (hours)
	HYPOTHESIS_PROFILE=deep $(BIN)/pytest --timeout=7200

lint: setup ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup ## Let ruff format and fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: contenders ## The full benchmark, written to benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

bench-quick: contenders ## The same at small sizes, under five minutes, to benchmarks/.quick
	$(BIN)/python -m benchmarks --quick

contenders: jars ## What the benchmarks compare with: Polars, Flink, Pathway
	@sh benchmarks/contenders.sh $(abspath $(BIN)/python)

lock: setup ## Pin every dependency anew, with hashes and without hosts (needs uv)
	uv pip compile --quiet pyproject.toml --extra dev --group build --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header --no-annotate --output-file requirements.lock

clean: ## Remove everything that was made
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info build demo
