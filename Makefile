# Short targets: the work is done by the scripts in tools/. PYTHON=python3.12 chooses
# the interpreter that runs them.

.DEFAULT_GOAL := help
.PHONY: help docs demo demo-gpu-double check-cupti check-upstream check-cpython check-torch check-torch-gpu check-mpi check-dask check-ray check-exports check-report check-endings check-attach check-executions check-memory check-memray check-kineto mutants docs-pictures test test-newest test-all unstable fuzz test-gpu dev lint bench clean

export PYTHON ARGS DIR ONLY PYTHONS NEWEST NEWEST_ROOT REST RUNS SECONDS SEED

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

demo: ## set up .venv and profile an example: ends in the first screen
	@tools/run demo/demo

demo-gpu-double: ## the table of a simulated GPU, on any machine
	@tools/run demo/demo_gpu

test: ## the suite on every Python found (ONLY=3.12 ARGS="-k hits" NEWEST=1)
	@tools/run dev/suite

test-newest: ## the suite on Python 3.14 and 3.15 in a Debian sid; needs root (ONLY=3.15 NEWEST_ROOT=DIR)
	@NEWEST=1 ONLY="$${ONLY:-3.14 3.15}" tools/run dev/suite

test-all: ## every test on every Python and core that it may depend on; slow; needs root
	@NEWEST=1 REST=all tools/run dev/suite

unstable: ## tests often and beside busy loops (ARGS=tests/live/test_top_keys.py RUNS=200 ONLY=3.12)
	@tools/run dev/unstable

fuzz: ## damaged profiles through every view and export (SECONDS=1200 SEED=1)
	@tools/run dev/fuzz

test-gpu: ## tests that need an NVIDIA GPU (PYTHON=... ARGS="--list")
	@tools/run checks/gpu

dev: ## set up .venv to work on lineprof: editable, linters, commit hooks
	@tools/run dev/dev

lint: ## ruff, mypy, import-linter, stubtest, clang-format, codespell
	@tools/run dev/lint

bench: ## added time per line event beside other profilers (ARGS="--help")
	@tools/run dev/bench

check-cupti: ## declarations of CUPTI against all headers; its libraries without a driver
	@tools/run checks/cupti/check
	@tools/run checks/cupti/without_driver

check-upstream: ## line_profiler's own tests with lineprof in its place (ONLY=3.12)
	@tools/run checks/upstream/check

check-cpython: ## CPython's own tests with every function profiled (ONLY=3.12 ARGS=--memory)
	@tools/run checks/cpython/check $(ARGS)

check-torch: ## PyTorch programs with and without kernprof; needs no GPU (ONLY=3.12)
	@tools/run checks/torch/check

check-torch-gpu: ## PyTorch, Triton and their profilers on a simulated GPU (ONLY=3.12 ARGS="torch_graphs")
	@tools/run checks/torch/gpu

check-mpi: ## ranks of MPICH and Open MPI under kernprof, on this machine (ONLY=3.12)
	@tools/run checks/mpi/check

check-dask: ## functions that Dask sends to workers: all hits are found (ONLY=3.12)
	@tools/run checks/clusters/check dask

check-ray: ## functions that Ray sends to workers: all hits are found (ONLY=3.12)
	@tools/run checks/clusters/check ray

check-exports: ## every export format opened by the programs that read it (ARGS="--help")
	@tools/run checks/exports/check

check-report: ## HTML reports in a headless Chromium: every tab, both themes (ARGS="--keep FOLDER")
	@tools/run checks/report/check

check-endings: ## profiles and exit statuses of programs that end badly (ARGS="--runs 20 --load 4")
	@PYTHON=$${PYTHON:-.venv/bin/python} tools/run checks/check_endings $(ARGS)

check-attach: ## rounds of attach to programs that fork, end or have threads (ARGS="--rounds 200 --load 2 --memory")
	@PYTHON=$${PYTHON:-.venv/bin/python} tools/run checks/check_attach $(ARGS)

check-executions: ## hits of random programs against their own count, on every Python and core (ONLY=3.12 ARGS="--seeds 2000")
	@tools/run checks/random_programs compare.py

check-memory: ## memory of random programs against their own model, on every Python and core (ONLY=3.12 ARGS="--seeds 1000")
	@tools/run checks/random_programs compare_memory.py

check-memray: ## bytes by line of real programs, compared with memray (ONLY=3.12 ARGS="--only arrays")
	@tools/run checks/memory/check

check-kineto: ## traces of PyTorch's profiler, replayed and compared with their JSON (DIR=FOLDER ARGS="--show 50")
	@tools/run checks/check_kineto

mutants: ## one-line mistakes that no test notices, in Python and in C; slow (ARGS="--help")
	@tools/run checks/mutate_python
	@test -n "$$ARGS" || tools/run checks/mutate_c

docs: ## the documentation as a site: build/docs/index.html
	@tools/run docs/build

docs-pictures: ## make the pictures of docs/ again (ARGS="view report": these alone)
	@tools/run demo/docs_pictures

clean: ## remove everything that these commands made
	rm -rf build dist .venv .venv-* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
