# Every target works on a fresh clone: it sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MODEL ?= models:/layoutray-demo@candidate
DAILY := not slow and not gpu and not chaos
# pytest imports every file that it is given, which takes longer than some tests.
WAITING = $(sort $(shell grep -rlE --include='*.py' 'mark\.(ray|browser)\b' tests benchmarks/tests))

.DEFAULT_GOAL := help
.PHONY: help setup check style types layers docs test test-waiting test-others
.PHONY: chaos fortress demo dist serve bench clean tesseract chromium postgresql

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(READY) tesseract  ## install the virtual environment .venv and Tesseract; the other targets do this first

# The type check takes longest, so it starts first. Files of infra/ and links have tests (`make test`).
check: $(READY)  ## check format, lint, types, layers and documentation
	@$(MAKE) --no-print-directory --keep-going --output-sync=target -j2 types docs layers style

# Tests that start Ray or a browser often wait for it, so the other tests run at the same time.
# Ray lowers the priority of its workers unless told otherwise. The output of these tests is printed at their end.
test: setup chromium postgresql  ## run all tests except those that need a GPU or many minutes
	@mkdir -p build
	@OMP_NUM_THREADS=1 $(MAKE) --no-print-directory --keep-going -j2 test-others test-waiting

test-others:
	$(BIN)/python -m pytest -m "$(DAILY) and not ray and not browser" --durations=30

test-waiting:
	@RAY_worker_niceness=0 $(BIN)/python -m pytest -m "$(DAILY) and (ray or browser)" --durations=30 $(WAITING) \
	> build/test-waiting.log 2>&1; passed=$$?; cat build/test-waiting.log; exit $$passed

chaos: setup  ## kill drivers, workers, nodes and links at random; check that no page is lost or doubled (CHAOS_SEED=N)
	$(BIN)/python -m pytest -m chaos -s tests/cluster

fortress: setup  ## attack an endpoint for about 15 minutes (FORTRESS_SEED=N); no attack may stop it or slow others down
	FORTRESS_SECONDS=60 $(BIN)/python -m pytest -m fortress -s tests/fortress

docs: $(READY)  ## build the documentation site in build/docs; broken links are errors
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --nitpicky --keep-going --quiet docs build/docs

demo: setup  ## answer, train on ten labels and serve: drawn documents, or DOCUMENTS=FOLDER with your own and values.csv
	$(BIN)/python -m pipelines.demo $(if $(DOCUMENTS),--documents $(DOCUMENTS))

serve: setup  ## serve the model that `make demo` registered, or MODEL=FOLDER or MODEL=models:/NAME@ALIAS
	$(BIN)/python -m pipelines.serve $(MODEL)

dist: $(READY)  ## build the wheel and the sdist into dist/; git's newest tag is their version
	rm -rf dist
	$(BIN)/python -m build --quiet --no-isolation
	@ls dist
	@git describe --tags --exact-match >/dev/null 2>&1 || \
	echo "This commit has no tag, so this is a development version. For a release: git tag vMAJOR.MINOR.PATCH, make dist"

bench: setup  ## measure the speed of ingest and training relative to peers on this machine
	$(BIN)/python -m benchmarks ingest
	$(BIN)/python -m benchmarks training

clean:  ## remove the virtual environment, build files and tool caches; data and models stay
	rm -rf $(VENV) build dist layoutray.egg-info benchmarks/layoutray_benchmarks.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache

style:
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types:
	$(BIN)/pyright

layers:
	$(BIN)/lint-imports

$(READY): pyproject.toml benchmarks/pyproject.toml constraints.txt infra/setup.sh
	@bash infra/setup.sh environment $(PYTHON) $(VENV)
	@touch $@

tesseract:
	@bash infra/setup.sh tesseract

chromium:
	@bash infra/setup.sh chromium

postgresql:
	@bash infra/setup.sh postgresql
