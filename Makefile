# make setup   the environment in .venv (EXTRAS="deid gpu" adds to it); quick when nothing changed
# make demo    everything running here, with links to click; Ctrl-C stops it, the data stay in var/
# make test    every check and test, with services of its own in var/test
# make bench   the benchmarks
# make lint    the checks without the tests
# make clean   remove the environment, the caches and the tests' state; never your data in var/

PYTHON ?= $(shell command -v python3 || command -v python)
UV_VERSION := 0.13.9
V := .venv/bin/python
EXTRAS ?=
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup setup-dev demo test bench lint clean

help:
	@sed -n 's/^# make/make/p' Makefile

setup:
	@PYTHON="$(PYTHON)" UV_VERSION="$(UV_VERSION)" sh .ci/environment local $(EXTRAS)

setup-dev:
	@PYTHON="$(PYTHON)" UV_VERSION="$(UV_VERSION)" sh .ci/environment dev $(EXTRAS)

demo: setup
	@exec $(V) manage.py demo

test: setup-dev
	@sh .ci/checks all

lint: setup-dev
	@sh .ci/checks lint

bench: setup-dev
	@$(V) -m bench

clean:
	@if [ -x $(V) ]; then STACK_DIR=var/test $(V) -m studyplatform.stack down || true; fi
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis staticfiles test-results
	@if [ -f var/test/postgres-home ]; then rm -rf "$$(cat var/test/postgres-home)"; fi
	@rm -rf var/test
	@echo "Removed the environment, the caches and the tests' state. Your data in var/ are still there."
