# corehour. `make help` lists the targets.

GO      ?= go
SHELL   := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

BIN     := bin
TOOLS   := -modfile=internal/tools/go.mod
VERSION ?= $(shell git describe --tags --dirty 2>/dev/null || sed -n 's/^  version: \(.*\)/\1-dev/p' builder-config.yaml)
COMMIT  ?= $(shell git describe --always --dirty --exclude '*' --abbrev=40 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# Every module with Go code.
MODULES := . sdk sdk/otelbridge sdk/bench test/figures deploy integration test/shop
GENERATED := receiver/methodspans processor/adaptivesampler processor/costattribution exporter/warehouse extension/samplingrates

.DEFAULT_GOAL := help
# No target is a file, though build/ and test/ are directories.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

# $(call tests,FLAGS) runs the tests of every module. Lint vets them. Results are not cached: some tests run
# programs that Go does not know as their input.
tests = for module in $(MODULES); do echo "== $$module"; (cd $$module && $(GO) test -vet=off -count=1 -timeout 60m $(1) ./...) || exit; done
# $(call option,ROUNDS,--rounds) is the option if the variable is set.
option = $(if $($(1)),$(2) $($(1)))
# $(call measure,NAME,OPTIONS) runs integration/bench/NAME, which measures the binaries.
measure = cd integration && $(GO) run ./bench/$(1) --bin ../$(BIN) --out ../build/bench $(2)
# $(call show,NAME,COMMAND) prints the figures that a command writes as JSON.
show = mkdir -p build && $(2) > build/$(1).json && cd test/figures && $(GO) run ./show --out ../../build/bench < ../../build/$(1).json

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

toolchain:
	@for tool in "$(GO)" g++; do command -v "$$tool" >/dev/null || { echo "make: $$tool is missing: install Go 1.26 or newer, g++ and make" >&2; exit 1; }; done

build: toolchain ## Build the command, the collector and the demo shop into bin/.
	@mkdir -p $(BIN)
	@echo "building the collector (the first time takes some minutes) ..."
	@$(GO) build -o $(BIN)/corehour-collector ./cmd/corehour-collector
	@echo "building the command ..."
	@$(GO) build -ldflags "$(LDFLAGS)" -o $(BIN)/corehour ./cmd/corehour
	@cd test/shop && PATH="$$($(GO) env GOROOT)/bin:$$PATH" ../../$(BIN)/corehour go --quiet --methods methods.json build -o ../../$(BIN)/corehour-shop .

# Arguments of docker build that give an image this version.
version-args:
	@echo "--build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT)"

man: ## Write man pages of the command into build/man.
	@mkdir -p build/man && $(GO) run -ldflags "$(LDFLAGS)" ./cmd/corehour man build/man && ls build/man

demo: build ## Show how a bad deployment is found (about two minutes).
	@$(BIN)/corehour demo --dir build/demo

test: build ## Run the tests in short form, with the race detector (8 minutes on two cores).
	@$(call tests,-race -short)

# Long tests skip themselves in short mode; those that the race detector would slow or change skip with it.
test-full: build ## Run all tests with and without the race detector, attacks, costs against known work.
	@$(call tests,-race)
	@$(MAKE) test-unraced
	@$(call measure,hostile,--services 2000 --strict)
	@$(call measure,truth,--duration 40s --short)

# The modules with tests that skip with the race detector, without it (FLAGS=-short).
test-unraced: MODULES := . sdk
test-unraced: build
	@$(call tests,$(FLAGS))

lint: ## Check formatting, and run golangci-lint, which includes go vet, on every module.
	@unformatted=$$(git ls-files -- '*.go' | xargs gofmt -l); [ -z "$$unformatted" ] || { echo "not gofmt-clean:"; echo "$$unformatted"; exit 1; }
	@for module in $(MODULES); do (cd $$module && $(GO) tool -modfile=$(CURDIR)/internal/tools/lint/go.mod golangci-lint run ./...); done

# Check the statements for BigQuery with an analyzer. The first time takes ten minutes and 7 GB.
check-bigquery-sql:
	@cd internal/tools/googlesql && $(GO) run . ../../../regression/query/testdata/bigquery

generate: ## Regenerate the sources of the distribution and the metadata of components.
	@GOWORK=off $(GO) tool $(TOOLS) builder --config builder-config.yaml --skip-compilation --skip-get-modules --skip-strict-versioning=false
	@cp _ocb/*.go cmd/corehour-collector/ && gofmt -w cmd/corehour-collector/*.go
	@$(GO) generate ./internal/instrument
	@for dir in $(GENERATED); do (cd $$dir && $(GO) tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml); done

generate-check: ## Fail if generated files are stale.
	@sums() { find cmd/corehour-collector $(GENERATED) -type f \( -name 'generated_*' -o -name documentation.md -o -path 'cmd/*' \) -print0 | sort -z | xargs -0 sha256sum; }; \
	before=$$(sums); $(MAKE) generate; after=$$(sums); \
	[ "$$before" = "$$after" ] || { echo "generated files were stale; commit these changes of make generate:"; diff <(echo "$$before") <(echo "$$after") || true; exit 1; }

# The Builder itself would compile with -trimpath, and so every package once more, which takes minutes.
builder-check: build ## Build the collector from the output of the Collector Builder, and run it.
	@mkdir -p build/builder
	@GOWORK=off $(GO) tool $(TOOLS) builder --config builder-config.yaml --skip-compilation --skip-strict-versioning=false > build/builder.log 2>&1 || { cat build/builder.log; exit 1; }
	@cd _ocb && GOWORK=off $(GO) build -o ../build/builder/corehour-collector .
	@cp $(BIN)/corehour build/builder/ && rm -r _ocb
	@cd integration && COREHOUR_BIN=../build/builder $(GO) test -count=1 -run '^(TestShippedConfiguration_Works|TestShutdown_CollectorWritesWhatItHolds)$$' .

bench: ## Measure one thing, for example WHAT=pipeline; without WHAT the benches are listed.
sim: ## Simulate deployments (WHAT=verdicts, the default) or sampling (WHAT=sampling).
sim: WHAT ?= verdicts
bench sim:
	+@$(if $(WHAT),$(MAKE) $@-$(WHAT),awk -F ':.*#: ' '/^$@-.*#: / { sub("$@-", ""); printf "  WHAT=%-10s %s\n", $$1, $$2 }' Makefile)

bench-sdk: #: The probe next to the OpenTelemetry SDK, path by path (ROUNDS=).
	@cd sdk/bench && $(GO) run . --out ../../build/bench $(call option,ROUNDS,--rounds)
bench-pipeline: build #: The collector's CPU per span next to a stock collector or another build (SPANS=, AGAINST=file).
	@$(call measure,pipeline,$(if $(SPANS),--spans $(SPANS) --rounds 1) $(if $(AGAINST),--against $(abspath $(AGAINST)) --rounds 10))
bench-sampler: #: The adaptive sampler next to a stock one, and a thousand SDKs that poll rates (ROUNDS=).
	@cd integration && $(GO) run ./bench/sampler --root .. --out ../build/bench $(call option,ROUNDS,--rounds)
	@$(call show,rates,$(GO) run ./test/bench/rates $(call option,ROUNDS,--rounds))
bench-warehouse: #: Writing, merging, rollups and queries (ROWS=2000000, BIG=1: 100 million rows).
	@$(call show,warehouse,$(GO) run ./test/bench/warehouse --rows $(if $(BIG),100000000,$(or $(ROWS),2000000)))
bench-instrument: build #: Compiled-in probes in goldmark, a recursion and builds (ROUNDS=, COLD=1).
	@$(call show,instrument,$(GO) run ./test/bench/instrument $(call option,ROUNDS,--rounds) $(if $(COLD),--cold))
bench-programs: build #: Tests of esbuild and caddy with compiled-in probes (PROGRAMS=, RACE=), or CPU under load next to a profile (LOAD=2m).
	@$(call show,programs,$(GO) run ./test/bench/programs $(call option,PROGRAMS,--programs) $(call option,RACE,--race) $(call option,LOAD,--load))
bench-verdicts: build #: Time and memory of verdicts on 1,000 methods, and on a year of 2,000.
	@$(call show,verdicts,$(GO) run ./test/bench/verdicts --corehour $(BIN)/corehour)
bench-truth: build #: Measured costs next to a service whose work is known (FOR=3m).
	@$(call measure,truth,--duration $(or $(FOR),3m))
bench-rollout: build #: Two versions of real servers under load, one function slower: found, and nothing else (SERVERS=nats,etcd,victoriametrics, PROCESSES=1,3, CHANGE=0,25,50,100, FOR=15m, KEEP=directory).
	@$(call measure,rollout,--strict --duration $(or $(FOR),15m) $(call option,SERVERS,--servers) $(call option,PROCESSES,--processes) $(call option,CHANGE,--change) $(if $(KEEP),--keep $(abspath $(KEEP))))
bench-clients: build #: Calls of stock OpenTelemetry clients next to their own counters (CLIENTS=go,node,python,java).
	@$(call measure,clients,$(call option,CLIENTS,--families))
bench-hostile: build #: Attacks on the collector: figures of other services and its memory must not change.
	@$(call measure,hostile)
bench-soak: build #: Memory and accounting at twice the load of one core (FOR=10m).
	@$(call measure,soak,--for $(or $(FOR),10m))
bench-chaos: #: Kill writers and maintenance, fill disks, damage files: nothing lost or stored twice (FAULTS=1000).
	@mkdir -p build && FAULTS=$(or $(FAULTS),1000) CHAOS_FIGURES=$(CURDIR)/build/chaos.json $(GO) test ./internal/warehouse/maintain -run '^(TestMaintenance_RandomFaults|TestRun_HistogramsBoundMemory)$$' -count=1 -timeout 60m
	@cd test/figures && $(GO) run ./show --out ../../build/bench < ../../build/chaos.json
sim-verdicts: #: Wrong and missed verdicts on simulated deployments (DEPLOYMENTS=).
	@$(call show,sim,$(GO) run ./test/sim/simulate $(call option,DEPLOYMENTS,--deployments))
sim-sampling: #: Budget and bias of adaptive rates on simulated services.
	@$(call show,sim-sampling,$(GO) run ./processor/adaptivesampler/internal/decide/sim/simsampling)
browser: ## Test the HTML report in headless Chromium.
	@command -v chromium >/dev/null || { echo "make: chromium is missing: install it, for example by apt-get install chromium" >&2; exit 1; }
	@COREHOUR_CHROMIUM=chromium $(GO) test -count=1 -run InBrowser ./regression/report

licenses: ## Check the licenses of linked modules, and regenerate THIRD_PARTY_NOTICES.txt.
	@cd deploy && $(GO) test -count=1 -run '^TestThirdParty_' . -args -update

cross: ## Vet the SDK and its tests for every platform that it supports.
	@for os in linux darwin windows; do for arch in amd64 arm64; do \
		echo "sdk for $$os/$$arch"; (cd sdk && CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) vet ./...); \
	done; done

clean: ## Remove built files.
	@rm -rf $(BIN) build _ocb
