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

# Every module of the repository that holds Go code to be tested.
MODULES := . sdk sdk/otelbridge sdk/bench test/figures deploy integration test/shop
# Lint vets every package, and so does go test otherwise: with the race detector and without.
TEST    := $(GO) test -vet=off
# Long tests of the command and of queries that are skipped with the race detector.
UNRACED := TestChainNamesItsLeaf|TestEverythingTenTimes|TestRareExpensiveCalls|TestWhichVersionIsTheBase|TestMoreCallsAreTold|TestOwnCostsAddUpFromTheStart|TestPoisonedRows|TestTimesBeyondThoseOfRows|TestDriftIsAccepted|TestExplainFromTheWarehouse|TestDriftKeepsItsID|TestDrift|TestDriftOfAServiceThatEnded|TestAllCommandsAgreeOnDollarsADay|TestBillOfAHost|TestMergedProcessesSaySo|TestQueriesAreAsManyAsDocumented|TestDriftCouldNotTell|TestNeighbourChangesIdleCoresOnly|TestManyServicesOfEveryCommand|TestImpossibleNumbersAreDropped|TestNoNumberEndsAStatementForBigQuery|TestSumsBesideRowsSayWhatRowsSay|TestWhereCallsAreCountedAndTimed|TestRollupOfRandomRows|TestTotalsAtEveryArrival
# Arithmetic that starts no goroutine, which lint checks: the race detector has nothing to find.
ARITHMETIC := regression/compare/evidence regression/stats
SIMULATIONS := ./test/sim/... ./test/bench/verdicts ./processor/adaptivesampler/internal/decide/sim/...
# Tests of the SDK that do nothing with the race detector: it allocates and costs time.
UNCHANGED := TestProbes_NoAllocation|TestCallerCache_Bounded|TestTimes_IndependentOfRate|TestCounts_OutOfCacheCost
GENERATED := receiver/methodspans processor/adaptivesampler processor/costattribution exporter/warehouse extension/samplingrates

.DEFAULT_GOAL := help
# No target is a file, though build/ and test/ are directories.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

# $(call option,ROUNDS,--rounds) gives a program the option if the variable is set.
option = $(if $($(1)),$(2) $($(1)))
# $(call measure,NAME,OPTIONS) runs a program of integration/bench, which measures the binaries.
measure = cd integration && $(GO) run ./bench/$(1) --bin ../$(BIN) --out ../build/bench $(2)
# $(call show,NAME,COMMAND) makes a table of the figures that a command writes as JSON.
show = mkdir -p build && $(2) > build/$(1).json && cd test/figures && $(GO) run ./show --out ../../build/bench < ../../build/$(1).json

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

toolchain:
	@for tool in "$(GO)" g++; do command -v "$$tool" >/dev/null || { echo "make: $$tool is missing: building corehour takes Go 1.26 or newer, g++ and make" >&2; exit 1; }; done

build: toolchain ## Build the command, the collector and the demo shop into bin/.
	@mkdir -p $(BIN)
	@echo "building the collector (the first time takes some minutes) ..."
	@$(GO) build -o $(BIN)/corehour-collector ./cmd/corehour-collector
	@echo "building the command ..."
	@$(GO) build -ldflags "$(LDFLAGS)" -o $(BIN)/corehour ./cmd/corehour
	@cd test/shop && PATH="$$($(GO) env GOROOT)/bin:$$PATH" ../../$(BIN)/corehour go --quiet --methods methods.json build -o ../../$(BIN)/corehour-shop .

version-args: ## Print the arguments that give an image this version.
	@echo "--build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT)"

man: ## Write man pages of the command into build/man.
	@mkdir -p build/man && $(GO) run -ldflags "$(LDFLAGS)" ./cmd/corehour man build/man && ls build/man

demo: build ## Build everything and show how a bad deployment is found (about two minutes).
	@$(BIN)/corehour demo --dir build/demo

# Of tests that run or build programs Go would take the results from before these changed.
test: build ## Run all tests, with the race detector.
	@begin=$$SECONDS; rm -f build/tries.txt; for module in $(MODULES); do \
		case $$module in deploy|integration|test/*) fresh=-count=1;; *) fresh=;; esac; \
		echo "== tests of $$module"; (cd $$module && $(TEST) -race $$fresh -timeout 30m $$($(GO) list ./... | grep -vE '/sim(/|$$)|/bench/verdicts$$|/corehour/(config|docs|$(subst $() ,|,$(ARITHMETIC)))$$')); \
	done; echo "== tests of configurations and pages"; $(TEST) -race -count=1 -timeout 20m ./config ./docs; \
	echo "== tests of probes that the race detector would change"; (cd sdk && $(TEST) -run '$(UNCHANGED)' .); \
	echo "== long tests of the command and of queries without the race detector"; $(TEST) -timeout 20m -run '^($(UNRACED))$$' ./cmd/corehour ./regression/query; \
	echo "== simulations, too slow with the race detector, and arithmetic"; $(TEST) -timeout 20m $(SIMULATIONS) $(ARITHMETIC:%=./%); \
	echo "== attacks, short"; ($(call measure,hostile,--services 2000 --strict)); \
	echo "== costs against known work, short"; ($(call measure,truth,--duration 40s --short)); \
	if [ -s build/tries.txt ]; then echo "== measured again, which is rare on a quiet machine"; cat build/tries.txt; fi; \
	echo "make test took $$((SECONDS - begin)) s"

lint: ## Check formatting, and lint every module, which includes go vet.
	@unformatted=$$(git ls-files -- '*.go' | xargs gofmt -l); [ -z "$$unformatted" ] || { echo "not gofmt-clean:"; echo "$$unformatted"; exit 1; }
	@! grep -rnE --include='*.go' --exclude='*_test.go' '^[[:space:]]*go |"sync(/atomic)?"|\.Go\(' $(ARITHMETIC) || { echo "these packages start no goroutine, so make test runs them without the race detector"; exit 1; }
	@for module in $(MODULES); do (cd $$module && $(GO) tool -modfile=$(CURDIR)/internal/tools/lint/go.mod golangci-lint run ./...); done

check-bigquery-sql: ## Check the statements for BigQuery with an analyzer (the first time takes ten minutes and 7 GB).
	@cd internal/tools/googlesql && $(GO) run . ../../../regression/query/testdata/bigquery

generate: ## Regenerate the distribution's sources and the components' metadata.
	@GOWORK=off $(GO) tool $(TOOLS) builder --config builder-config.yaml --skip-compilation --skip-get-modules --skip-strict-versioning=false
	@cp _ocb/*.go cmd/corehour-collector/ && gofmt -w cmd/corehour-collector/*.go
	@$(GO) generate ./internal/instrument
	@for dir in $(GENERATED); do (cd $$dir && $(GO) tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml); done

generate-check: ## Fail if the generated files are not what generating gives.
	@sums() { find cmd/corehour-collector $(GENERATED) -type f \( -name 'generated_*' -o -name documentation.md -o -path 'cmd/*' \) -print0 | sort -z | xargs -0 sha256sum; }; \
	before=$$(sums); $(MAKE) generate; after=$$(sums); \
	[ "$$before" = "$$after" ] || { echo "generated files were stale; commit what make generate made of them:"; diff <(echo "$$before") <(echo "$$after") || true; exit 1; }

# The Builder itself would compile with -trimpath, and so every package once more, which takes minutes.
builder-check: build ## Build what the Collector Builder makes of the configuration, and run the result.
	@mkdir -p build/builder
	@GOWORK=off $(GO) tool $(TOOLS) builder --config builder-config.yaml --skip-compilation --skip-strict-versioning=false > build/builder.log 2>&1 || { cat build/builder.log; exit 1; }
	@cd _ocb && GOWORK=off $(GO) build -o ../build/builder/corehour-collector .
	@cp $(BIN)/corehour build/builder/ && rm -r _ocb
	@cd integration && COREHOUR_BIN=../build/builder $(GO) test -count=1 -run '^(TestShippedConfiguration_Works|TestShutdown_CollectorWritesWhatItHolds)$$' .

bench: ## Measure one thing (WHAT=sdk|pipeline|sampler|warehouse|...): make bench lists them.
sim: ## Simulate deployments or sampling whose truth is known (WHAT=verdicts|sampling).
sim: WHAT ?= verdicts
# WHAT=sdk makes bench-sdk. Without WHAT, or with one that is unknown, they are listed.
bench sim:
	+@$(if $(filter $(WHAT),$(shell sed -n 's/^$@-\([a-z]*\):.*/\1/p' Makefile)),$(MAKE) $@-$(WHAT),{ $(if $(WHAT),echo "make: $@ knows no WHAT=$(WHAT)";) \
	echo "make $@ WHAT=... takes one of:"; awk -F ':.*#: ' '/^$@-.*#: / { sub("$@-", ""); printf "  %-10s %s\n", $$1, $$2 }' Makefile; } $(if $(WHAT),>&2; exit 1))

bench-sdk: #: Measure the probe next to the OpenTelemetry SDK, path by path (ROUNDS=).
	@cd sdk/bench && $(GO) run . --out ../../build/bench $(call option,ROUNDS,--rounds)
bench-pipeline: build #: Measure the collector's CPU per span next to a stock one, or another build (SPANS=, AGAINST=file).
	@$(call measure,pipeline,$(if $(SPANS),--spans $(SPANS) --rounds 1) $(if $(AGAINST),--against $(abspath $(AGAINST)) --rounds 10))
bench-sampler: #: Measure the adaptive sampler next to a stock one, and a thousand SDKs that ask for rates (ROUNDS=).
	@cd integration && $(GO) run ./bench/sampler --root .. --out ../build/bench $(call option,ROUNDS,--rounds)
	@$(call show,rates,$(GO) run ./test/bench/rates $(call option,ROUNDS,--rounds))
bench-warehouse: #: Measure writing, merging, rollups and queries (ROWS=2000000, BIG=1: 100 million).
	@$(call show,warehouse,$(GO) run ./test/bench/warehouse --rows $(if $(BIG),100000000,$(or $(ROWS),2000000)))
bench-instrument: build #: Measure what compiled-in probes cost goldmark, a recursion and builds (ROUNDS=, COLD=1).
	@$(call show,instrument,$(GO) run ./test/bench/instrument $(call option,ROUNDS,--rounds) $(if $(COLD),--cold))
bench-programs: build #: Compare the tests of esbuild and caddy with and without compiled-in probes (PROGRAMS=, RACE=), or CPU under load with a profile (LOAD=2m).
	@$(call show,programs,$(GO) run ./test/bench/programs $(call option,PROGRAMS,--programs) $(call option,RACE,--race) $(call option,LOAD,--load))
bench-verdicts: build #: Measure verdicts on a stored deployment of 1,000 methods and on a year of 2,000: time and memory.
	@$(call show,verdicts,$(GO) run ./test/bench/verdicts --corehour $(BIN)/corehour)
bench-truth: build #: Compare the measured costs of methods with a service whose work is known (FOR=3m).
	@$(call measure,truth,--duration $(or $(FOR),3m))
bench-clients: build #: Compare calls of stock OpenTelemetry clients with their own counters (CLIENTS=go,node,python,java).
	@$(call measure,clients,$(call option,CLIENTS,--families))
bench-hostile: build #: Attack the collector while services send: their figures stay, its memory has its limit.
	@$(call measure,hostile)
bench-soak: build #: Offer the collector twice the load of one core and check its memory and its accounting (FOR=10m).
	@$(call measure,soak,--for $(or $(FOR),10m))
bench-chaos: #: Kill writers and maintenance, fill disks, spoil files: nothing lost, nothing twice, in bounded memory (FAULTS=1000).
	@mkdir -p build && FAULTS=$(or $(FAULTS),1000) CHAOS_FIGURES=$(CURDIR)/build/chaos.json $(GO) test ./internal/warehouse/maintain -run '^(TestChaos|TestHistogramsInMemory)$$' -count=1 -timeout 60m
	@cd test/figures && $(GO) run ./show --out ../../build/bench < ../../build/chaos.json
sim-verdicts: #: Count on drawn deployments how often verdicts are wrong and what they miss (DEPLOYMENTS=).
	@$(call show,sim,$(GO) run ./test/sim/simulate $(call option,DEPLOYMENTS,--deployments))
sim-sampling: #: Show on simulated services that adaptive rates keep to the budget and do not bias.
	@$(call show,sim-sampling,$(GO) run ./processor/adaptivesampler/internal/decide/sim/simsampling)
# Short names.
truth clients hostile soak chaos: %: bench-%

browser: ## Look at the HTML report in headless Chromium.
	@command -v chromium >/dev/null || { echo "make: chromium is missing: install it, for example by apt-get install chromium" >&2; exit 1; }
	@COREHOUR_CHROMIUM=chromium $(GO) test -count=1 -run InBrowser ./cmd/corehour

cross: ## Build the SDK and its tests for every platform it supports.
	@for os in linux darwin windows; do for arch in amd64 arm64; do \
		echo "sdk for $$os/$$arch"; (cd sdk && CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) vet ./...); \
	done; done

clean: ## Remove what was built.
	@rm -rf $(BIN) build _ocb
