# `make demo` and `make test` do everything on a fresh machine: set up .venv, then run.
# They use uv where it is installed, and venv with pip where it is not.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test quick lint format bench bench-serve soak docs site dist lock clean

help:
	@echo "make demo    set up, then start an example server, lint, grade and prove it"
	@echo "make test    set up, then run everything that CI runs"
	@echo "make quick   ruff and the tests that are not slow, with fewer examples of each property"
	@echo "make lint    ruff, mypy and import-linter only"
	@echo "make format  let ruff rewrite the sources"
	@echo "make bench   measure speed, as ratios"
	@echo "make bench-serve  measure pages over stores with a million findings"
	@echo "make soak    long experiments: a catalog of 50 MB, killed writers and sweeps, a fuzzed API, 300 live servers, random edits in an editor, hostile JavaScript"
	@echo "make docs    write the pages, schemas and pictures that come from the code"
	@echo "make site    build the documentation site in build/site"
	@echo "make dist    build the wheel and the source distribution, and try them in a clean environment"
	@echo "make lock    resolve requirements.lock anew (needs uv)"

$(READY): pyproject.toml requirements.lock
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -r requirements.lock && \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mcproof needs Python 3.11 or newer; set PYTHON=...")' && \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $@

# What only CI, `make site` and `make dist` need: a superset of requirements.lock.
CI_READY := $(VENV)/.ci-ready
$(CI_READY): $(READY) requirements-ci.lock
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python -r requirements-ci.lock ; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-ci.lock ; \
	fi
	@touch $@

demo: $(READY)
	@$(BIN)/mcproof demo

# Without cached bytecode, each process would compile mcproof and the tests anew.
test quick: export PYTHONDONTWRITEBYTECODE =

test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --hypothesis-profile quick

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Long experiments: run once and reported, not part of the tests.
soak: $(READY)
	@cd tests && for name in cli source.javascript services.store services.web services.sweep services.lsp; do ../$(BIN)/python -m $$name.soak || exit 1; done

bench: $(READY)
	@$(BIN)/python benchmarks/bench.py

# Fills stores with a million findings, in SQLite and PostgreSQL.
bench-serve: $(READY)
	@$(BIN)/python benchmarks/bench.py serve

docs: $(READY)
	$(BIN)/python scripts/write_docs.py
	$(BIN)/python scripts/write_stills.py

site: $(CI_READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

dist: $(CI_READY)
	@$(BIN)/python scripts/try_dist.py

lock:
	uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header \
		--extra dev --output-file requirements.lock pyproject.toml
	uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header \
		--extra dev --extra ci --constraint requirements.lock --output-file requirements-ci.lock pyproject.toml

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
