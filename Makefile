# Every target works in a fresh clone. `make` alone lists them.
SHELL := /bin/bash
# Without --norc a shell of an ssh session reads /etc/bash.bashrc, which -u does not bear.
.SHELLFLAGS := --norc -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup lab-setup base p4 demo test test-all unit coverage stub bmv2 lint check format sanitize portable aarch64 fuzz bench lab shell docs site wheels clean

# Tests start hundreds of commands: without compiled modules each would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
FIRST := experiments/01_first_train/scenario.yaml
GRPC ?= 127.0.0.1:9559
NODE ?= npu0
MINUTES ?= 10
# Node.js comes as a wheel, a quarter of all that there is to install: nothing is fetched when pyright runs.
LINT := 'ruff>=0.17,<0.18' 'codespell>=2.4,<3'
TYPES := 'pyright[nodejs]>=1.1.410,<1.2'
FORMAT_CPP := 'clang-format==23.1.5'
TIDY_CPP := 'clang-tidy==23.1.4'
SITE := 'sphinx>=9,<10' 'myst-parser>=5.2,<6' 'furo>=2025.12'
CPP := find emulation/engine tests/emulation/engine tests/fuzz -name '*.cpp' -o -name '*.h'

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## for developers: install everything that is missing and build the engine; a second call does nothing
	@scripts/setup.sh dev

lab-setup: ## the same without developers' tools: testbeds, captures, labs and the live page
	@scripts/setup.sh lab

base: ## the embedded testbed alone
	@scripts/setup.sh

p4: base ## compile the P4 programs where p4c is installed
	@scripts/p4.sh

demo: base ## 64 NPUs, an AllReduce, a link cut under it
	@$(BIN)/railyard run $(FIRST) --out results/first-train

test: setup lint unit ## lint, the engine's tests in C++, and the tests but the long ones and those that compare with BMv2
	@$(BIN)/python -m pytest -n 2

test-all: setup ## the long tests as well
	@$(BIN)/python -m pytest -n 2 --long

unit: setup ## the engine's tests in C++, on a build with its assertions, under build/unit
	@PATH="$$PWD/$(BIN):$$PATH" cmake -S tests/emulation/engine/unit -B build/unit -G Ninja >/dev/null
	@PATH="$$PWD/$(BIN):$$PATH" cmake --build build/unit
	@build/unit/engine_unit --gtest_brief=1 --gtest_shuffle

coverage: setup ## line coverage of the engine by its tests in C++, room by room, from a build under build/coverage
	@PATH="$$PWD/$(BIN):$$PATH" cmake -S tests/emulation/engine/unit -B build/coverage -G Ninja -DRAILYARD_COVERAGE=ON >/dev/null
	@PATH="$$PWD/$(BIN):$$PATH" cmake --build build/coverage
	@find build/coverage -name '*.gcda' -delete
	@build/coverage/engine_unit --gtest_brief=1
	@$(BIN)/python scripts/coverage.py build/coverage

stub: setup ## write emulation/_engine.pyi from the bindings of the engine as it is built
	@$(BIN)/python -m nanobind.stubgen -q -m emulation._engine -p emulation/engine/python/stub.pat -o emulation/_engine.pyi
	@$(BIN)/ruff check -q --fix emulation/_engine.pyi
	@$(BIN)/ruff format -q emulation/_engine.pyi

bmv2: setup ## the tests that hold switch and lab against BMv2, where it is installed; as root
	@$(BIN)/python -m pytest -n 2 -m bmv2 --bmv2 --long

lint: base ## rules and format of the Python, spelling, plain English, and whether the compiled P4 is current
	@$(BIN)/python -m pip install --quiet $(LINT)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@git ls-files | xargs $(BIN)/codespell
	@$(BIN)/python scripts/prose.py
	@$(BIN)/python scripts/p4_manifest.py check

check: setup lint site coverage ## the same, the documentation site, types of Python and of the page, and the engine's format, clang-tidy and coverage, some fifteen processor minutes
	@$(BIN)/python -m pip install --quiet $(TYPES) $(FORMAT_CPP) $(TIDY_CPP)
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@cd railyard/web/page && ../../../$(BIN)/npm ci --silent && ./node_modules/.bin/tsc -p .
	@$(CPP) | xargs $(BIN)/clang-format --dry-run --Werror
	@# clang-tidy looks for each file by itself among the commands of the build.
	@PATH="$$PWD/$(BIN):$$PATH" cmake -S . -B build/tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DRAILYARD_UNITY=OFF \
		-DPython_EXECUTABLE="$$PWD/$(BIN)/python" >/dev/null
	@find emulation/engine -name '*.cpp' | xargs -P "$$(nproc)" -n 1 $(BIN)/clang-tidy -p build/tidy --quiet

format: base ## put the sources in their usual form
	@$(BIN)/python -m pip install --quiet $(LINT) $(FORMAT_CPP)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(CPP) | xargs $(BIN)/clang-format -i

sanitize: setup ## the engine's tests under AddressSanitizer and UBSan, runs in threads under ThreadSanitizer; some fifteen processor minutes
	@scripts/sanitize.sh

portable: setup ## the tests of the embedded testbed on an engine without its Linux part, in a build of its own
	@scripts/portable.sh

aarch64: setup ## the engine cross-compiled for aarch64, its tests under qemu-user; needs Debian's cross compiler
	@scripts/aarch64.sh

fuzz: setup ## MINUTES=10 of libFuzzer each on loader, frames, P4Runtime and files of other tools; needs clang and libclang-rt-dev
	@$(BIN)/python -m pip install --quiet 'atheris>=3,<4'
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

bench: setup ## measure the engine, beside BMv2 where it is installed, and as root the lab; writes the guide
	@$(BIN)/python -m bench --out build/bench.json

lab: base ## keep a rack running on GRPC=127.0.0.1:9559 until Ctrl-C
	@$(BIN)/railyard up ub-rack --grpc $(GRPC)

shell: base ## p4runtime-shell, from a venv of its own, on NODE=npu0 of a running rack, or of TOPOLOGY
	@scripts/shell.sh $(GRPC) $(NODE) $(TOPOLOGY)

docs: setup ## run the guides as tests and draw their picture anew
	@$(BIN)/railyard run $(FIRST) --out results/first-train
	@cp results/first-train/picture.svg docs/images/first-train.svg
	@$(BIN)/python -m pytest tests/test_docs.py --long

site: base ## build the guides as a site with a search, build/site/index.html; a broken link is an error
	@$(BIN)/python -m pip install --quiet $(SITE)
	@$(BIN)/sphinx-build -q -n -W --keep-going -c docs/site -d build/site-cache . build/site

wheels: ## wheels for Python 3.11 to 3.13, where installed, audited and tried in bare environments; for dist/
	@scripts/wheels.sh

clean: ## remove the venv, build products and results; the committed P4 output stays
	@rm -rf .venv build dist results .hypothesis .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
