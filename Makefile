# Nothing is needed but make and Python >= 3.11. `make demo` and `make test` are the two to start with.

.PHONY: help install dev demo up test lint bench chaos docs lock
.DEFAULT_GOAL := help

PYTEST_WORKERS ?= auto

help:
	@echo 'make demo [ONCE=1]  crawl a built-in shop, change it, crawl it again, show the difference'
	@echo 'make test [ARGS=..] bring what the tests need and run them'
	@echo 'make up             the server, in the foreground'
	@echo 'make install        the environment alone: .venv/bin/fyke'
	@echo 'make lint           style, types and import rules'
	@echo 'make bench          side by side with others'
	@echo 'make chaos          the long runs with kill -9'
	@echo 'make docs           bring docs/ up to date with settings, commands, endpoints'
	@echo 'make lock           lock the dependencies anew'

install:
	@scripts/setup runtime

demo: install
	@.venv/bin/fyke demo $(if $(filter-out 0,$(ONCE)),--once)

up: install
	@.venv/bin/fyke serve

dev:
	@scripts/setup dev

test: dev
	@scripts/services
	@.venv/bin/pytest -n $(PYTEST_WORKERS) --dist loadgroup $(ARGS)

lint: dev
	@failed=0; \
	for check in 'ruff check' 'ruff format --check' mypy 'lint-imports --no-logo'; do \
		echo "$$check"; .venv/bin/$$check || failed=1; \
	done; \
	exit $$failed

bench: dev
	@.venv/bin/python -m bench $(ARGS)

chaos: dev
	@scripts/services
	@.venv/bin/pytest tests/chaos --long --capture=no --verbose $(ARGS)

docs: dev
	@.venv/bin/python -m scripts.docs

lock:
	@scripts/lock
