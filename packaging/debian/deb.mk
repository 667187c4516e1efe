# SPDX-License-Identifier: GPL-2.0-or-later
#
# Debian packages. Included by the top Makefile.
#
#   make deb [SLURM_SRC=TREE SLURM_VERSION=VERSION] [DEB_VERSION=VERSION]
#
#   SLURM_SRC      a configured Slurm tree; default: that of the installed slurmctld, as for `make shims`
#   SLURM_VERSION  the version of the package slurmctld that the plugins are for; default: the installed one
#   DEB_VERSION    the version of the packages; default: that in Cargo.toml. For changes of your own, say 0.1.0+site1

DEB ?= target/deb
DEB_TREE := $(DEB)/surgent
DEB_VERSION ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
SLURM_VERSION ?= $(shell dpkg-query -W -f '$${Version}' slurmctld)

.PHONY: deb deb-packages
deb: ## Build Debian packages for the installed Slurm into target/deb
	@SLURM_SRC='$(SLURM_SRC)' packaging/setup packages
	@$(MAKE) --no-print-directory deb-packages

deb-packages:
	@upstream=$$(awk '$$1 == "Version:" { print $$2; exit }' '$(SHIM_TREE)/META'); case '$(SLURM_VERSION)' in "$$upstream"-*) ;; *) \
		echo "make deb: the plugins are built for Slurm $$upstream, and SLURM_VERSION is '$(SLURM_VERSION)'." \
			"Set it to the version of the package slurmctld that they are for, such as $$upstream-1." >&2; exit 1 ;; esac
	@rm -rf $(DEB)
	@$(MAKE) --no-print-directory install DESTDIR='$(CURDIR)/$(DEB_TREE)/root' PREFIX=/usr OUT=$(DEB)/plugins \
		PLUGINDIR="/usr/lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH)/slurm-wlm" CARGO='$(CARGO) --locked'
	@packaging/debian/build $(DEB_TREE) '$(DEB_VERSION)' '$(SLURM_VERSION)'
	@ls $(DEB)/*.deb
