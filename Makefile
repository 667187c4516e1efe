# SPDX-License-Identifier: GPL-2.0-or-later
# `make help` lists what can be made.

SHELL := /bin/sh
CARGO ?= cargo
# Where cargo builds. Plugins, Slurm's headers and the demo's data are always in ./target.
BUILT := $(or $(CARGO_TARGET_DIR),target)
CORE := $(BUILT)/release/libsurgent.so
SURGENT := $(BUILT)/release/surgent
CORE_WITH_FAULTS := $(BUILT)/faults/release/libsurgent.so
FAULTS := target/plugins-faults
# What check-cluster runs on, and which of its tests.
SLURM_RELEASE ?= native
TESTS ?=
# How many rounds check-faults plays on each of the two, from which seed on, and on how many clusters and fake hosts at a time.
# The seed is that of soak, too.
ROUNDS ?= 1000
SEED ?= $(shell date +%s)
CLUSTERS ?= 2
HOSTS ?= 20
# Where the traces of docs/evaluation.md are.
TRACES ?= ../shared/traces
# The Debian release that check-packages tries: this machine's own, or one named here.
SUITE ?= $(shell . /etc/os-release && echo "$$VERSION_CODENAME")
BENCH := target/plugins-bench
DIGITS := target/demo-data/digits.csv.gz
FRAMEWORKS := packaging/python/tests/frameworks
# Builds the program of the cluster tests and prints its path, which is in what cargo says as JSON.
CLUSTER_TESTS = $(CARGO) test --no-run --test cluster --message-format=json-render-diagnostics | \
	jq -r 'select(.target.name == "cluster").executable | strings' | grep .

.PHONY: help setup build demo check check-cluster cluster-native cluster-in-chroot check-faults soak check-packages check-frameworks keras test lint \
	faults bench bench-cluster bench-submit bench-latency bench-scale evaluation check-memory check-asan check-miri check-valgrind fuzz clean FORCE
help: ## List what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null || \
		sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

include slurm-headers/shims.mk
include packaging/rpm/rpm.mk
include packaging/debian/deb.mk

setup: ## Install what is missing on a fresh Debian 12 (as root)
	@packaging/setup

build: $(CORE) $(SURGENT) ## Build the core and the program surgent

# Said first, and not after Slurm has been installed and fetched.
.PHONY: rust
setup lint $(CORE) $(SURGENT): rust
rust:
	@$(CARGO) --version >/dev/null 2>&1 || { \
		echo 'make: $(CARGO) does not run: install Rust 1.88 or later, with rustup, say' >&2; exit 1; }

demo: setup ## Show the whole story on a real Slurm, in about a minute and a half
	@$(MAKE) --no-print-directory shims $(DIGITS)
	@$(CARGO) build --release --example demo
	@SURGENT_BIN='$(abspath $(SURGENT))' $(BUILT)/release/examples/demo

bench-cluster: setup ## Measure looks at a real slurmctld with 10,000 nodes, in about ten minutes
	@$(MAKE) --no-print-directory shims
	$(CARGO) bench --bench full_cluster

bench-submit: setup ## Compare what submissions take a real slurmctld with nothing, job_submit/lua and Surgent
	@$(MAKE) --no-print-directory shims
	$(CARGO) bench --bench submit

bench-latency: setup ## Compare how urgent jobs start with Surgent and with preempt/qos, on real clusters, in half an hour
	@$(MAKE) --no-print-directory shims $(DIGITS)
	$(CARGO) bench --bench latency

bench-scale: setup ## Compare a real slurmctld with 300 slurmd, its cluster full: no preemption, Slurm's and Surgent's, in about half an hour
	@$(MAKE) --no-print-directory shims
	$(CARGO) bench --bench scale

evaluation: ## Print the tables of docs/evaluation.md from the traces in the folder TRACES, in less than a minute
	SURGENT_TRACES='$(TRACES)' $(CARGO) bench --bench evaluation

check: setup ## Run every test, on a real Slurm too, and the cluster tests on Slurm 24.11 as well
	@$(MAKE) --no-print-directory lint test
	@$(MAKE) --no-print-directory check-cluster SLURM_RELEASE=24.11 SLURM_SRC=

check-cluster: setup ## Run the cluster tests on SLURM_RELEASE=native, 24.11 or 26.05 (Debian 13 or sid in a chroot), or those named in TESTS
	@$(MAKE) --no-print-directory $(if $(filter native,$(SLURM_RELEASE)),cluster-native,cluster-in-chroot)

check-frameworks: setup ## Preempt trainings in Lightning and Transformers too, with SURGENT_PYTHON or what is installed for it (6 GB)
	@$(MAKE) --no-print-directory shims $(if $(SURGENT_PYTHON),,target/torch/installed)
	$(CARGO) test --test cluster -- --include-ignored --nocapture --test-threads=1 programs:: launchers::

keras: target/keras/installed ## Install Keras and JAX into target/keras for the tests (145 MB)

target/%/installed: $(FRAMEWORKS)/requirements-%.txt
	@$(FRAMEWORKS)/install target/$* $<

# Of what stable Rust has as well, but would not say.
UNSTABLE = RUSTC_BOOTSTRAP=1
HOST_TARGET = $(shell rustc -vV | sed -n 's/^host: //p')

fuzz: ## Fuzz all that reads what others wrote, FUZZ_S seconds each (600); TARGET=comment: only that
	@$(CARGO) fuzz --version >/dev/null 2>&1 || { echo 'make: cargo fuzz is not installed: cargo install cargo-fuzz' >&2; exit 1; }
	@for target in $(or $(TARGET),$(FUZZ_TARGETS)); do \
		mkdir -p "target/corpus/$$target" && $(UNSTABLE) $(CARGO) fuzz run --fuzz-dir tests/fuzz --target-dir '$(BUILT)/fuzz' \
			"$$target" "target/corpus/$$target" "tests/fuzz/cases/$$target" -- \
			-max_total_time=$(or $(FUZZ_S),600) -timeout=10 -rss_limit_mb=2048 -max_len=20000 -print_final_stats=1 || exit 1; done
FUZZ_TARGETS = $(notdir $(wildcard tests/fuzz/cases/*))

check-memory: check-asan check-miri check-valgrind ## Look for wrong use of memory: AddressSanitizer, Miri, slurmctld under valgrind

# Memory that is lost counts, too.
check-asan:
	$(UNSTABLE) RUSTFLAGS=-Zsanitizer=address $(CARGO) test --target '$(HOST_TARGET)' --target-dir '$(BUILT)/asan' --no-fail-fast \
		--lib --test fake_host --test fuzz --test comments

# The tests with unsafe code, but for those that call C or look up users, and one with texts of a megabyte.
MIRI = $(CARGO) +nightly miri
check-miri:
	@if $(MIRI) --version >/dev/null 2>&1; then \
		$(MIRI) test --target-dir '$(BUILT)/miri' --lib -- --skip jobs_have_the_names host::views host::gate host::queue && \
		MIRIFLAGS=-Zmiri-disable-isolation $(MIRI) test --target-dir '$(BUILT)/miri' --test fake_host -- \
			--skip one_layout --skip texts_that_slurm; \
	else echo 'Miri is not installed (rustup component add --toolchain nightly miri rust-src): it is left out.'; fi

check-valgrind:
	@packaging/setup memory
	@$(MAKE) --no-print-directory shims
	@tests=$$($(CLUSTER_TESTS)) && tests/memory/valgrind "$$tests"

lint: ## Check format and clippy
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --all-targets -- -D warnings

test: shims faults $(DIGITS) ## Run the tests without the other checks
	@$(MAKE) --no-print-directory keras || echo 'Keras could not be installed: its test is skipped.'
	@echo "Every test, those of a cluster on $$(PATH=$$PATH:/usr/sbin slurmctld -V):"
	@CARGO='$(CARGO)' tests/suite -- --test-threads=2

cluster-native: shims faults $(DIGITS)
	@CARGO='$(CARGO)' tests/suite --test cluster -- --test-threads=2 $(TESTS)

# Rounds, each from its own seed: the first, which is the time unless it is given, and those that follow it. Those on the fake
# host take minutes, and come first.
check-faults: setup ## Let ROUNDS=1000 faults strike in the middle of everything, from SEED on: on HOSTS=20 fake hosts and on CLUSTERS=2 real ones
	@$(MAKE) --no-print-directory shims
	SURGENT_FAULT_ROUNDS='$(ROUNDS)' SURGENT_FAULT_CLUSTERS='$(CLUSTERS)' SURGENT_FAULT_HOSTS='$(HOSTS)' SURGENT_FAULT_SEED='$(SEED)' \
		$(CARGO) test --no-fail-fast --test fake_rounds --test rounds -- --nocapture

# How long, after three minutes to warm up and until all has ended; in the end it says what to think of the figures.
SOAK_S ?= 3600
soak: setup ## Submit at random for SOAK_S=3600 seconds, from SEED on, and watch slurmctld; SURGENT_SOAK_PLUGINS=off: without Surgent
	@$(MAKE) --no-print-directory shims
	SURGENT_SOAK_S='$(SOAK_S)' SURGENT_SOAK_SEED='$(SEED)' $(CARGO) test --test soak -- --ignored --nocapture

check-packages: setup $(DIGITS) ## Install, upgrade and purge the Debian packages in a clean chroot; SUITE=trixie: in that of Debian 13
	@packaging/setup packages
	@tests=$$($(CLUSTER_TESTS)) && tests/packages/check '$(SUITE)' "$$tests"

cluster-in-chroot: $(CORE) $(CORE_WITH_FAULTS) $(DIGITS)
	@tests=$$($(CLUSTER_TESTS)) && \
	SLURM_SRC='$(SLURM_SRC)' tests/releases/cluster '$(SLURM_RELEASE)' $(CORE) $(CORE_WITH_FAULTS) "$$tests" $(TESTS)

$(CORE) $(SURGENT) &: FORCE
	$(CARGO) build --release

# In which SURGENT_FAULT makes one hook panic.
$(CORE_WITH_FAULTS): FORCE
	$(CARGO) build --release --lib --features faults --target-dir $(BUILT)/faults

# The plugins with that core.
faults: shims $(CORE_WITH_FAULTS)
	@mkdir -p $(FAULTS)
	@for plugin in $(SHIM_PLUGINS) $(SPANK_PLUGIN) $(CORE_WITH_FAULTS); do \
		cp "$$plugin" $(FAULTS)/.new && mv -f $(FAULTS)/.new "$(FAULTS)/$${plugin##*/}" || exit 1; done

bench: shims $(BENCH)/host ## Measure what decisions take (docs/performance.md)
	$(CARGO) build --release --example bench_core
	@cp '$(OUT)/preempt_surgent.so' $(BENCH)/
	@cp $(BUILT)/release/examples/libbench_core.so $(BENCH)/libsurgent.so
	@$(BENCH)/host '$(PLUGINDIR)' $(BENCH)
	SURGENT_TRACES='$(TRACES)' $(CARGO) bench --bench figures

# With all symbols visible, so that the plugins find here what slurmctld has.
$(BENCH)/host: $(wildcard benches/hooks/*.c benches/hooks/*.h) $(SHIM_HEADERS) $(OUT)/.headers | install-plugindir
	@echo '  CC $@'
	@mkdir -p $(BENCH)
	@$(CC) $(filter-out -fvisibility=hidden -fPIC,$(SHIM_CFLAGS)) -isystem '$(SHIM_TREE)' -rdynamic -o $@ \
		$(filter %.c,$^) '$(PLUGINDIR)/libslurmfull.so' -Wl,-rpath,'$(PLUGINDIR)'

$(DIGITS):
	@tests/demo/get-data $@

clean: ## Remove all that was built and fetched
	$(CARGO) clean
	rm -rf target
