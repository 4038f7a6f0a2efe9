# Two commands on a fresh clone: `make demo` shows the product, `make test` runs everything CI runs.
# Both make their own environment in .venv and install what they need into it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Many tests wait for other processes.
WORKERS ?= 3

.PHONY: demo test check bench privacy-bench release-check fuzz docs clean

demo: .venv/base
	$(BIN)/scope demo

test: .venv/everything .venv/browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not nightly"

check: .venv/everything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not slow and not nightly"

bench: .venv/everything
	$(BIN)/python -m benchmarks

docs: .venv/everything
	$(PIP) install -c constraints.txt --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# FULL=--full draws 5 seeds and mutates 10 million messages; it takes hours.
privacy-bench: .venv/everything
	$(BIN)/python -m benchmarks.privacy $(FULL)

release-check: .venv/everything
	$(PIP) install -c constraints.txt --group release
	$(BIN)/python tools/release_check.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/base: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) install -c constraints.txt -e ".[report,demo]"
	@touch $@

.venv/everything: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) install -c constraints.txt "pip>=25.1"
	$(PIP) install -c constraints.txt -e ".[all]" --group dev
	@touch $@ .venv/base

# The report is tested in a real browser; where this may not install one, those tests say so.
.venv/browser: | .venv/bin/python
	command -v chromium >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium; } \
	  >/dev/null || echo "install chromium: the tests of the report need it"
	@touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist site scope-demo
