# `make demo` and `make test` do all the set-up on a fresh machine. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

export PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JAR := pyrs/jvm/jars/pyrs.jar
GRADLE := gradle --console=plain --no-daemon -q
LIBRARIES := tests/interop/jars
# The folders in which Gradle stores downloaded jars.
DOWNLOADS := $(LIBRARIES) tests/campaigns/jazzer tests/campaigns/jcstress
# The jar contains the version of the package, so pyrs/__init__.py is one of its sources.
JAR_SOURCES := $(shell find jvm -path jvm/build -prune -o -path jvm/.gradle -prune -o -path jvm/src/test -prune \
  -o -type f -print 2>/dev/null) pyrs/__init__.py pyrs/jvm/limits.properties

.PHONY: help setup system demo test test-all test-interop lint docs docs-test wheel test-clean release conformance release-check bench bench-guard nightly soak fuzz chaos races versions smoke test-spark test-cluster clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: system $(VENV)/.ready $(JAR) ## install the JDK, Gradle and the Python packages, and build the jar

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

# The JVM libraries of the interop tests and the examples, such as Reactor, RxJava and H2 over R2DBC.
build/interop.stamp: $(LIBRARIES)/build.gradle | system
	@echo "pyrs: fetching the JVM libraries of the tests"
	@mkdir -p build
	@$(GRADLE) -p $(LIBRARIES) >build/interop.log 2>&1 || { cat build/interop.log >&2; exit 1; }
	@touch $@

demo: setup ## stream MovieLens through a Spark driver, Reactor and a Python Processor with back pressure
	@$(BIN)/python -m pyrs demo

# The class-data archive from which the Spark drivers of `make test` load their classes.
build/driver.jsa: .ci/driver_archive.py $(VENV)/.ready | system
	@echo "pyrs: archiving the classes of Spark drivers"
	@mkdir -p build
	@rm -f $@
	@$(BIN)/python .ci/driver_archive.py $@ >build/driver.log 2>&1 || { cat build/driver.log >&2; exit 1; }

test: setup build/interop.stamp build/driver.jsa ## run the test suites
	@$(BIN)/python .ci/test.py

test-all: setup build/interop.stamp build/rivals.stamp ## run the suites with all campaigns, 10,000 random operator chains, and bench-guard
	@$(BIN)/python .ci/test.py --all
	@$(BIN)/python -m benchmarks guard

test-interop: setup ## test every system of docs/interop.md, also those that need a server; SYSTEM=kafka tests one
	@$(BIN)/python -m tests.interop.systems $(SYSTEM)

lint: setup ## check style, types, prose and import layers
	@echo "pyrs: ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "pyrs: palantir-java-format"
	@mkdir -p build && $(GRADLE) -p jvm checkFormat >build/format.log 2>&1 || { cat build/format.log >&2; exit 1; }
	@echo "pyrs: mypy --strict"
	@$(BIN)/mypy
	@echo "pyrs: prose and commit subjects"
	@$(BIN)/python .ci/prose.py
	@echo "pyrs: layers, import cycles, file sizes, public names"
	@$(BIN)/python -m pytest -q tests/project/test_architecture.py tests/project/test_import_cycles.py

docs: setup ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file .mkdocs.yml
	@echo "pyrs: site/index.html"

# The browser test needs Playwright from PyPI, and the Chromium of the system.
build/browser.stamp: | $(VENV)/.ready
	@.ci/system-packages browser
	@mkdir -p build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'playwright>=1.50'
	@touch $@

docs-test: setup build/browser.stamp ## open every page of the documentation in Chromium
	@PYRS_CAMPAIGN=1 $(BIN)/python -m pytest -q tests/project/test_site.py tests/project/test_site_in_browser.py tests/project/test_top_in_browser.py

wheel: setup ## build a wheel with the jar into dist/
	@rm -rf dist
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist . >build/wheel.log 2>&1 || { cat build/wheel.log >&2; exit 1; }
	@ls dist/*.whl

test-clean: wheel ## run the examples of README, quick start and recipes on a clean Debian with the wheel; as root
	@$(BIN)/python -m tests.project.clean_debian dist/*.whl

build/release.stamp: pyproject.toml | $(VENV)/.ready
	@mkdir -p build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 --editable '.[release]'
	@touch $@

# `make release` runs no tests: run `make release-check` on the same commit first.
release: setup build/release.stamp ## build sdist, wheel, SBOM and checksums into dist/; DRAFT=1 ignores the conditions
	@$(BIN)/python .ci/release.py $(if $(DRAFT),--draft)

# aioreactive requires an older RxPY than the benchmarks use; it works with both. matplotlib draws the plots.
build/rivals.stamp: Makefile | $(VENV)/.ready
	@mkdir -p build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'aioreactive==0.20.0' 'Expression>=5,<6' 'aiostream>=0.8,<1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'matplotlib>=3.9'
	@touch $@

conformance: setup build/interop.stamp build/rivals.stamp ## run the Python TCK and the official TCK on every row of docs/conformance.md; takes about half an hour
	@$(BIN)/python -m tests.conformance

# `tests.conformance` keeps its results for the same code, so a second run after the page has been committed takes
# seconds.
release-check: setup build/interop.stamp build/rivals.stamp ## gate a release: conformance, every server system, fault campaigns, versions; takes hours
	@test -z "$$(git status --porcelain)" || { echo "pyrs: commit or stash all changes first" >&2; exit 1; }
	@$(BIN)/python -m tests.conformance
	@git diff --quiet -- docs/conformance.md || { echo "pyrs: commit docs/conformance.md, then run make release-check again" >&2; exit 1; }
	@$(BIN)/python -m tests.interop.systems
	@$(BIN)/python -m tests.campaigns
	@.ci/versions

bench: setup build/rivals.stamp ## measure every benchmark and write the figures of docs/benchmarks.md
	@$(BIN)/python -m benchmarks all --publish

bench-guard: setup build/rivals.stamp ## compare ten benchmark rows with the published figures
	@$(BIN)/python -m benchmarks guard

nightly: setup ## run 10,000 random operator chains of each kind, and every kill of a Spark driver
	@PYRS_EXAMPLES=10000 $(BIN)/python -m pytest -q tests/core/contract/test_properties.py --timeout 3600
	@PYRS_CAMPAIGN=1 PYRS_EVERY_STEP=1 $(BIN)/python -m pytest -q tests/spark/test_read_stream_killed.py

# One fault campaign; MINUTES=5 changes its time, SEED=7 repeats a run, FRAMES=1000000 fuzzes by number.
CAMPAIGN := $(BIN)/python -m tests.campaigns

soak fuzz chaos races: setup
	@$(CAMPAIGN) $@ $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(if $(FRAMES),--frames $(FRAMES))

soak: ## run all shapes of streams on 32 threads over both gateways, and compare the objects in memory before and after
fuzz: ## send mutated and random frames to both sides of the link, guided by coverage with Jazzer and atheris
chaos: ## kill, stop, cut, fork and interrupt both sides of bridges with live streams
races: ## run jcstress on the drain loop, the outbox, the handles and the window of the Java side

versions: setup build/interop.stamp ## test the core, the bridge, the TCKs and Spark on every installed Python from 3.10; SMOKE=1, PYTHONS=3.13
	@.ci/versions $(if $(SMOKE),--smoke) $(PYTHONS)

smoke: system ## test this Python and Java quickly on one version of PySpark, such as SPARK=3.5; the newest by default
	@PYTHON=$(PYTHON) .ci/smoke

test-spark: setup ## test Spark on one version of PySpark, such as SPARK=3.5
	@PYTHON=$(BIN)/python .ci/spark $(SPARK)

test-cluster: setup ## test Spark on a standalone cluster of two workers, on which pyrs is not installed
	@PYRS_CAMPAIGN=1 $(BIN)/python -m pytest -q tests/spark/test_cluster.py

clean: ## remove everything that was built, and .venv
	@rm -rf $(VENV) build dist site jvm/build jvm/.gradle pyrs/jvm/jars $(foreach each,$(DOWNLOADS),$(each)/lib $(each)/build $(each)/.gradle) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
