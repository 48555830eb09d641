# `make demo` shows the main job, `make test` runs the tests. Both set up .venv first; a second run is quick.
# Needs python3 >= 3.10 and pip; another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One stamp for each interpreter: another PYTHON sets up anew.
READY := $(VENV)/.ready-$(subst /,_,$(PYTHON))

# The guard's back ends depend on torch's inside; these are the releases that it is tried with.
TORCH_RELEASES ?= 2.6.0 2.9.1 2.13.0 newest

.PHONY: demo test test-matrix engines clean help

demo: $(READY)
	$(BIN)/python fixtures/demo.py

# One thread in each process: torch's threads wait for each other where several processes share the cores.
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup

test-matrix:
	$(PYTHON) tests/matrix/run.py .matrix $(TORCH_RELEASES)

engines:
	$(PYTHON) tests/engines/run.py .engines

$(READY): pyproject.toml $(wildcard setup.py)
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 10) or sys.exit(f"loaderlint needs Python >= 3.10, $(PYTHON) is {v[0]}.{v[1]}")'
	@echo "Setting up $(VENV). The first time this downloads torch, which can take some minutes."
	$(PYTHON) -m venv $(if $(wildcard $(READY)),,--clear) $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]'
	@touch $@

help:
	@echo "make demo: the main job on a real stream; make test: the tests; make test-matrix: the guard with several releases of torch (large); make engines: the guard with real loaders of vLLM and SGLang (9 GB); make clean: remove what they made"

clean:
	rm -rf $(VENV) .demo .matrix .engines .hypothesis .pytest_cache build dist *.egg-info
