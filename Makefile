# The commands of the project; `make help` lists them. They call tools/setup, which installs their
# requirements.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The tools that tools/setup installs come before others of the same name (a version manager's).
export PATH := /usr/bin:$(PATH)
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python
export PYTHONDONTWRITEBYTECODE := 1

# A compiler cache also serves other clones of the project. Asked for when a command runs, because
# tools/setup, which installs it, is the first of them.
LAUNCHER = $$(if command -v ccache >/dev/null; then echo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# For precompiled headers.
export CCACHE_SLOPPINESS := pch_defines,time_macros
export CCACHE_PCH_EXTSUM := 1

# The limit ends what hangs: on a slow machine a test with a sanitizer takes minutes.
CTEST := ctest --output-on-failure --timeout 1500 -j$(JOBS)
# What takes minutes with a sanitizer and has little that shorter tests lack; `make check-asan LONG=`
# runs these tests, too, and `make soak` does.
LONG := ^(AutomaticChoice.takes_every_metric|Bootstrap.intervals_cover|LabelledTree.every_solver|OneVsRestLimit.a_limit_that_suffices|Stack.by_default_has_the_centroids|Structured.bcfw_reaches|StructuredSolvers.reach|FiniteScores.label_sets)|^(Methods.sgd_and_bcfw)|^Seeds/NodeBlocks.have_the_optimum_of_all_weights/[235]|^(amplification|auto|checkpoints|findings|limits|overflow|tuning)$$
SANITIZED_CTEST = $(if $(LONG),,MARGROVE_ALL_CASES=1 )$(CTEST) $(if $(LONG),-E '$(LONG)')
# The tests of optional packages run where `tools/setup --optional` has installed these.
PYTEST := timeout 1200 $$(ls .venv-optional/bin/python 2>/dev/null || echo $(PYTHON)) \
  -m pytest -q -p no:cacheprovider -rs -n $(JOBS) --dist loadfile

# $(call build,PRESET,TARGETS,OPTIONS): configure, and build these targets of a preset, or all.
define build
cmake --preset $(1) $(LAUNCHER) $(3) >build-$(1).log || { cat build-$(1).log; exit 1; }; \
rm -f build-$(1).log; \
ninja -C $(if $(filter release,$(1)),build,build-$(1)) -j$(JOBS) --quiet $(2)
endef
# Program, tests and Python module share one build folder, so that each object is compiled once.
release = $(call build,release,$(1),-DMARGROVE_TESTS=ON -DMARGROVE_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON))
# .venv sees the package as it stands in the tree.
link_package = echo "$(CURDIR)/build/python" >$$($(PYTHON) -c 'import site; print(site.getsitepackages()[0])')/margrove.pth

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

.PHONY: setup
setup: ## install what is missing
	@tools/setup

.PHONY: build
build: ## the program build/margrove
	@tools/setup --program
	@$(call build,release,margrove_cli,$(if $(wildcard build/CMakeCache.txt),,-DMARGROVE_TESTS=OFF))

.PHONY: python
python: setup ## the Python package margrove, for .venv
	@$(call release,margrove_cli margrove_python)
	@$(link_package)

.PHONY: tests
tests: setup ## the program, the Python package and the unit tests
	@$(call release)
	@$(link_package)

.PHONY: demo
demo: build ## train and compare methods on the nouns of WordNet
	@tools/demo

.PHONY: optional
optional: setup ## install what tests of optional packages need: PyTorch, Ray, skops (1.4 GB)
	@tools/setup --optional

.PHONY: test
test: tests ## unit, property and Python tests
	@cd build && ulimit -v 16000000 && $(CTEST)
	@$(PYTEST) tests/python

LOOPS ?= 8
.PHONY: test-busy
test-busy: tests ## make test beside LOOPS (8) busy loops: no test may depend on the time it takes
	@trap 'kill $$(jobs -p)' EXIT; \
	for _ in $$(seq $(LOOPS)); do while :; do :; done & done; \
	$(MAKE) test

.PHONY: test-annif
test-annif: python ## tests of the backends of Annif, with Annif in .venv-annif (500 MB)
	@tools/setup --annif
	@PYTHONPATH=build/python timeout 600 .venv-annif/bin/python -m pytest -q -p no:cacheprovider -rs \
	  tests/python/test_annif.py

CHECKS := lint check-asan check-fuzz check-tsan check-coverage check-attack check-docs \
  check-consumer check-wheel
.PHONY: check
check: ## sanitizers, fuzzers, attacks, lint, documented commands, consumer, wheel
	@for stage in $(CHECKS); do \
	  started=$$SECONDS; $(MAKE) $$stage; echo "make check: $$stage took $$((SECONDS - started)) s"; \
	done

.PHONY: lint
lint: python ## format, clang-tidy, ruff, mypy, shellcheck, include direction
	@tools/lint

.PHONY: check-asan
check-asan: setup ## the tests under the address and undefined-behaviour sanitizers, but for the longest
	@$(call build,asan)
	@cd build-asan && $(SANITIZED_CTEST)

.PHONY: check-tsan
check-tsan: setup ## the tests that start threads under the thread sanitizer
	@$(call build,tsan)
	@cd build-tsan && $(SANITIZED_CTEST) --no-tests=error -L executor \
	  $$(python3 ../tools/tests_with_threads.py . ../build/tests/thread_starts.txt)

# A fixed seed: `make soak` has others.
FUZZ_SECONDS ?= 5
FUZZ_SEED ?= 1
export FUZZ_SECONDS FUZZ_SEED
.PHONY: check-fuzz
check-fuzz: python ## every fuzz target for FUZZ_SECONDS (5), those of Python included, and the server by its description
	@$(call build,asan)
	@tools/run_fuzzers build-asan
	@$(PYTHON) -m pip install -q --disable-pip-version-check -r tools/requirements-fuzz.txt
	@$(PYTHON) tools/fuzz_server.py build/margrove --seed $(FUZZ_SEED)
	@$(PYTHON) tools/fuzz_python.py -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) 2>build-asan/fuzz-findings/fuzz_python.log || \
	  { tail -60 build-asan/fuzz-findings/fuzz_python.log; exit 1; }

.PHONY: check-coverage
check-coverage: setup ## lines and branches of readers and loaders that tests and corpora reach
	@$(call release,margrove_internal margrove_serve)
	@$(PYTHON) tools/reader_coverage.py build

# What attacks the program from outside: claimed gaps against another solver, calls of the system
# that fail, random problems. With the build of check-asan, if there is one, half of the problems run
# under its sanitizers.
FAIL_AT = build/tests/libfail_at.so
.PHONY: check-attack
check-attack: python ## gaps verified by another solver, injected failures, 600 random problems
	@$(call release,fail_at)
	@$(PYTHON) tools/verify_gap.py build/margrove
	@$(PYTHON) tools/inject_failures.py build/margrove $(FAIL_AT) --most 60
	@$(PYTHON) tools/soak.py build/margrove --problems 450
	@if [ -x build-asan/margrove ]; then $(PYTHON) tools/soak.py build-asan/margrove --sanitized --problems 150 --seed asan; fi

SOAK_SECONDS ?= 1200
SOAK_SEED ?= 1
.PHONY: soak
soak: python ## every call of the system fails once, fuzzers for 20 s each, random problems for SOAK_SECONDS (1200), the longest tests under sanitizers, benchmarks compiled
	@$(call release,fail_at)
	@$(call build,bench)
	@$(PYTHON) tools/inject_failures.py build/margrove $(FAIL_AT)
	@$(MAKE) check-fuzz FUZZ_SECONDS=20 FUZZ_SEED=$(SOAK_SEED)
	@$(PYTHON) tools/soak.py build/margrove --seconds $(SOAK_SECONDS) --seed $(SOAK_SEED)
	@$(MAKE) check-asan LONG=

.PHONY: check-docs
check-docs: python library ## run the marked commands in README.md and docs/ and the notebooks, and build the site
	@$(PYTHON) tools/check_docs.py
	@$(PYTHON) tools/notebooks.py
	@$(PYTHON) tools/make_figures.py --check
	@$(MAKE) site

.PHONY: site
site: setup ## the documentation as a site in build-site/
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build -q
	@echo "build-site/index.html"

.PHONY: library
library: ## the C++ library build/libmargrove.so, and the program
	@tools/setup --program
	@$(call build,release,margrove_cli margrove_library,$(if $(wildcard build/CMakeCache.txt),,-DMARGROVE_TESTS=OFF))

.PHONY: install
install: library ## program and library, into PREFIX (/usr/local)
	@cmake --install build --prefix "$(or $(PREFIX),/usr/local)"

.PHONY: check-consumer
check-consumer: setup library ## examples/cxx as a separate project against the installed library
	@tools/check_consumer

.PHONY: wheel
wheel: setup ## a self-contained wheel of the Python package with the program, in dist/
	@tools/wheel --build

.PHONY: check-wheel
check-wheel: setup ## the wheel, tried in a new environment without this system's libraries
	@tools/wheel

.PHONY: format
format: setup ## format C++ and Python in place
	@git ls-files '*.hpp' '*.cpp' | xargs clang-format-16 -i
	@.venv/bin/ruff format -q .

.PHONY: bench
bench: ## build the benchmarks and install their peers; bench/README.md says how to run them
	@tools/setup --bench
	@$(call build,bench)

.PHONY: clean
clean: ## remove the build folders, but not .venv and demo-data
	rm -rf build build-*
