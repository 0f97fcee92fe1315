# `make run` and `make test` are for a newcomer, the others for contributors.

SWIFT ?= swift
URL ?=
FILTER ?=
filter = $(if $(FILTER),--filter '$(FILTER)')
# With STRICT=1 a warning fails it.
STRICT ?=
build_release = SWIFT='$(SWIFT)' scripts/build-release $(if $(STRICT),--strict)

.PHONY: run install test plain test-plain test-tsan test-asan test-engine-tsan soak fuzz fuzz-check simulate bench budgets size-and-start
.PHONY: documentation examples overlay package graphs conformance
.PHONY: lint format layers behaviour clean

# Builds the client and shows the main job; with URL=https://… it loads that URL.
run:
	@scripts/install build
	$(build_release) --product urlsession
ifeq ($(URL),)
	.build/release/urlsession demo
else
	.build/release/urlsession get --metrics --include '$(URL)'
endif

# The client, its manual page and the completions of shells, which the client prints itself.
PREFIX ?=
DESTDIR ?=
install:
	@scripts/install build
	$(SWIFT) build -c release --product urlsession
	scripts/install-command .build/release/urlsession '$(DESTDIR)$(or $(PREFIX),/usr/local)'

# Every test, in four processes. In most of them one at a time, because each checks that it leaves no descriptor and no thread behind.
# With FILTER=… some tests, in one process.
test:
	@scripts/install test
	SWIFT='$(SWIFT)' scripts/test '$(FILTER)'

# The library without HTTP/3, which a package trait turns off; and the tests of that.
plain:
	@scripts/install build
	$(SWIFT) build --disable-default-traits --scratch-path .build-plain --target URLLoading

test-plain:
	@scripts/install test
	$(SWIFT) test --no-parallel --disable-default-traits --scratch-path .build-plain $(filter)

test-tsan:
	@scripts/install test
	scripts/test-sanitized thread $(FILTER)

test-asan:
	@scripts/install test
	scripts/test-sanitized address $(FILTER)

# Of the engine: the tests of protocols, connections and loads, without building the others. A script for proxies runs in a process
# that is limited in a way that the sanitizer's own memory does not allow.
test-engine-tsan:
	@scripts/install test
	URL_LOADING_ONLY=LoadingProtocolsTests,LoadingConnectionsTests,LoadingPipelineTests \
		scripts/test-sanitized thread '' PACScriptRunTests

# 100,000 requests with random cancels, resets and invalidations: nothing may be left behind.
soak:
	@scripts/install build
	$(SWIFT) build -c release --product soak
	.build/release/soak

fuzz:
	@scripts/install build
	scripts/fuzz

# Each target for some seconds.
fuzz-check:
	@scripts/install build
	scripts/fuzz --check 15

# The library with all of its threads in simulated worlds, new ones of all kinds for a minute, or for SECONDS;
# with KIND=--proven those that take less time: docs/simulation.md.
SECONDS ?= 60
KIND ?=
simulate:
	@scripts/install build
	$(SWIFT) build -c release --package-path Simulation
	Simulation/.build/release/simulate --seconds $(SECONDS) $(KIND)

bench:
	@scripts/install bench
	scripts/bench --markdown docs/benchmarks.md

# Only what can be counted: instructions, allocations, system calls, sizes.
budgets:
	@scripts/install build
	@scripts/install count
	scripts/bench --budgets

# The smallest program, beside the same with the toolchain's module.
size-and-start:
	@scripts/install size
	scripts/size-and-start

# The pages of URLLoading, by DocC, into .build/documentation. Fails if a public declaration has no comment.
documentation:
	@scripts/install documentation
	scripts/documentation

# Builds all packages in Examples, and runs their programs.
examples:
	@scripts/install build
	scripts/check-examples --build
	scripts/run-examples

lint: layers
	scripts/behaviour --check
	scripts/check-stages
	scripts/check-walks
	scripts/check-locks
	scripts/http3-functions --check
	scripts/planted-faults --check
	scripts/snippets --check
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Examples Fuzz/Sources Fuzz/Package.swift \
		Simulation/Sources Simulation/Package.swift

format:
	$(SWIFT) format --in-place --parallel --recursive Package.swift Sources Tests Examples Fuzz/Sources Fuzz/Package.swift \
		Simulation/Sources Simulation/Package.swift

# A module may import only modules below it.
layers:
	scripts/check-layers

# Rewrites the lists of tests in docs/behaviour.
behaviour:
	scripts/behaviour

# Modules, one library and a toolset file, with which `swift build --toolset …` builds unmodified packages on this library.
overlay:
	@scripts/overlay $(if $(PREFIX),--prefix '$(PREFIX)') $(if $(TARBALL),--tarball '$(TARBALL)')

# The client as a Debian package, and the overlay as a tarball, into .build-package/packages.
package:
	@scripts/install package
	scripts/package

# Builds a graph of packages in each of the ways to use this library.
graphs:
	@scripts/install build
	scripts/check-graphs

# The same cases against this library and against the toolchain's FoundationNetworking.
conformance:
	@scripts/install build
	scripts/conformance

clean:
	rm -rf .build .build-overlay .build-package Tests/Conformance/.build Benchmarks/.build Benchmarks/minimal/.build-* Fuzz/.build \
		Simulation/.build \
		Examples/*/.build
