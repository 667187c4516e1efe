# SPDX-License-Identifier: GPL-2.0-or-later
#
# RPM packages, from the last commit. Included by the top Makefile.
#
#   make rpm [SLURM_SRC=TREE] [RPMBUILD_FLAGS=...]
#
#   SLURM_SRC       a configured Slurm tree; default: that of the installed slurmctld, as for `make shims`
#   RPMBUILD_FLAGS  e.g. --without cargo, or --define 'slurm_release 1.el9' (see packaging/rpm/surgent.spec)

RPM := $(CURDIR)/target/rpm
RPM_VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
RPMBUILD_FLAGS ?=

.PHONY: rpm check-rpm
rpm: ## Build RPM packages for the installed Slurm, or for SLURM_SRC, into target/rpm
	@mkdir -p '$(RPM)/SOURCES'
	@git archive --prefix='surgent-$(RPM_VERSION)/' -o '$(RPM)/SOURCES/surgent-$(RPM_VERSION).tar.gz' HEAD
	@# On a machine whose own packages are no RPMs, none of those that are needed seems to be there.
	rpmbuild -ba --define '_topdir $(RPM)' --define 'slurm_src $(SHIM_TREE)' $(RPMBUILD_FLAGS) \
		$(shell rpm --query --quiet rpm || echo --nodeps) packaging/rpm/surgent.spec
	@ls '$(RPM)'/RPMS/*/*.rpm '$(RPM)'/SRPMS/*.rpm

check-rpm: ## Build the RPM packages and look at them: rpmlint, files, what they require, installed into an empty root
	@command -v rpmbuild >/dev/null && command -v rpmlint >/dev/null || { \
		echo 'skipped, for rpmbuild or rpmlint is not installed: the test of the RPM packages'; exit 0; } && \
	rm -rf '$(RPM)' && $(MAKE) --no-print-directory rpm && tests/packages/rpm '$(RPM)'
