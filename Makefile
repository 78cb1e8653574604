# Everything a contributor runs. `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
SANITIZE_VENV ?= .venv-sanitize
JOBS ?= 2

BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check
# Editable installs see changed Python files at once; only these need a new build.
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard native/*.hpp native/*.cpp)
# Scripts have a main; the rest of the folder is what they share.
BENCHMARKS = $(shell grep -l __main__ benchmarks/*.py)

# A test worker is one thread: the workers already share out the cores.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
HYPOTHESIS_PROFILE ?= ci
export HYPOTHESIS_PROFILE

# Real data sets, where they lie beside the repository; tests that need them are skipped elsewhere.
ifneq ($(wildcard ../shared/data),)
RANKWISE_DATA ?= $(abspath ../shared/data)
export RANKWISE_DATA
endif

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench docs fuzz race reproduce sanitize sanitize-threads clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Order-only on the interpreter: pip touches files beside it at every install.
$(VENV)/.report: $(BUILD_INPUTS) | $(BIN)/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[report]"
	touch $@

# The dev extra contains the report extra, so `make demo` has nothing left to install.
$(VENV)/.dev: $(BUILD_INPUTS) | $(BIN)/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[dev]"
	touch $(VENV)/.report $@

$(VENV)/.docs: $(BUILD_INPUTS) | $(BIN)/python
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[docs]"
	touch $@

$(VENV)/.fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[fuzz]"
	touch $@

demo: $(VENV)/.report ## Learn a ranking and write demo-report/
	$(BIN)/rankwise demo --output demo-report

test: lint ## Lint, then all tests and doctests, warnings as errors
	$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS)

lint: $(VENV)/.dev ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev ## Run every benchmark in its quick mode
	@set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python $$script --quick; done

docs: $(VENV)/.docs ## Run the gallery and build docs/_build/html/, warnings as errors
	$(TEST_ENV) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

reproduce: $(VENV)/.dev ## Run the papers' experiments again (real data: RANKWISE_DATA) and write docs/reproduction.md
	$(BIN)/rankwise reproduce

$(VENV)/.race: $(VENV)/.dev
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[race]"
	touch $@

race: $(VENV)/.race ## Race against other packages; adds to docs/reproduction.md
	$(BIN)/rankwise reproduce --only race --force

fuzz: $(VENV)/.fuzz ## Fuzz the readers for a minute each
	@set -e; for target in tests/fuzz/fuzz_*.py; do echo "== $$target"; $(BIN)/python $$target -max_total_time=60; done

# Tests that spend their time in native code. Python itself is not instrumented, so the sanitizer's run-time
# library has to be there before it starts; libstdc++ beside it, or exceptions could not be intercepted.
NATIVE_TESTS := tests/test_losses.py tests/test_logistic.py tests/test_preferences.py tests/test_design.py \
  tests/test_simplex_qp.py tests/test_svmlight.py
# Without the tests that import polars: its import crashes under the thread sanitizer.
THREADED_TESTS := tests/test_losses.py tests/test_logistic.py tests/test_design.py tests/test_svmlight.py
library = $(shell $(CXX) -print-file-name=$(1))
preload = LD_PRELOAD="$(call library,$(1)) $(call library,libstdc++.so)"

# install-sanitized NAME SANITIZERS: an environment of its own, built in a directory of its own.
define install-sanitized
	$(PYTHON) -m venv $(SANITIZE_VENV)-$(1)
	$(SANITIZE_VENV)-$(1)/bin/python -m pip install $(PIP_FLAGS) ".[dev]" \
	  --config-settings=build-dir=build/sanitize-$(1) \
	  --config-settings=cmake.build-type=Debug \
	  --config-settings=cmake.define.RANKWISE_SANITIZE=$(2)
	touch $@
endef

comma := ,
SANITIZE_INPUTS := $(BUILD_INPUTS) $(shell find src -name '*.py')

$(SANITIZE_VENV)-address/.installed: $(SANITIZE_INPUTS)
	$(call install-sanitized,address,address$(comma)undefined)

$(SANITIZE_VENV)-thread/.installed: $(SANITIZE_INPUTS)
	$(call install-sanitized,thread,thread)

sanitize sanitize-threads: HYPOTHESIS_PROFILE := quick

# CPython does not free everything at exit, so leaks are not looked for.
sanitize: $(SANITIZE_VENV)-address/.installed ## Run the native code's tests under address and UB sanitizers
	$(TEST_ENV) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 $(call preload,libasan.so) \
	  $(SANITIZE_VENV)-address/bin/python -m pytest -p no:cacheprovider $(NATIVE_TESTS)

sanitize-threads: $(SANITIZE_VENV)-thread/.installed ## Run the threaded tests under the thread sanitizer
	$(TEST_ENV) TSAN_OPTIONS=halt_on_error=1 $(call preload,libtsan.so) \
	  $(SANITIZE_VENV)-thread/bin/python -m pytest -p no:cacheprovider $(THREADED_TESTS)

clean: ## Remove environments, builds and caches
	rm -rf $(VENV) $(SANITIZE_VENV)-* build dist docs/_build docs/gallery docs/generated docs/sg_execution_times.rst \
	  demo-report
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
