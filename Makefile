# One command from a fresh clone: every target sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MODEL ?= models:/layoutray-demo@champion
DAILY := not slow and not gpu and not chaos

.DEFAULT_GOAL := help
.PHONY: help setup check style types layers manifests links docs test test-without-ray test-on-ray chaos demo serve bench clean tesseract

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(READY) tesseract  ## virtual environment in .venv and Tesseract; every target below does this first

check: $(READY)  ## formatting, lint, types, layers, the files of infra/, and the documentation with its links
	@$(MAKE) --no-print-directory --keep-going --output-sync=target -j2 style types layers manifests links docs

# Those that start a Ray wait for it half of their time, so the others run beside them; what they say comes when they are through.
test: setup  ## the tests that need no GPU and no long wait
	@mkdir -p build
	@OMP_NUM_THREADS=1 $(MAKE) --no-print-directory --keep-going -j2 test-without-ray test-on-ray

test-without-ray:
	$(BIN)/python -m pytest -m "$(DAILY) and not ray"

test-on-ray:
	@$(BIN)/python -m pytest -m "$(DAILY) and ray" > build/test-on-ray.log 2>&1; passed=$$?; cat build/test-on-ray.log; exit $$passed

chaos: setup  ## kill drivers, workers, nodes and links at random moments: no page is lost or there twice; CHAOS_SEED=N repeats a run
	$(BIN)/python -m pytest -m chaos -s tests/cluster/test_chaos.py

docs: $(READY)  ## the documentation as a web site in build/docs; a broken link is an error
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --nitpicky --keep-going --quiet docs build/docs

demo: setup  ## pages to a served extractor on data made here, in under 10 minutes
	$(BIN)/python -m pipelines.demo

serve: setup  ## serve the model that `make demo` registered; MODEL=folder or models:/NAME@ALIAS serves another
	$(BIN)/python -m pipelines.serve $(MODEL)

bench: setup  ## ingest and training benchmarks: ours over a peer's, measured in one run
	$(BIN)/python -m pipelines.benchmark ingest
	$(BIN)/python -m pipelines.benchmark training

clean:  ## remove the virtual environment and the tools' caches; what you made stays
	rm -rf $(VENV) build layoutray.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache

style:
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types:
	$(BIN)/pyright

layers:
	$(BIN)/lint-imports

manifests:
	$(BIN)/python -m pytest -q tests/infra

links:
	$(BIN)/python -m pytest -q tests/test_readme.py -k links

$(READY): pyproject.toml constraints.txt infra/setup.sh
	@bash infra/setup.sh environment $(PYTHON) $(VENV)
	@touch $@

tesseract:
	@bash infra/setup.sh tesseract
