# Everything is set up by the targets themselves: Python 3.11 or later (with venv), git and make suffice.
# Nothing is installed outside .venv.

VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --quiet
SEARCHED := python3 python3.14 python3.13 python3.12 python3.11
FROM_SOURCE := PYTHONPATH=src $(RUN)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-full test test-all test-flux lint schemas bench docs operator-releases pictures site lock pins audit clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 17
	@echo
	@echo "  PYTHON=python3.12         the Python to use (3.11 or later)"
	@echo "  TESTS=tests/test_cases.py  what make test runs instead"
	@echo "  PYTEST_ARGS='-k carry'    passed on by make test and make test-all"

demo: $(VENV)/demo ## Upgrades and a bootstrap by pull request, offline: one page, in 30 seconds
	@$(FROM_SOURCE) demo/run.py

demo-full: $(VENV)/demo ## The same with all texts, and with commands in clones
	@$(FROM_SOURCE) demo/run.py --full

# What needs no program but git, no server and no network.
TESTS := tests/unit tests/kinds tests/test_cases.py tests/migration tests/overlay tests/breaks tests/docs
# On every core, and one more (tests/conftest.py); whoever is done early takes over what others still have to do.
PARALLEL := --numprocesses=auto --dist=worksteal

# Compiled modules are kept, or each worker and each process that a test starts compiles them again.
test test-all: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/project ## Run the tests that need nothing else: three minutes
	$(RUN) -m pytest $(PARALLEL) $(TESTS) $(PYTEST_ARGS)

test-all: $(VENV)/project ## Run all tests, as CI does: real servers, the image, public repositories
	@command -v npm >/dev/null || echo "Without npm, tests against GitHub's descriptions of its API are skipped." >&2
	@! command -v npm >/dev/null || $(MAKE) --no-print-directory schemas
	$(RUN) -m pytest $(PARALLEL) $(PYTEST_ARGS)

# The programs are kept in the user's cache directory, for all checkouts. KUBEBUILDER_ASSETS is envtest's variable.
test-flux: $(VENV)/project ## Run the tests on real Kubernetes and Flux, built from Go modules in half an hour
	$(RUN) tests/real_flux/build.py
	KUBEBUILDER_ASSETS="$$($(RUN) tests/real_flux/build.py --assets)" \
	  $(RUN) -m pytest $(PARALLEL) -m cluster tests/cluster tests/real_flux $(PYTEST_ARGS)

lint: $(VENV)/project ## Check style, types and the layers of docs/design.md
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

schemas: $(VENV)/project ## Fetch GitHub's descriptions of its API, and Renovate, for the tests (needs npm)
	$(RUN) tests/stand_in/fetch_schemas.py
	$(RUN) tests/renovate/fetch_renovate.py

bench: $(VENV)/demo ## Measure, and write docs/benchmarks.md
	$(FROM_SOURCE) bench/measure.py

docs: $(VENV)/runtime ## Write the generated parts of the documentation anew
	$(FROM_SOURCE) docs/generate.py

# In it: the pictures to draw; all of them if empty.
PICTURES :=

pictures: $(VENV)/made ## Draw docs/pictures again (needs Chromium, cmark-gfm and pngquant)
	@PYTHONPATH=tests $(RUN) docs/picture.py $(PICTURES)

site: $(VENV)/docs ## Build the site of the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

# Pins that are there stay where they can: UV_ARGS=--upgrade moves them.
UV := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(UV_ARGS)

lock: $(VENV)/pins ## Lock the dependencies of pyproject.toml again
	$(UV) pyproject.toml --output-file requirements/runtime.txt
	$(UV) pyproject.toml --group demo --output-file requirements/demo.txt
	$(UV) pyproject.toml --extra cluster --group dev --output-file requirements/dev.txt
	$(UV) --group docs --constraint requirements/dev.txt --output-file requirements/docs.txt
	$(UV) --group pins --constraint requirements/dev.txt --output-file requirements/pins.txt

# A version that turns out to be malicious is usually taken back within days.
pins: export UV_EXCLUDE_NEWER := 7 days
pins: $(VENV)/pins $(VENV)/dev ## Move pins that no bot knows: Python's, npm's and Go's (needs npm and Go)
	@$(MAKE) --no-print-directory lock UV_ARGS=--upgrade
	$(RUN) tests/update_pins.py

operator-releases: $(VENV)/project ## Add what newer flux-operator releases include to its table (needs Go)
	$(RUN) tests/update_operator_releases.py
	@$(MAKE) --no-print-directory docs

audit: $(VENV)/pins ## Look for known vulnerabilities in all locked dependencies
	$(VENV)/bin/pip-audit --strict --require-hashes --disable-pip $(foreach file,$(wildcard requirements/*.txt),-r $(file))

clean: ## Remove what was set up
	rm -rf $(VENV) .cache build/site

# A stamp is written last, so that what was broken off is begun anew.
# PYTHON alone is tried where it is given.
$(VENV)/made:
	@for python in $(or $(PYTHON),$(SEARCHED)); do \
	  if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    $$python -m venv --clear $(VENV) && touch $@; exit; \
	  fi; \
	done; \
	echo "flux-upgrade needs Python 3.11 or later with venv; none of these is one: $(or $(PYTHON),$(SEARCHED))" >&2; \
	echo "  Install one (on Debian with its python3-venv), or name one: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; \
	exit 1

$(VENV)/runtime: requirements/runtime.txt $(VENV)/made
	@echo "Setting up $(VENV) from $<"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/demo: requirements/demo.txt $(VENV)/made
	@echo "Setting up $(VENV) from $<"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/docs: requirements/docs.txt $(VENV)/made
	@echo "Setting up $(VENV) from $<"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/pins: requirements/pins.txt $(VENV)/made
	@echo "Setting up $(VENV) from $<"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/dev: requirements/dev.txt $(VENV)/made
	@echo "Setting up $(VENV) from $<"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/project: pyproject.toml $(VENV)/dev
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@
