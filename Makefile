# make demo | test | test-all | lint | format | bench | faults: each sets up .venv by itself on first use.
EXTRAS ?= test,table,images,plot,dev
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
BASE ?= $(shell command -v python3 || command -v python)
PYTHON := $(BIN)/python
READY := $(VENV)/ready

.PHONY: demo test test-all lint format bench faults clean

demo: $(READY)
	$(PYTHON) examples/demo.py

test: $(READY)
	$(PYTHON) -m pytest $(ARGS)

test-all: $(READY)
	$(PYTHON) -m pytest -m "slow or not slow" $(ARGS)

lint: $(READY)
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

format: $(READY)
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

bench: $(READY)
	$(PYTHON) benchmarks/codebook.py $(ARGS)
	$(PYTHON) benchmarks/kmeans.py $(ARGS)

faults: $(READY)
	$(PYTHON) tests/faults.py $(ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml constraints.txt
ifneq ($(shell command -v uv),)
	uv venv --quiet --allow-existing --seed $(VENV)
	uv pip install --quiet --python $(PYTHON) -c constraints.txt -e ".[$(EXTRAS)]"
else
	@test -n "$(BASE)" || { echo "no python found: install Python 3.11 or newer, or set BASE=/path/to/python"; exit 1; }
	@$(BASE) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "$(BASE) is older than Python 3.11: set BASE=/path/to/a/newer/python"; exit 1; }
	@$(BASE) -c "import venv, ensurepip" || { echo "$(BASE) cannot make virtual environments: install its venv package (on Debian: apt install python3-venv) or uv"; exit 1; }
	$(BASE) -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
endif
	@$(PYTHON) -c "open('$(READY)', 'w').close()"
