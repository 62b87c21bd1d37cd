# `make demo` to see it work, `make test` to check it; both set up .venv first. CONTRIBUTING.md says more.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
CPP := $(wildcard cpp/*.?pp cpp/*/*.?pp)

.PHONY: demo test bench lint format venv sanitize fuzz wheel clean

demo: $(READY)
	$(BIN)/python examples/inference.py

test: lint
	$(BIN)/python -m pytest

bench: $(READY)
	set -e; for file in benchmarks/*.py; do $(BIN)/python $$file; done

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP)

# Set up again whenever the requirements or the C++ sources change. The build tools come first and are then used as they
# are (no build isolation), so that the versions are those of constraints.txt and only changed files are compiled.
venv: $(READY)

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(CPP)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt cmake nanobind ninja scikit-build-core
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation -e ".[dev]"
	touch $@

# An environment with the instrumented kernel and, by a path file, everything else that .venv holds.
SANITIZED := build/sanitize/venv
RUNTIMES := $(shell $${CXX:-c++} -print-file-name=libasan.so):$(shell $${CXX:-c++} -print-file-name=libstdc++.so)
sanitize: $(READY)
	test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> $$($(SANITIZED)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/shared.pth
	$(SANITIZED)/bin/python -m pip install --quiet --no-deps --no-build-isolation --force-reinstall \
		-C build-dir=build/sanitize/cmake -C cmake.define.NF_SANITIZE=ON .
	LD_PRELOAD=$(RUNTIMES) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(SANITIZED)/bin/python -m pytest tests/inference --hypothesis-profile=sanitize --capture=sys

fuzz: $(READY)
	$(BIN)/python tests/inference/fuzz.py

wheel: $(READY)
	$(BIN)/python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf build dist .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -f src/neuralfactors/*/_kernels.pyi
