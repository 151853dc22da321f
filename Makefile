# pyrs: `make demo` and `make test` do all the set-up on a fresh machine. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JAR := pyrs/jvm/jars/pyrs.jar
GRADLE := gradle --console=plain --no-daemon -q
LIBRARIES := tests/interop/jars
# The jar carries the package's version, so that file is one of its sources.
JAR_SOURCES := $(shell find jvm -path jvm/build -prune -o -path jvm/.gradle -prune -o -path jvm/src/test -prune \
  -o -type f -print 2>/dev/null) pyrs/__init__.py

.PHONY: help setup system demo test test-all test-interop lint docs wheel conformance release-check bench nightly versions test-spark clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: system $(VENV)/.ready $(JAR) ## what demo and test share: JDK, Gradle, .venv, the jar

system:
	@.ci/system-packages

$(VENV)/.ready: pyproject.toml | system
	@echo "pyrs: creating $(VENV) and installing the Python packages (PySpark is large; the first time takes a few minutes)"
	@$(PYTHON) -c 'import sys; sys.exit("pyrs: Python 3.10 or later is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 10) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 --editable '.[dev]'
	@touch $@

$(JAR): $(JAR_SOURCES) | system
	@echo "pyrs: building the jar"
	@mkdir -p build
	@$(GRADLE) -p jvm assemble >build/jar.log 2>&1 || { cat build/jar.log >&2; exit 1; }
	@touch $@

# The libraries that the tests meet: Reactor, RxJava, Akka Streams, H2 over R2DBC.
build/interop.stamp: $(LIBRARIES)/build.gradle | system
	@echo "pyrs: fetching the JVM libraries that the tests meet"
	@mkdir -p build
	@$(GRADLE) -p $(LIBRARIES) >build/interop.log 2>&1 || { cat build/interop.log >&2; exit 1; }
	@touch $@

demo: setup ## MovieLens through Spark's driver, Reactor, a Python Processor and back, with back pressure
	@$(BIN)/python -m pyrs demo

test: setup build/interop.stamp ## every test: Python, JPype in a process of its own, Java
	@$(BIN)/python .ci/test.py

test-all: setup build/interop.stamp ## every test, campaigns and nightly forms included; takes hours
	@$(BIN)/python .ci/test.py --all

test-interop: setup ## every system of docs/interop.md against its real component: make test-interop SYSTEM=kafka for one
	@$(BIN)/python -m tests.interop.systems $(SYSTEM)

lint: setup ## ruff, mypy --strict, the layer order
	@echo "pyrs: ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "pyrs: mypy --strict"
	@$(BIN)/mypy
	@echo "pyrs: layers, file sizes, public names"
	@$(BIN)/python -m pytest -q tests/project/test_architecture.py

docs: setup ## the documentation, strictly, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file .mkdocs.yml
	@echo "pyrs: site/index.html"

wheel: setup ## a wheel that holds the jar, into dist/
	@rm -rf dist
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist . >build/wheel.log 2>&1 || { cat build/wheel.log >&2; exit 1; }
	@ls dist/*.whl

# aioreactive asks for an older RxPY than the one that the core is measured against; it runs with both.
build/rivals.stamp: | $(VENV)/.ready
	@mkdir -p build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'aioreactive==0.20.0' 'Expression>=5,<6'
	@touch $@

conformance: setup build/interop.stamp build/rivals.stamp ## every row of docs/conformance.md, with the Python port and the official TCK; about an hour
	@$(BIN)/python -m tests.conformance

# The fault campaigns run where the project has them. `tests.conformance` keeps its results for the same code, so a second
# run after the page has been committed takes seconds.
release-check: setup build/interop.stamp build/rivals.stamp ## gates a release: conformance, every server system, fault campaigns, versions; hours
	@test -z "$$(git status --porcelain)" || { echo "pyrs: commit or stash all changes first" >&2; exit 1; }
	@$(BIN)/python -m tests.conformance
	@git diff --quiet -- docs/conformance.md || { echo "pyrs: commit docs/conformance.md, then run make release-check again" >&2; exit 1; }
	@$(BIN)/python -m tests.interop.systems
	@if test -d tests/campaigns; then $(BIN)/python -m tests.campaigns; else echo "pyrs: this tree has no fault campaign"; fi
	@.ci/versions

bench: setup build/rivals.stamp ## the core and the bridge against their rivals
	@$(BIN)/python -m benchmarks core
	@$(BIN)/python -m benchmarks bridge

nightly: setup ## 10,000 random chains of operators on one thread and 10,000 on several, against a model; all kills of Spark's driver
	@PYRS_EXAMPLES=10000 $(BIN)/python -m pytest -q tests/core/contract/test_properties.py --timeout 3600
	@PYRS_EVERY_STEP=1 $(BIN)/python -m pytest -q tests/spark/test_read_stream_killed.py

versions: setup ## the core and the Python referee on every Python from 3.10 that is installed
	@.ci/versions

test-spark: setup ## Spark's tests on one version of PySpark: make test-spark SPARK=3.5
	@PYTHON=$(BIN)/python .ci/spark $(SPARK)

clean: ## removes what was built, and .venv
	@rm -rf $(VENV) build dist site jvm/build jvm/.gradle pyrs/jvm/jars $(LIBRARIES)/lib $(LIBRARIES)/.gradle .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
