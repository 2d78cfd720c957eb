# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Targets for people; the kernel's build reads Kbuild instead. Every target
# brings what it needs from apt first. `make help` lists them.

KVER ?= $(shell selftests/setup/kver.sh)
KDIR ?= /lib/modules/$(KVER)/build
JOBS ?= $(shell nproc)

# Options of selftests/vm/run, for the targets that boot a guest.
VMFLAGS ?=

SETUP := selftests/setup
BUILD := $(CURDIR)/build
# Set-up must leave the headers alone when the caller names a build tree.
SETUP_KDIR := $(if $(filter command environment,$(firstword $(origin KDIR))),$(KDIR))
# No -j of our own below a make that already runs jobs.
SUBJOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: all modules provider selftests unit lint style demo check check-all \
	check-debug check-kcsan check-rdma-core coverage in-tree soak \
	bench install shell clean help

all: modules provider

help:
	@echo 'make modules       the kernel module, for KVER or KDIR'
	@echo 'make provider      the libibverbs provider, in build/provider'
	@echo 'make demo          the driver at work, in a throw-away guest'
	@echo 'make check         all tests, on the stock kernel'
	@echo 'make check-all     the same, each of them at full length'
	@echo 'make check-debug   the same on a kernel with KASAN and kmemleak'
	@echo 'make check-kcsan   those that race most, on a kernel with KCSAN'
	@echo 'make soak          races for half an hour, and long runs, with KASAN'
	@echo 'make coverage      the same, counting lines of the module they reach'
	@echo 'make check-rdma-core  rdma-core 44, 56, 65, each on three kernels'
	@echo 'make in-tree       the driver as a part of the newest kernel'
	@echo 'make bench         pane beside rdma_rxe: table and chart'
	@echo 'make install       module, provider, manual pages; as root'
	@echo 'make shell         an interactive guest with two devices up'
	@echo 'make selftests     compile the tests, in build/selftests'
	@echo 'make unit          the unit tests that need no kernel'
	@echo 'make lint          checkpatch, kernel-doc, coccicheck, sparse,'
	@echo '                   gcc and clang with W=1, clang analyzer, ...'
	@echo 'make clean         remove everything that was built'
	@echo
	@echo 'KVER=$(KVER)'
	@echo 'KDIR=$(KDIR)'

# What each target needs from apt, as groups of selftests/setup/setup.sh.
NEEDS_modules := modules
NEEDS_provider := provider
NEEDS_selftests := selftests
NEEDS_unit := unit provider
NEEDS_lint := modules lint
NEEDS_demo := modules provider selftests vm
NEEDS_check := modules provider selftests unit lint vm tests
NEEDS_check-all := $(NEEDS_check) stacks
NEEDS_check-debug := modules provider selftests vm tests kernel
NEEDS_check-kcsan := provider selftests vm tests kernel
NEEDS_coverage := $(NEEDS_check-kcsan)
NEEDS_check-rdma-core := modules provider selftests vm tests root
NEEDS_in-tree := provider selftests vm tests kernel in-tree
NEEDS_soak := $(NEEDS_check-debug)
NEEDS_bench := modules provider selftests vm bench kernel
NEEDS_shell := modules provider vm

# Targets of their own, and not first lines of the recipes: make expands a whole
# recipe, KVER included, before it runs the first line.
SETUPS := $(addprefix setup-,modules provider selftests unit lint demo check \
	    check-all check-debug check-kcsan check-rdma-core coverage \
	    in-tree soak bench shell)
.PHONY: $(SETUPS)
$(SETUPS): setup-%:
	@KDIR='$(SETUP_KDIR)' $(SETUP)/setup.sh $(NEEDS_$*)

modules: setup-modules
	$(MAKE) $(SUBJOBS) -C '$(KDIR)' M='$(CURDIR)' modules

provider: setup-provider
	@$(SETUP)/provider.sh

selftests: setup-selftests
	@$(MAKE) $(SUBJOBS) -C selftests install \
		O='$(BUILD)' INSTALL_PATH='$(BUILD)/selftests'

unit: setup-unit
	@$(MAKE) $(SUBJOBS) -C selftests/unit OUTPUT='$(BUILD)/unit' run_tests

lint: setup-lint
	@KDIR='$(KDIR)' selftests/lint.sh

# its name of old
style: lint

demo: setup-demo modules provider selftests
	@selftests/vm/run $(VMFLAGS) -- build/selftests/demo/demo.sh

check: setup-check modules provider selftests
	@selftests/check.sh stock $(VMFLAGS)

check-all: setup-check-all modules provider selftests
	@selftests/check.sh all $(VMFLAGS)

check-debug: setup-check-debug modules provider selftests
	@selftests/check.sh debug $(VMFLAGS)

check-kcsan: setup-check-kcsan provider selftests
	@selftests/check.sh kcsan $(VMFLAGS)

coverage: setup-coverage provider selftests
	@selftests/coverage.sh $(VMFLAGS)

check-rdma-core: setup-check-rdma-core modules provider selftests
	@selftests/check-rdma-core.sh $(VMFLAGS)

in-tree: setup-in-tree provider
	@selftests/in-tree.sh $(VMFLAGS)

soak: setup-soak modules provider selftests
	@selftests/soak.sh $(VMFLAGS)

bench: setup-bench modules provider selftests
	@selftests/bench/bench.sh $(VMFLAGS)

shell: setup-shell modules provider
	@selftests/vm/run --timeout 86400 $(VMFLAGS) --interactive -- \
		selftests/vm/guest/shell

install: modules provider
	@KDIR='$(KDIR)' KVER='$(KVER)' $(SETUP)/install.sh

clean:
	@if [ -e '$(KDIR)' ]; then \
		$(MAKE) -C '$(KDIR)' M='$(CURDIR)' clean; \
	fi
	rm -rf build
