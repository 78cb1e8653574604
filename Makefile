# The commands of a contributor. `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
# The tests of `make test-machines` and `make test-oldest`: all, or for example TESTS=tests/test_losses.py.
TESTS ?=
FUZZ_SECONDS ?= 60
ATTACK_SECONDS ?= 600
ATTACK_SEED ?= 0

BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check
# Editable installs see changed Python files at once, new packages only after a new build.
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard native/*.hpp native/*.cpp src/rankwise/*/__init__.py)
# Scripts have a main; the other files of the folder are shared by them.
BENCHMARKS = $(shell grep -l __main__ benchmarks/*.py)

# One thread per test worker: the workers already use all cores.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
HYPOTHESIS_PROFILE ?= ci
export HYPOTHESIS_PROFILE

# Real data sets, if they are in a folder beside the repository; without them, some tests are skipped.
ifneq ($(wildcard ../shared/data),)
RANKWISE_DATA ?= $(abspath ../shared/data)
export RANKWISE_DATA
endif

.DEFAULT_GOAL := help
.PHONY: help attack browser demo test test-machines test-network test-oldest test-portable lint headers bench docs fuzz mutate race \
  release release-check reproduce sanitize sanitize-threads wheel clean

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

demo: $(VENV)/.report ## Learn three rankings and write demo-report/
	$(BIN)/rankwise demo --output demo-report

test: lint ## Lint, then all tests and doctests, warnings as errors
	$(TEST_ENV) $(BIN)/python -m pytest -n $(JOBS)

test-machines: $(VENV)/.dev ## All tests on other BLAS kernels, without CPU features, and twice at once
	$(TEST_ENV) $(BIN)/python tests/machines.py -n $(JOBS) $(TESTS)

test-network: $(VENV)/.dev ## Fits on Dask while links are cut or slow, and workers or the scheduler fail (root, minutes)
	$(TEST_ENV) $(BIN)/python -m pytest -q -p no:xdist tests/network/cases.py

# Editable, so that the examples in docstrings are found too; built apart from the other environments.
$(VENV)-oldest/.installed: $(BUILD_INPUTS) tests/oldest.txt
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install $(PIP_FLAGS) --constraint tests/oldest.txt --editable ".[dev]" \
	  --config-settings=build-dir=build/oldest
	touch $@

test-oldest: $(VENV)-oldest/.installed ## All tests with the oldest supported versions of all packages (Python 3.11)
	$(TEST_ENV) $(VENV)-oldest/bin/python -m pytest -n $(JOBS) $(TESTS)

lint: $(VENV)/.dev headers ## Check style, formatting, types, imports, native headers, workflows, templates and citation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror native/*.hpp native/*.cpp tests/fuzz/*.cpp
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# Every native header compiles alone. For python_arrays.hpp, the first include of bind.cpp, the build checks this.
HEADER_CHECKS := $(patsubst native/%.hpp,build/headers/%.checked,$(filter-out native/python_arrays.hpp,$(wildcard native/*.hpp)))

build/headers/%.checked: native/%.hpp
	@mkdir -p $(@D)
	@echo '#include "$*.hpp"' | $(CXX) -std=c++20 -Wall -Wextra -Wno-psabi -fsyntax-only -I native \
	  -MMD -MP -MF $(@:.checked=.d) -MT $@ -x c++ -
	@touch $@

-include $(wildcard build/headers/*.d)

headers: ## Compile each changed native header separately
	@if command -v $(CXX) >/dev/null; then $(MAKE) --no-print-directory -j $(JOBS) $(HEADER_CHECKS); \
	else echo "There is no $(CXX): the native headers are not checked."; fi

bench: $(VENV)/.dev ## Run every benchmark in its quick mode
	@set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python $$script --quick; done

docs: $(VENV)/.docs ## Run the gallery, build docs/_build/html/ with warnings as errors, and test the pages
	rm -rf docs/generated
	$(TEST_ENV) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(TEST_ENV) $(BIN)/python -m pytest -q docs/tests

# The tests find a browser on the path or in build/browser/, where npm installs it.
browser: ## Install the browser for the tests of pages, with apt if permitted, otherwise with npm
	@if command -v chromedriver && { command -v chromium || command -v google-chrome; }; then \
	  echo "There is a browser and its driver."; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver \
	    fonts-dejavu-core fonts-liberation; \
	elif command -v npx >/dev/null; then \
	  { npx --yes @puppeteer/browsers install chrome@stable --path build/browser && \
	    npx --yes @puppeteer/browsers install chromedriver@stable --path build/browser; } || \
	  { echo "The npm package fetches the browser from googlechromelabs.github.io and storage.googleapis.com," \
	    "which must be within reach." >&2; exit 1; }; \
	else echo "Neither apt (as root) nor npx is here: install chromium and chromedriver by hand." >&2; exit 1; fi

reproduce: $(VENV)/.dev ## Repeat the papers' experiments (real data: RANKWISE_DATA) and write docs/reproduction.md
	$(BIN)/python -m benchmarks.reproduce

$(VENV)/.race: $(VENV)/.dev
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable ".[race]"
	touch $@

race: $(VENV)/.race ## Compare with other packages; extends docs/reproduction.md
	$(BIN)/python -m benchmarks.reproduce --only race --force

build/fuzz/svmlight_native: tests/fuzz/svmlight_fuzz.cpp $(wildcard native/*.hpp)
	mkdir -p $(@D)
	$(CXX) -std=c++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DPLAIN_MAIN -I native $< -o $@ -pthread

# New inputs are saved in build/; useful ones are added to the seeds by hand.
fuzz: $(VENV)/.fuzz build/fuzz/svmlight_native ## Fuzz every reader, each for FUZZ_SECONDS (60)
	@echo "== svmlight, natively"; build/fuzz/svmlight_native $(FUZZ_SECONDS)
	@set -e; for target in tests/fuzz/fuzz_*.py; do \
	  name=$$(basename $$target .py | cut -c6-); echo "== $$name"; mkdir -p build/fuzz/$$name; \
	  $(TEST_ENV) $(BIN)/python $$target -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/ \
	    build/fuzz/$$name tests/fuzz/corpus/$$name; done

# One case again: the command that is printed with a find.
attack: $(VENV)/.dev ## Attack everything at random for ATTACK_SECONDS (600), against brute force and independent answers
	$(TEST_ENV) PYTHONPATH=tests:tests/fuzz ATTACK_SECONDS=$(ATTACK_SECONDS) ATTACK_SEED=$(ATTACK_SEED) \
	  $(BIN)/python -m attack

# Not editable, so that the mutants in mutants/src come first on the path; they need the extension beside them.
$(VENV)-mutate/.installed: $(BUILD_INPUTS)
	$(PYTHON) -m venv $(VENV)-mutate
	$(VENV)-mutate/bin/python -m pip install $(PIP_FLAGS) ".[dev,mutate]"
	mkdir -p mutants/src/rankwise
	cp $(VENV)-mutate/lib/python3.*/site-packages/rankwise/_native*.so mutants/src/rankwise/
	touch $@

mutate: HYPOTHESIS_PROFILE := mutate
mutate: $(VENV)-mutate/.installed ## Mutation tests of losses, certificates and thresholds: list the mutants that no test detects
	$(TEST_ENV) $(VENV)-mutate/bin/mutmut run --max-children $(JOBS) $(MUTANTS)
	$(VENV)-mutate/bin/mutmut results

# The wheel is built from the sdist and tested without the sources and without a compiler.
$(VENV)/.wheel: | $(BIN)/python
	$(BIN)/python -m pip install $(PIP_FLAGS) build twine auditwheel
	touch $@

wheel: $(VENV)/.wheel ## Build sdist and wheel in dist/, check them, and test the wheel in an empty environment
	rm -rf dist build/wheel-test
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/auditwheel show dist/*.whl
	mkdir -p build/wheel-test && tar xzf dist/*.tar.gz -C build/wheel-test --strip-components=1
	rm -r build/wheel-test/src build/wheel-test/native
	$(PYTHON) -m venv --clear $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip install $(PIP_FLAGS) --only-binary :all: dist/*.whl
	cd build/wheel-test && PATH= $(abspath $(VENV))-wheel/bin/python -c "import rankwise; rankwise.RankSVM().fit([[0], [1]], [0, 1])"
	$(VENV)-wheel/bin/python -m pip install $(PIP_FLAGS) --only-binary :all: "$$(echo dist/*.whl)[dev]"
	cd build/wheel-test && $(TEST_ENV) PATH=$(abspath $(VENV))-wheel/bin $(abspath $(VENV))-wheel/bin/python \
	  -m pytest -n $(JOBS) $(or $(TESTS),tests)

release-check: | $(BIN)/python ## Check that version, changelog, citation and tree are ready for a release
	$(BIN)/python tools/release.py

# In sequence: the tree is checked before the build, and the tag is made only after the tests of the build.
release: ## Check the tree, build and test sdist and wheel, and tag the version (DRY_RUN=1: no tag); pushes nothing
	$(MAKE) release-check
	$(MAKE) wheel
	$(BIN)/python tools/release.py $(if $(DRY_RUN),--built,--tag)

# Tests that reach native code. Python itself is not instrumented, so the sanitizer's run-time
# library has to be there before it starts; libstdc++ beside it, or exceptions could not be intercepted.
NATIVE_TESTS := $(patsubst %,tests/test_%.py,losses hierarchy win_statistics logistic scores preferences design simplex_qp svmlight solvers rank_svm rank_rls \
  rank_rls_cv ordinal_svm hull_ranker kernels kernel_design newton bradley_terry leave_out metrics thresholds datasets)
# Without the tests that import polars: its import crashes under the thread sanitizer.
THREADED_TESTS := $(patsubst %,tests/test_%.py,losses logistic scores design svmlight solvers kernel_design)
library = $(shell $(CXX) -print-file-name=$(1))
preload = LD_PRELOAD="$(call library,$(1)) $(call library,libstdc++.so)"

# install-apart NAME DEFINITION BUILD-TYPE: an environment of its own, built in a directory of its own.
define install-apart
	$(PYTHON) -m venv $(VENV)-$(1)
	$(VENV)-$(1)/bin/python -m pip install $(PIP_FLAGS) ".[dev]" \
	  --config-settings=build-dir=build/$(1) \
	  --config-settings=cmake.build-type=$(3) \
	  --config-settings=cmake.define.$(2)
	touch $@
endef

comma := ,
APART_INPUTS := $(BUILD_INPUTS) $(shell find src -name '*.py')

$(VENV)-address/.installed: $(APART_INPUTS)
	$(call install-apart,address,RANKWISE_SANITIZE=address$(comma)undefined,Debug)

$(VENV)-thread/.installed: $(APART_INPUTS)
	$(call install-apart,thread,RANKWISE_SANITIZE=thread,Debug)

$(VENV)-portable/.installed: $(APART_INPUTS)
	$(call install-apart,portable,RANKWISE_PORTABLE=ON,Release)

test-portable: $(VENV)-portable/.installed ## Run the native code's tests on the code for compilers without extensions
	$(TEST_ENV) $(VENV)-portable/bin/python -m pytest -n $(JOBS) -p no:cacheprovider $(NATIVE_TESTS)

sanitize sanitize-threads: HYPOTHESIS_PROFILE := quick

# CPython does not free everything at exit, so leak detection is off.
sanitize: $(VENV)-address/.installed ## Run the native code's tests under address and UB sanitizers
	$(TEST_ENV) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 $(call preload,libasan.so) \
	  $(VENV)-address/bin/python -m pytest -p no:cacheprovider $(NATIVE_TESTS)

sanitize-threads: $(VENV)-thread/.installed ## Run the threaded tests under the thread sanitizer
	$(TEST_ENV) TSAN_OPTIONS=halt_on_error=1 $(call preload,libtsan.so) \
	  $(VENV)-thread/bin/python -m pytest -p no:cacheprovider $(THREADED_TESTS)

clean: ## Remove environments, builds and caches
	rm -rf $(VENV) $(VENV)-* build dist mutants docs/_build docs/gallery docs/generated demo-report
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
