# `make demo` to see it work, `make test` to check it; both set up .venv first. CONTRIBUTING.md says more.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
CPP := $(wildcard cpp/*.?pp cpp/*/*.?pp)

.PHONY: demo test docs bench lint format measure venv sanitize fuzz wheel windows release-check clean

demo: $(READY)
	$(BIN)/neuralfactors demo --out runs/demo

test: lint
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile

# The site in build/docs, with every page of the gallery run in full; warnings are errors.
docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	$(BIN)/python tools/site_links.py build/docs

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	printf '%s\n' $(CPP) | xargs -n 15 -P 2 sh -c '$(BIN)/clang-tidy --quiet "$$@" -- $(TIDY_FLAGS)' tidy
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/docstrings.py

TIDY_FLAGS = -x c++ -std=c++17 -DNF_HAVE_AVX2 -DNF_ISA=baseline -Icpp $(addprefix -isystem ,\
	$(shell $(BIN)/python -m nanobind --include_dir) \
	$(shell $(BIN)/python -c "import sysconfig; print(sysconfig.get_path('include'))"))

measure:
	$(PYTHON) tools/measure.py --places

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP)

# Set up again whenever the requirements or the C++ sources change. The build tools come first and are then used as they
# are (no build isolation), so that the versions are those of constraints.txt and only changed files are compiled.
venv: $(READY)
$(READY): pyproject.toml constraints.txt CMakeLists.txt $(CPP)
	@echo "Setting up .venv: pip downloads packages, torch above all, and compiles the kernel. This takes a few minutes."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt cmake nanobind ninja scikit-build-core
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt --no-build-isolation -e ".[dev]"
	touch $@

# build/$(1)/venv: the package as a user gets it, built with the options $(2), and by a path file all else that .venv holds.
SITE := -c "import sysconfig; print(sysconfig.get_path('purelib'))"
define install_into
	test -x build/$(1)/venv/bin/python || $(PYTHON) -m venv --without-pip build/$(1)/venv
	$(BIN)/python $(SITE) > $$(build/$(1)/venv/bin/python $(SITE))/shared.pth
	build/$(1)/venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --force-reinstall \
		-C build-dir=build/$(1)/cmake $(2) .
endef

bench: $(READY)
	$(call install_into,release)
	set -e; for file in $$(grep -l __main__ benchmarks/*.py); do build/release/venv/bin/python $$file; done

# The sanitizers' runtime must be there before Python starts; Python's own allocations at exit are not leaks of ours.
library = $(shell $${CXX:-c++} -print-file-name=$(1))
SANITIZER := LD_PRELOAD=$(call library,libasan.so):$(call library,libstdc++.so) \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
sanitize: $(READY)
	$(call install_into,sanitize,-C cmake.define.NF_SANITIZE=ON -C install.strip=false)
	$(SANITIZER) build/sanitize/venv/bin/python -m pytest tests/inference tests/vision --hypothesis-profile=sanitize --capture=no

fuzz: $(READY)
	$(BIN)/python tests/inference/test_fuzz.py 100000
	PYTHONPATH=tests $(BIN)/python tests/inference/test_claims.py 100000

wheel: $(READY)
	$(BIN)/python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist .

# The kernels, without the bindings, as Windows would have them: compiled by Debian's g++-mingw-w64, not run.
MINGW ?= x86_64-w64-mingw32-g++-posix
MINGW_FLAGS = -std=c++17 -fsyntax-only -fopenmp-simd -Wall -Wextra -Werror -Wno-unused-function -DNF_HAVE_AVX2 -Icpp
windows:
	$(MINGW) $(MINGW_FLAGS) -DNF_ISA=baseline cpp/messages/message_kernels.cpp cpp/sums/sum_kernels.cpp
	$(MINGW) $(MINGW_FLAGS) -DNF_ISA=avx2 -mavx2 cpp/messages/message_kernels.cpp cpp/sums/sum_kernels.cpp
	printf '#include "%s"\n' $(patsubst cpp/%,%,$(filter-out cpp/bindings/%,$(filter %.hpp,$(CPP)))) | \
		$(MINGW) $(MINGW_FLAGS) -x c++ -

# What is published: the source archive, the wheel built from it alone, their metadata, and the wheel in empty environments.
release-check: $(READY)
	rm -rf dist
	$(BIN)/python -m pip install --quiet -c constraints.txt build twine
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*
	NEURALFACTORS_WHEEL=$$(echo $(CURDIR)/dist/*.whl) $(BIN)/python -m pytest tests/test_package.py

clean:
	rm -rf build dist .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -f src/neuralfactors/*/_kernels.pyi
