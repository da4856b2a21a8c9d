# Thin: the longer work is in tools/.  PYTHON=python3.12 chooses an interpreter.

.DEFAULT_GOAL := help
.PHONY: help demo test dev lint bench clean

export PYTHON ARGS ONLY PYTHONS

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

demo: ## set up .venv and profile an example: ends in the table
	@tools/run demo

test: ## the whole suite on every Python found, once per hook (ONLY=3.12 ARGS="-k hits")
	@tools/run suite

dev: ## set up .venv to work on lineprof: editable, linters, commit hooks
	@tools/run dev

lint: ## ruff, mypy, stubtest, clang-format, codespell
	@tools/run lint

bench: ## added time per line event beside other profilers (ARGS="--help")
	@tools/run bench

clean: ## remove all that these commands made
	rm -rf build dist .venv .venv-* .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
