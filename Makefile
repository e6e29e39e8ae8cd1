# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What people call; `make help` lists it.  Nothing is built in the source tree,
# but for compile_commands.json:
# modules go to build/modules-RELEASE, programs to build/shim.  In a kernel tree
# kbuild reads Kbuild instead.
SHELL	:= /bin/bash

# The kernel to build for: the running one if its headers are here, else the
# newest one whose headers are.
KDIR	?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build) \
	   $(shell ls -d /lib/modules/*/build 2> /dev/null | sort -rV))
RELEASE	= $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	  $(KDIR)/include/generated/utsrelease.h 2> /dev/null)
MODULES	= $(CURDIR)/build/modules-$(RELEASE)

STORAGE	= kdat_iser svckdat
PREFIX	?= /usr/local
DESTDIR	?=
INSTALL	?= install
UDEVDIR	?= /lib/udev/rules.d
PROBEDIR ?= /etc/modprobe.d
export PREFIX DESTDIR INSTALL

.PHONY: all modules shim test-modules tests install install-storage uninstall deb demo check test \
	test-all test-kernels test-arch test-storage test-suites kunit stress fuzz soak coverage bench bench-storage \
	cross configs lint lint-changed compile_commands.json doc clean help

all: modules shim

modules:
	@scripts/build-modules --no-tests "$(KDIR)" "$(MODULES)"

shim:
	@$(MAKE) --no-print-directory -C udapl-shim all

# With those of tests and benchmarks.
test-modules:
	@scripts/build-modules "$(KDIR)" "$(MODULES)"

tests: test-modules
	@$(MAKE) --no-print-directory -C udapl-shim tests

install: all
	$(INSTALL) -D -m 644 $(MODULES)/kdapl.ko \
		$(DESTDIR)/lib/modules/$(RELEASE)/updates/kdapl.ko
	$(INSTALL) -D -m 644 scripts/90-kdapl.rules \
		$(DESTDIR)$(UDEVDIR)/90-kdapl.rules
	$(INSTALL) -D -m 644 $(MODULES)/Module.symvers \
		$(DESTDIR)$(PREFIX)/share/kdapl/Module.symvers-$(RELEASE)
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/include/dat
	$(INSTALL) -m 644 include/dat/kdat*.h $(DESTDIR)$(PREFIX)/include/dat
	@$(MAKE) --no-print-directory -C udapl-shim install
	@$(MAKE) --no-print-directory -C tools/kdaplctl install
	$(if $(DESTDIR),,depmod $(RELEASE))

# Not part of install: from then on LIO's iSER portals are served by kdat_iser.
install-storage: modules
	$(INSTALL) -d $(DESTDIR)/lib/modules/$(RELEASE)/updates
	$(INSTALL) -m 644 $(MODULES)/kdapl.ko $(STORAGE:%=$(MODULES)/targets/*/%.ko) \
		$(DESTDIR)/lib/modules/$(RELEASE)/updates
	$(INSTALL) -D -m 644 scripts/kdat-iser.conf $(DESTDIR)$(PROBEDIR)/kdat-iser.conf
	$(if $(DESTDIR),,depmod $(RELEASE))

uninstall:
	rm -f $(patsubst %,$(DESTDIR)/lib/modules/$(RELEASE)/updates/%.ko,kdapl $(STORAGE))
	rm -f $(DESTDIR)$(PROBEDIR)/kdat-iser.conf
	rm -f $(DESTDIR)$(UDEVDIR)/90-kdapl.rules
	rm -f $(DESTDIR)$(PREFIX)/share/kdapl/Module.symvers-$(RELEASE)
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/include/dat/, \
		$(notdir $(wildcard include/dat/kdat*.h)))
	@$(MAKE) --no-print-directory -C udapl-shim uninstall
	@$(MAKE) --no-print-directory -C tools/kdaplctl uninstall
	$(if $(DESTDIR),,depmod $(RELEASE))

deb:
	@scripts/deb

demo:
	@scripts/demo

check:
	@scripts/check $(if $(T),"$(T)")

test:
	@scripts/test

test-all:
	@scripts/test --all

test-kernels:
	@scripts/test --kernels $(KERNELS)

# Kernel, library and storage on other processors: make test-arch, or ARCHES=arm64.
test-arch:
	@scripts/test --processors $(ARCHES)

test-storage:
	@scripts/test --all storage

# Suites that others have written, with the kernel's own target and server and with ours.
test-suites:
	@scripts/setup --yes build vm test storage suites && scripts/suites $(SUITES)

kunit:
	@scripts/kunit

# Of the environment SECONDS would be bash's own count.
stress:
	@scripts/stress $(if $(filter command line,$(origin SECONDS)),$(SECONDS)) \
		$(if $(SEED),-r $(SEED))

fuzz:
	@scripts/fuzz $(or $(CALLS),1000000) $(if $(SEED),-r $(SEED)) $(if $(FROM),-f $(FROM))

soak:
	@scripts/soak $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(MINUTES),--minutes $(MINUTES))

coverage:
	@scripts/coverage

bench:
	@bench/run

bench-storage:
	@bench/storage

cross:
	@scripts/cross $(CPU)

configs:
	@scripts/configs $(CONFIG)

lint:
	@scripts/lint

# What is not committed, and with BASE= what was committed since.
lint-changed:
	@scripts/lint --changed $(BASE)

# The one file that is made in the source tree, since editors look for it here.
compile_commands.json: test-modules
	@scripts/compile-commands "$(KDIR)" "$(MODULES)" > build/$@
	@mv build/$@ $@

# The list of rules is made here and not kept: it changes with every test.
doc:
	@scripts/print-matrix > Documentation/endpoint-matrix.rst
	@mkdir -p build/doc
	@scripts/print-rules > build/doc/rules.rst
	@set -o pipefail; for f in Documentation/*.rst build/doc/rules.rst; do \
		rst2html --halt=2 $$f | sed -e 's/\(href="[-a-z]*\)\.rst/\1.html/g' \
			-e 's/href="rules\.tsv"/href="rules.html"/g' \
			> build/doc/$$(basename $$f .rst).html || exit; \
	done

clean:
	rm -rf build compile_commands.json

help:
	@echo 'The main job and the tests (as root; they install what is missing):'
	@echo '  demo       build, boot a virtual machine with two RDMA devices, move'
	@echo '             data kernel to kernel, application to application, and across'
	@echo '  check      the quick ones: what needs no machine, and KUnit; T=TEXT runs every test'
	@echo '             with TEXT in its name, where that is fastest'
	@echo '  test       all suites, through both faces and in three kernels; the last line'
	@echo '             is "N passed, N failed"'
	@echo '  test-all   the same, with each suite in every way: some hours'
	@echo '  test-kernels   all that runs in kernels of Debian'"'"'s: in 6.1, 6.12 and 7.3, or'
	@echo '             in KERNELS=, side by side, and a table of it: two hours'
	@echo '  test-arch  the rules, hostile calls and some of storage on arm64, ppc64el and s390x,'
	@echo '             or in ARCHES=, in emulated machines, and a table of it'
	@echo '  test-storage   storage over RDMA at full length, with and without faults: initiator'
	@echo '             and NFS client are the kernel'"'"'s own'
	@echo '  test-suites   suites of storage that others have written, with the kernel'"'"'s own'
	@echo '             target and server and with ours, compared; all or SUITES='
	@echo '  kunit      only the KUnit suites'
	@echo '  stress     races and lack of memory, for 10 minutes or SECONDS=, progress'
	@echo '             shown; SEED= repeats the choices of an earlier run'
	@echo '  fuzz       hostile calls at random, 1,000,000 or CALLS=, progress shown; SEED= and'
	@echo '             FROM= go on where an earlier run has been'
	@echo '  soak       connections, killed processes, removals, reloads, for an hour, MINUTES= or'
	@echo '             ROUNDS=: a table of what the system has after each round'
	@echo '  coverage   which lines of kdapl/ the tests reach; 85 % or more are asked for'
	@echo '  bench      what a call costs beside raw verbs, and whether that is within budget'
	@echo '  bench-storage  what a storage request costs beside the kernel'"'"'s own target'
	@echo '             and server'
	@echo 'Building:'
	@echo '  all        modules and shim (default)'
	@echo '  modules    kdapl.ko, the storage targets and the sample,'
	@echo '             in build/modules-RELEASE'
	@echo '  shim       libdat.so.1, libdat2.so.2 and its provider, dat-pingpong and kdaplctl, in'
	@echo '             build/shim'
	@echo '  tests      as well the test programs, and the modules of tests and benchmarks'
	@echo '  doc        Documentation/ as HTML, in build/doc; scripts/setup doc installs'
	@echo '             what that takes'
	@echo '  cross      build everything for arm64, ppc64el, s390x and riscv64, or CPU=: compilers and'
	@echo '             headers are fetched; half an hour'
	@echo '  configs    compile the module in other configurations of the kernel, two dozen or'
	@echo '             CONFIG=: half an hour'
	@echo '  lint       checkpatch, sparse, W=1, clang, shellcheck, kernel-doc: what is'
	@echo '             installed runs, what is not is named; numbers that are cited'
	@echo '  lint-changed   the same of what is not committed, and since BASE= if that is given:'
	@echo '             less than a minute'
	@echo '  compile_commands.json  how each file is compiled, for clangd and editors'
	@echo '  clean      remove build/ and compile_commands.json'
	@echo 'Installing:'
	@echo '  deb        Debian packages of what is committed, in build/deb'
	@echo '  install    the module, the udev rule, headers, libdat, dat-pingpong, kdaplctl, manual'
	@echo '  install-storage  the iSER target and the NFS/RDMA server; the target takes the'
	@echo '             place of ib_isert'
	@echo '  uninstall  take them all away'
	@echo 'Variables:'
	@echo '  KDIR=      kernel to build for        [$(KDIR)]'
	@echo '  PREFIX=    where programs go          [$(PREFIX)]'
	@echo '  LIBDIR=    where the library goes     [PREFIX/lib]'
	@echo '  UDEVDIR=   where the udev rule goes   [$(UDEVDIR)]'
	@echo '  PROBEDIR=  where the alias goes by which the iSER target takes the place of'
	@echo '             ib_isert                   [$(PROBEDIR)]'
	@echo '  DESTDIR=   put before every path of install and uninstall'
