# Everything a person does with this project. `make help` lists it.
SHELL := /bin/bash
# The system's own Python 3.11 first, if it can make environments: distributions compile theirs with optimizations, pyenv
# by default does not, and the tests of the pure core then need a tenth more CPU.
PYTHON ?= $(shell for python in /usr/bin/python3.11 python3.11 python3; do \
  $$python -c 'import ensurepip, venv' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
READY := .venv/.ready
PROOFS := tests/shared/end_to_end tests/lake tests/test_bench.py tests/e2e/test_demo.py \
  tests/e2e/test_platforms.py tests/e2e/test_slow_receiver.py tests/e2e/test_dbt_beside_a_notebook.py \
  tests/shared/publishing/test_unchanged_jobs.py tests/shared/governance tests/faults/test_watching.py \
  tests/e2e/test_import_dbt.py tests/throughline/models
# Two more than cores: many tests wait for worlds and timers.
WORKERS ?= 4
# Hundreds of test processes start: all but the first read compiled modules, also where the machine forbids to keep them.
export PYTHONDONTWRITEBYTECODE :=
# Behind a proxy that opens TLS: each program reads the proxy's certificates from a variable of its own.
CERTIFICATES := $(or $(SSL_CERT_FILE),$(REQUESTS_CA_BUNDLE),$(PIP_CERT))
ifneq ($(CERTIFICATES),)
export SSL_CERT_FILE := $(CERTIFICATES)
export PIP_CERT := $(or $(PIP_CERT),$(REQUESTS_CA_BUNDLE),$(SSL_CERT_FILE))
export NODE_EXTRA_CA_CERTS := $(or $(NODE_EXTRA_CA_CERTS),$(CERTIFICATES))
endif
CORE := tests/shared/openlineage tests/shared/naming tests/shared/translation tests/shared/atlas tests/test_golden.py \
  tests/test_architecture.py tests/test_mirror.py

.DEFAULT_GOAL := help
.PHONY: help setup demo up atlas atlas-contract check test test-bare core lint types compiled tests capture coverage runtimes reference bench fuzz faults faults-long proofs plan-truth soak bench-spark func-delivery plan-delays jar wheel package lock format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Install what the others need into .venv and build/ (they do it by themselves)

demo: $(READY) ## Run the example jobs on real Spark (SPARK=4: on 4.1; FUNC=1: by func start; CATALOG=atlas: into a real Apache Atlas)
	@$(BIN)/throughline demo $(if $(SPARK),--spark $(SPARK)) $(if $(FUNC),--func) $(if $(CATALOG),--catalog $(CATALOG)) $(ARGS)

up: $(READY) ## Keep the local world running, and print the Spark settings that report to it
	@$(BIN)/throughline up $(if $(FUNC),--func) $(ARGS)

atlas: $(READY) ## Run a real Apache Atlas (DELETES=hard: what is deleted goes), empty, until Ctrl-C
	@$(BIN)/python -m tests.support.real_atlas $(if $(DELETES),--deletes $(DELETES)) $(ARGS)

atlas-contract: $(READY) ## Hold the catalog's contract to a real Apache Atlas, with soft and with hard deletes
	$(BIN)/pytest --atlas --timeout 3600 -m contract -k atlas- $(ARGS)

check: $(READY) ## Lint, types and the tests of the pure core, in a minute
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint types core

test: $(READY) ## Lint, types and all tests: what CI runs
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint types compiled
	@$(MAKE) --no-print-directory tests

core: $(READY) ## Only the tests of the pure core
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(CORE) $(ARGS)

test-bare: $(READY) ## All tests as on a machine without Java, Node and npm
	@for part in java node; do $(BIN)/python -m tests.bare $(BIN)/python -m throughline.local.toolchain.$$part || exit 1; done
	$(BIN)/python -m tests.bare $(MAKE) tests

lint: $(READY) ## Only the linter and the formatter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## Only the types
	$(BIN)/mypy

# One process compiles all tests while types are checked; without it, each worker compiles them for itself.
compiled: $(READY)
	@$(BIN)/pytest --collect-only --quiet --quiet > build/collected.log || { cat build/collected.log; exit 1; }

tests: $(READY) ## Only the tests
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

capture: $(READY) ## Run the scenarios on real Spark and keep their events (ARGS=--all: on every version)
	$(BIN)/python -m tests.capture $(ARGS)

coverage: $(READY) ## Write docs/reference/coverage.md from the kept events: which scenario gives what on which version
	$(BIN)/python -m tests.capture.coverage

reference: $(READY) ## Write docs/reference/cli*.md and unproven.md from commands, rules and claims
	$(BIN)/python -m tests.pages

runtimes: reference ## Write the tables of runtimes into the pages of the platforms

bench: $(READY) ## Measure: ratios taken in one run, also written to build/bench.json
	$(BIN)/python -m tests.bench $(ARGS)

fuzz: $(READY) ## Damage real events for SECONDS (600) and look for what the core does not withstand
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600) $(ARGS)

faults: $(READY) ## Live through histories for SECONDS (600) on storage and catalog that fail, and compare how they end
	@$(BIN)/python -m tests.faults --seconds $(or $(SECONDS),600) $(ARGS)

faults-long: $(READY) ## Live through seeds 0 to 5,000 by each way of delivery, one after another: the proof before a release
	@failed=0; for way in eventGrid polling emulator queue; do \
	  $(BIN)/python -m tests.faults --seeds 0 5000 --delivery $$way $(ARGS) || failed=1; done; exit $$failed

proofs: $(READY) plan-truth ## Run whole what make test runs a slice of: deaths at each call, random histories, the lake in steps
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --proofs --timeout 3600 $(PROOFS) $(ARGS)

plan-truth: $(READY) ## Hold the plan reader to sqlglot on the queries of TPC-DS (Spark 3.5, 4.1), and to cells that carry their origin
	$(BIN)/python -m tests.plan_truth.tpcds
	$(BIN)/python -m tests.plan_truth.tpcds --spark 4.1
	$(BIN)/python -m tests.plan_truth.tracer

plan-delays: $(READY) ## Run what was captured with plans over slow, cold and failing networks, on both Sparks (takes an hour or more)
	@$(BIN)/python -m tests.spark_listener.delays $(ARGS)

soak: $(READY) ## Kill parts of a real local world in ROUNDS (100) rounds while events are sent: nothing lost, nothing twice
	@$(BIN)/python -m tests.soak --rounds $(or $(ROUNDS),100) $(ARGS)

func-delivery: $(READY) ## Send EVENTS (2000) to a world as func start runs it, and see when all are published
	@$(BIN)/python -m tests.func_delivery --events $(or $(EVENTS),2000) $(ARGS)

package: $(READY) ## Build the archive that Azure runs (DELIVERY=queue: for a queue that Event Grid fills)
	@$(BIN)/python -m throughline.package $(if $(DELIVERY),--delivery $(DELIVERY)) $(ARGS)
	@$(BIN)/python -m throughline.sbom

bench-spark: $(READY) ## Measure the lake, EVENTS (1000000) from archive to gold, also into build/bench-spark.json
	@$(BIN)/python -m tests.bench.spark_lake --events $(or $(EVENTS),1000000) $(ARGS)

jar: $(READY) ## Build throughline-plan.jar, which sends Spark's own plans beside the listener's events
	@$(BIN)/python -m throughline.plan_jar

wheel: $(READY) ## Build the wheel of `throughline`: the library, the command, and the lake for Spark clusters
	@$(BIN)/python -m hatchling build -t wheel -d build/wheel

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

lock: $(READY) ## Resolve requirements/*.in into the pinned, hashed files again
	for pair in functions:requirements.txt dev:requirements/dev.txt uv:requirements/uv.txt package:requirements/package.txt \
	  java17:requirements/java17.txt java21:requirements/java21.txt \
	  spark3:requirements/spark3.txt spark4:requirements/spark4.txt atlas:requirements/atlas.txt \
	  spark33:requirements/spark33.txt spark34:requirements/spark34.txt \
	  great_expectations:requirements/great_expectations.txt dbt:requirements/dbt.txt; do \
	  $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	    requirements/$${pair%%:*}.in --output-file $${pair##*:} || exit 1; done

clean: ## Delete what was built, and the local world's data
	rm -rf build .venv

$(BIN)/uv: requirements/uv.txt
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 is needed: install it, or say where it is with make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "making .venv with $(PYTHON)"
	@$(PYTHON) -m venv .venv
	@mkdir -p build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt \
	  > build/setup.log 2>&1 || $(NO_PACKAGES)
	@touch $@

$(READY): $(BIN)/uv requirements/dev.txt pyproject.toml throughline/local/runtime.txt throughline/local/azurite/package-lock.json
	@echo "installing Python packages (the first time takes a minute: PySpark is large)"
	@mkdir -p build
	@# --no-deps: the file pins all; to resolve it, uv would build PySpark once more for its metadata (900 MB in its cache).
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements/dev.txt \
	  > build/setup.log 2>&1 || $(NO_PACKAGES)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . \
	  >> build/setup.log 2>&1 || $(NO_PACKAGES)
	@echo "looking for Java and Node, installing Azurite and the functions runtime, building throughline-plan.jar"
	@for part in local.toolchain.java local.toolchain.node plan_jar "local.azurite install" "local.host install"; do $(BIN)/python -m throughline.$$part >/dev/null || exit 1; done
	@touch $@

NO_PACKAGES = { echo "The Python packages could not be installed: is there a network, and does it reach PyPI?" \
  "Behind a proxy that opens TLS, set SSL_CERT_FILE to the file of its certificates (PEM)." \
  "What was said is in build/setup.log"; exit 1; }
