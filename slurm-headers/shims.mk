# SPDX-License-Identifier: GPL-2.0-or-later
#
# Builds and installs Slurm's side of Surgent. Included by the top Makefile, which makes $(CORE) and $(SURGENT).
#
#   make shims [SLURM_SRC=TREE] [OUT=DIR]             the plugins and libsurgent.so, ready to be a PluginDir
#   make shims-releases TREES=FOLDER                  whether they fit each Slurm in it
#   make install [DESTDIR= PREFIX= PLUGINDIR=]        plugins and libsurgent.so into PLUGINDIR, surgent into PREFIX/bin
#   make uninstall [DESTDIR= PREFIX= PLUGINDIR=]
#
#   SLURM_SRC   a configured Slurm tree; default: the one that slurm-headers/fetch gets for the installed slurmctld
#   SLURM_CHANGED=1  that tree is not what Slurm released, and slurmctld was built from it
#   OUT         where the plugins are built
#   CORE        the core to put beside them
#   PLUGINDIR   default: where the installed Slurm keeps its own plugins, since slurmctld looks there without being
#               told. If slurm.conf sets PluginDir, give one of its directories.

SLURM_SRC ?=
OUT ?= target/plugins
CORE ?= target/release/libsurgent.so
SURGENT ?= target/release/surgent
PREFIX ?= /usr/local
PLUGINDIR ?= $(patsubst %/,%,$(dir $(firstword $(wildcard \
	/usr/lib/*/slurm-wlm/select_cons_tres.so /usr/lib64/slurm/select_cons_tres.so \
	/usr/lib/slurm/select_cons_tres.so /usr/local/lib/slurm/select_cons_tres.so))))

SHIMS := job_submit_surgent preempt_surgent site_factor_surgent
SHIM_PLUGINS := $(SHIMS:%=$(OUT)/%.so)
SPANK_PLUGIN := $(OUT)/spank_surgent.so
SHIM_HEADERS := slurm-headers/compat.h slurm-headers/layouts.h slurm-headers/surgent.h $(wildcard src/shim/*.h)

SHIM_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -Wall -Wextra -Werror -fvisibility=hidden -Islurm-headers -Isrc/shim \
	$(if $(SLURM_CHANGED),-DSURGENT_SLURM_CHANGED)
# Lazy: Slurm's symbols are slurmctld's own and are bound when first called. No unloading: the core keeps pointers into
# the plugin while slurmctld drops and reloads it. The core is found beside the plugin, wherever that is,
# and whatever LD_LIBRARY_PATH says (hence the old kind of tag).
SHIM_LDFLAGS := -shared -Wl,-z,lazy -Wl,-z,relro -Wl,-z,nodelete -Wl,--as-needed -Wl,-rpath,'$$ORIGIN' -Wl,--disable-new-dtags

# Asked for once, and only if something needs it.
SHIM_TREE = $(eval SHIM_TREE := $$(shell SLURM_SRC='$$(SLURM_SRC)' slurm-headers/fetch | tail -n 1))$(or \
	$(SHIM_TREE),$(error the plugins need Slurm's headers: do what the line above says))

.PHONY: shims shims-releases install uninstall install-plugindir
shims: $(SHIM_PLUGINS) $(SPANK_PLUGIN) ## Build Slurm's plugins for the installed Slurm, or for SLURM_SRC, into OUT

shims-releases: $(CORE) ## Build them for each configured Slurm tree in the folder TREES
	@CC='$(CC)' MAKE='$(MAKE)' slurm-headers/releases '$(TREES)' '$<'

# Changes when the plugins are to be built against other headers than before.
.PHONY: shim-headers-changed
$(OUT)/.headers: shim-headers-changed
	@mkdir -p '$(OUT)'
	@echo '$(SHIM_TREE) $(CC) $(SLURM_CHANGED)' | cmp -s - '$@' || echo '$(SHIM_TREE) $(CC) $(SLURM_CHANGED)' > '$@'

$(OUT)/libsurgent.so: $(CORE)
	@mkdir -p '$(OUT)'
	@cp '$<' '$@.new' && mv -f '$@.new' '$@'

SHIM_COMMON := src/shim/host.c src/shim/fit.c src/shim/views.c
$(OUT)/job_submit_surgent.so: src/shim/job_submit_surgent.c src/shim/asked_text.c $(SHIM_COMMON)
$(OUT)/preempt_surgent.so: src/shim/preempt_surgent.c src/shim/base.c src/shim/control.c $(SHIM_COMMON) \
	src/shim/snapshot.c src/shim/job_parts.c src/shim/request.c src/shim/reservations.c src/shim/gres_views.c src/shim/arena.c \
	src/shim/fetch_ahead.c src/shim/node_names.c src/shim/look_jobs.c src/shim/job_copies.c src/shim/known_nodes.c

$(OUT)/site_factor_surgent.so: src/shim/site_factor_surgent.c src/shim/queue.c $(SHIM_COMMON)

# Slurm's tables of hooks are in its sources only. A tree of headers alone has none to compare with.
HOOKS = slurm-headers/hooks/$(@F:%_surgent.so=%).c
check_hooks = $(if $(wildcard $(SHIM_TREE)/src/*/site_factor.c),\
	$(CC) $(SHIM_CFLAGS) -fsyntax-only -isystem '$(SHIM_TREE)' $(HOOKS),\
	echo '     its hooks are not compared with those of $(SHIM_TREE), which has no sources')

$(SHIM_PLUGINS): $(SHIM_HEADERS) $(wildcard slurm-headers/hooks/*.c) slurm-headers/shims.mk $(OUT)/.headers | $(OUT)/libsurgent.so
	@echo '  CC $@'
	@$(check_hooks)
	@$(CC) $(SHIM_CFLAGS) -isystem '$(SHIM_TREE)' -o '$@.new' $(filter src/%.c,$^) $(SHIM_LDFLAGS) -L'$(OUT)' -lsurgent
	@mv -f '$@.new' '$@'

# For the commands and the compute nodes: no core, and no symbol of slurmctld's.
$(SPANK_PLUGIN): src/shim/spank_surgent.c src/shim/urgency_option.h slurm-headers/shims.mk $(OUT)/.headers
	@echo '  CC $@'
	@$(CC) $(SHIM_CFLAGS) -isystem '$(SHIM_TREE)' -o '$@.new' '$<' -shared -Wl,-z,relro
	@mv -f '$@.new' '$@'

# By rename: slurmctld may have the old file mapped, and writing into it would crash it.
# $(1) file, $(2) directory, $(3) mode
install_file = install -d '$(DESTDIR)$(2)' && \
	install -m $(3) '$(1)' '$(DESTDIR)$(2)/$(notdir $(1)).new' && \
	mv -f '$(DESTDIR)$(2)/$(notdir $(1)).new' '$(DESTDIR)$(2)/$(notdir $(1))'

install-plugindir:
	@test -n '$(PLUGINDIR)' || { echo "make: no Slurm is installed here: name the directory of its plugins, as in make $(firstword $(MAKECMDGOALS)) PLUGINDIR=/opt/slurm/lib/slurm" >&2; exit 1; }

# Made from the table that also makes `surgent --help`.
SUBCOMMANDS := check drill explain follow metrics plan progress replay report run status
PAGES := man/man1/surgent.1 $(SUBCOMMANDS:%=man/man1/surgent-%.1) bash-completion/completions/surgent \
	zsh/site-functions/_surgent fish/vendor_completions.d/surgent.fish

install: install-plugindir shims $(SURGENT) ## Install plugins and program under DESTDIR, PREFIX and PLUGINDIR
	$(call install_file,$(OUT)/libsurgent.so,$(PLUGINDIR),755)
	$(foreach shim,$(SHIMS),$(call install_file,$(OUT)/$(shim).so,$(PLUGINDIR),755) &&) true
	$(call install_file,$(SPANK_PLUGIN),$(PLUGINDIR),755)
	$(call install_file,$(SURGENT),$(PREFIX)/bin,755)
	$(call install_file,packaging/man/surgent-plugin.8,$(PREFIX)/share/man/man8,644)
	$(call install_file,packaging/man/surgent.toml.5,$(PREFIX)/share/man/man5,644)
	@# Not --release: with the features of development in it, the core would be built again, and again the next time.
	$(CARGO) run --quiet --example pages -- target/share
	$(foreach page,$(PAGES),$(call install_file,target/share/$(page),$(PREFIX)/share/$(patsubst %/,%,$(dir $(page))),644) &&) true

uninstall: install-plugindir ## Remove them
	rm -f $(patsubst %,'$(DESTDIR)$(PLUGINDIR)/%.so',libsurgent spank_surgent $(SHIMS)) '$(DESTDIR)$(PREFIX)/bin/$(notdir $(SURGENT))' \
		'$(DESTDIR)$(PREFIX)/share/man/man5/surgent.toml.5' '$(DESTDIR)$(PREFIX)/share/man/man8/surgent-plugin.8' $(PAGES:%='$(DESTDIR)$(PREFIX)/share/%')
