# The two commands that most people need work without make:
#   go run ./cmd/tamtam demo      and      ./scripts/test.sh
# This file holds the rest. "make help" lists the targets.

GO      ?= go
FUZZ    ?= 60s
IMAGE   ?= tamtam

.PHONY: help build profile test test-long race fuzz soak calibrate differential mutants chaos chaos-containers upgrade stock stock-orchagent stock-life sonic-fabric sonic-configs swss-tests frr-test lacp-test northbound-test ipfix-test sflow-test parquet-test query-test page-test screenshots cluster-test collectd-chaos collectd-disks image-if-docker figures metrics outputs bench bench-before bench-pgo lint openconfig generate generate-check release release-test install-times cold-demo image compose-up compose-down compose-test topologies containers-test manifests supervisor-test demo-capture clean openapi gnmi-clients featureprofiles instructions

### help            this list
help:
	@sed -n 's/^### //p' $(MAKEFILE_LIST)

### build           bin/tamtam, static; compiled with the profile PGO of the chip (PGO=off: without a profile). The flags are
###                 those of a release, so that both, and the image, compile each package once
PGO ?= cmd/tamtam/chip.pgo
build:
	CGO_ENABLED=0 $(GO) build -trimpath -pgo=$(PGO) -gcflags=all=-dwarf=false "-ldflags=-s -w" -o bin/tamtam ./cmd/tamtam

### profile         makes that profile again, after a change of the packet path. It is not called default.pgo, because
###                 every test would then compile all packages that tamtam imports a second time
profile:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/tamtam ./cmd/tamtam
	./bin/tamtam bench asic --duration 1s --profile $(PGO)

### test            everything that the gate checks (scripts/test.sh)
test:
	./scripts/test.sh

### test-long       all tests in full under the race detector, three times in shuffled order
test-long:
	CGO_ENABLED=1 $(GO) test -race -shuffle=on -count=3 -timeout 60m ./...

### race            the race detector over PKG (default: all packages): make race PKG=./swss/...
PKG ?= ./...
race:
	CGO_ENABLED=1 $(GO) test -race -count=1 $(PKG)

### fuzz            every fuzz target for FUZZ each (default 60s)
fuzz:
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's|/[^/]*:func | |' | sort -u | while read -r dir target; do \
		echo "== $$dir $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) $$dir || exit 1; done

### soak            every random test and fuzz target in turn, with a fresh seed: make soak MINUTES=n [SEED=n]
###                 [ONLY=PATTERN]
MINUTES ?= 30
soak: SEED = 0
soak:
	$(GO) run ./internal/soak -minutes $(MINUTES) -seed $(SEED) -only '$(ONLY)'

### calibrate       compares answers with exact values: FABRICS (3500, in over 10000 networks) of alternate marking,
###                 INSTANCES (1000) of each sketch, PROGRAMS (1000) that are recorded. Others: TAMTAM_SEED=n make
###                 calibrate
FABRICS   ?= 3500
INSTANCES ?= 1000
PROGRAMS  ?= 1000
calibrate:
	TAMTAM_CASES=$(PROGRAMS) $(GO) test -count=1 -timeout 24h -v -run '^TestRecordsOfRandom' ./tam/recordplan ./device/fates
	TAMTAM_CASES=$(INSTANCES) $(GO) test -count=1 -timeout 24h -v -run '^TestFlyMonCalibration' ./device/calibration
	TAMTAM_CASES=$(FABRICS) $(GO) test -count=1 -timeout 24h -v -run '^TestAltMarkCalibration$$' ./lab/study/marking

### differential    the chip and the reference on CASES random cases (default 20000) from SEED (default 1000000000) on:
###                 once in windows with vectors of 1, 2, 63 or 64 packets, once event by event. A quarter of the cases
###                 have 10,000 frames without a control event. Then both paths and all these vectors are compared on a
###                 quarter as many cases of 10,000 frames. VECTORS=63 runs only vectors of 63
CASES   ?= 20000
SEED    ?= 2000000
VECTORS ?= windows 0
differential: SEED = 1000000000
differential:
	for v in $(VECTORS); do \
		TAMTAM_VECTOR=$$v TAMTAM_CASES=$(CASES) TAMTAM_SEED=$(SEED) $(GO) test -count=1 -timeout 24h -v -run '^TestEnginesAgree$$' \
			./saisim/reference || exit 1; done
	TAMTAM_CASES=$$((($(CASES) + 3) / 4)) TAMTAM_SEED=$(SEED) $(GO) test -count=1 -timeout 24h -v -run '^TestPathsAgree$$' \
		./saisim/reference

### mutants         wrong engines, one by one: the differential test must detect each
mutants:
	TAMTAM_MUTANTS=all $(GO) test -count=1 -timeout 2h -v -run '^TestMutantsAreCaught$$' ./saisim/reference

### chaos           a switch of processes with random faults while its configuration changes, compared with a fresh
###                 switch whenever it is ready. Then two switches with traffic, made in syncd or by hosts at live
###                 interfaces (root): their sessions must keep counting. ROUNDS (default 80) seeds of each, from SEED
###                 on. Then containers that are killed, paused and disconnected: STORMS (default 5, half an hour) seeds
ROUNDS  ?= 80
STORMS  ?= 5
chaos:
	TAMTAM_CASES=$(ROUNDS) TAMTAM_SEED=$(SEED) $(GO) test -count=1 -timeout 24h -v -run '^TestChaos(Under(Live)?Traffic)?$$' ./device/chaos
	$(MAKE) chaos-containers

chaos-containers: image-if-docker
	TAMTAM_CONTAINERS=1 TAMTAM_CASES=$(STORMS) TAMTAM_SEED=$(SEED) \
		$(GO) test -count=1 -timeout 24h -v -run '^TestChaosOfContainers$$' ./device/chaos

### upgrade         measures how many frames through the chip are lost by the upgrade of each container
upgrade: image-if-docker
	TAMTAM_CONTAINERS=1 $(GO) test -count=1 -timeout 1h -v -run '^TestUpgradeOfContainers$$' ./device/chaos

### stock           restarts, views and a full ASIC with SONiC's syncd, the program in SONIC_SYNCD: GROUPS flow groups
###                 (default 2000), SEED
GROUPS ?= 2000
stock:
	TAMTAM_GROUPS=$(GROUPS) TAMTAM_SEED=$(SEED) $(GO) test -count=1 -timeout 4h -v -run '^TestStock(Restart|Views|IsFull)' ./device/chaos

### stock-orchagent SONiC's orchagent, the program in SONIC_ORCHAGENT, on tamtam's syncd and chip: boot, 10,000 routes,
###                 packets, counters, warm restart; each mode of requests
stock-orchagent:
	$(GO) test -count=1 -timeout 1h -v -run '^TestStockOrchagent' ./device/chaos

### stock-life      random life of SONiC's orchagent, and of its managers if SONIC_MANAGERS is a program that runs them,
###                 on tamtam's syncd and chip: make stock-life MINUTES=n [SEED=n]. Rows come and go, links are cut,
###                 orchagent restarts, both are killed, Redis is emptied; then the chip and its packets must be those
###                 of a fresh start
stock-life: MINUTES = 60
stock-life:
	TAMTAM_STOCK_LIFE=$(MINUTES) TAMTAM_SEED=$(SEED) $(GO) test -count=1 -timeout 24h -v -run '^TestStockLife$$' ./device/chaos

### sonic-fabric    leaf, spine and leaf of SONiC's orchagent and managers, the folder SONIC_BINARIES, with FRR on tamtam's
###                 syncd and chip; packets are dropped in five ways, and all accounts of them compared. Needs root.
###                 OUT (default fabric-results) gets the logs
sonic-fabric: build
	TAMTAM=bin/tamtam scripts/swss/fabric.sh

### sonic-configs   a switch for each config_db.json in SONIC_CONFIGS, with SONiC's orchagent and managers, the folder
###                 SONIC_BINARIES, on tamtam's syncd and chip; each row is looked up in ASIC_DB. Needs root. OUT
###                 (default config-results) gets the logs
sonic-configs: build
	TAMTAM=bin/tamtam scripts/swss/configs.sh $(SONIC_CONFIGS)

### swss-tests      the tests of sonic-swss, the folder SWSS_TESTS, with SONiC's orchagent and managers, the folder
###                 SONIC_BINARIES, on tamtam's syncd and chip; SONIC_PYTHON is a folder with Python's swsscommon. Needs
###                 root. OUT (default swss-results) gets the results. ONLY="test_acl.py ..." selects files
swss-tests: build
	TAMTAM=bin/tamtam scripts/swss/run.sh $(ONLY)

### frr-test        BGP between two switches with FRR on their host interfaces, and a link cut under traffic; a
###                 leaf-spine with BIRD outside, links cut, daemons killed, 20,000 routes. Needs root, and Debian's
###                 frr, bird2, iperf3 and iputils-ping
frr-test:
	TAMTAM_FRR=1 $(GO) test -count=1 -timeout 30m -v -run '^TestFRR' ./cmd/tamtam

### lacp-test       two links aggregated with Open vSwitch in user space, and with Linux' bond if the kernel has it:
###                 cut, restored, daemons killed, a silent partner. Needs root, and Debian's openvswitch-switch
lacp-test:
	TAMTAM_FRR=1 $(GO) test -count=1 -timeout 10m -v -run '^TestLACPWith' ./cmd/tamtam

### sonic-utilities runs SONiC's utilities on a switch with hosts and traffic, and compares their figures: SONIC_UTILITIES
###                 names a folder with them (go doc ./internal/sonicutils). Needs root. ONLY=TEXT selects tools
sonic-utilities:
	@if [ -z "$(SONIC_UTILITIES)" ]; then \
		echo "sonic-utilities: skipped: SONIC_UTILITIES names no folder with SONiC's utilities"; \
	else \
		mkdir -p bin && $(GO) build -o bin/tamtam ./cmd/tamtam && $(GO) build -o bin/sonicutils ./internal/sonicutils && \
		unshare -mn --propagation private bin/sonicutils -folder '$(abspath $(SONIC_UTILITIES))' \
			-tamtam '$(CURDIR)/bin/tamtam' -only '$(ONLY)'; \
	fi

### northbound-test compares what the switch sends and serves with its state. Needs Debian's prometheus,
###                 prometheus-alertmanager and rsyslog, an OpenTelemetry collector (internal/tools/otelcol), and gnmic and
###                 Telegraf if GNMIC and TELEGRAF name their programs. Each receiver is killed and started again
northbound-test:
	mkdir -p bin
	$(GO) build -C internal/tools/otelcol -o $(CURDIR)/bin/otelcol .
	TAMTAM_OTELCOL=$(CURDIR)/bin/otelcol TAMTAM_GNMIC=$(GNMIC) TAMTAM_TELEGRAF=$(TELEGRAF) \
		$(GO) test -count=1 -timeout 20m -v -run '^TestCollectors$$' ./device/chaos

### ipfix-test      reads the exported IPFIX with the installed collectors of Debian's nfdump, pmacct and tshark, and
###                 with goflow2, which is built (internal/tools/goflow2). Tests the dissector for Wireshark
###                 (docs/wireshark)
ipfix-test:
	mkdir -p bin
	$(GO) build -C internal/tools/goflow2 -o $(CURDIR)/bin/goflow2 github.com/netsampler/goflow2/v2/cmd/goflow2
	TAMTAM_IPFIX=1 TAMTAM_GOFLOW2=$(CURDIR)/bin/goflow2 $(GO) test -count=1 -timeout 10m -v -run '^TestCollectors$$|^TestDissect' \
		./collector/export

### sflow-test      reads the datagrams of sflowd with the installed collectors of Debian's tshark, nfdump-sflow and
###                 pmacct, and with goflow2, which is built (internal/tools/goflow2)
sflow-test:
	mkdir -p bin
	$(GO) build -C internal/tools/goflow2 -o $(CURDIR)/bin/goflow2 github.com/netsampler/goflow2/v2/cmd/goflow2
	TAMTAM_SFLOW=1 TAMTAM_GOFLOW2=$(CURDIR)/bin/goflow2 $(GO) test -count=1 -timeout 10m -v -run '^TestSFlowCollectors$$' ./device/chaos

### cluster-test    the collector's log, store and load under the race detector. Three servers of the log: each in turn
###                 is stopped and started while messages are appended, and each in turn has a full disk. A sweep with
###                 processes that are killed at random
cluster-test:
	$(GO) test -race -count=1 -timeout 10m ./lab ./lab/sweep ./fleet/collectd ./fleet/jetstream ./fleet/parquet ./fleet/synthetic ./cmd/tamtam-collectd
	TAMTAM_CLUSTER=1 $(GO) test -count=1 -timeout 5m -v -run '^TestCluster' ./fleet/jetstream
	TAMTAM_CLUSTER=1 $(GO) test -count=1 -timeout 10m -v -run '^TestSweepProcesses$$' ./cmd/tamtam-collectd

### collectd-chaos  three nodes of the collector's log, four workers and a fleet, killed at random, and a collector that
###                 reads a capture: make collectd-chaos MINUTES=n [SEED=n]
collectd-chaos: MINUTES = 10
collectd-chaos:
	TAMTAM_COLLECTD_CHAOS=$(MINUTES) TAMTAM_SEED=$(SEED) $(GO) test -count=1 -timeout 120m -v -run '^TestChaos(OfCapture)?$$' ./cmd/tamtam-collectd

### collectd-disks  a fleet and a collector whose disks are full at random times (mounted by root): make collectd-disks
###                 MINUTES=n
collectd-disks: MINUTES = 3
collectd-disks:
	TAMTAM_COLLECTD_DISK=$(MINUTES) $(GO) test -count=1 -timeout 120m -v -run '^TestDisksWithoutRoom$$' ./cmd/tamtam-collectd

### parquet-test    reads the files of fleet/parquet with Arrow's Go library and with DuckDB, which are built
###                 (internal/tools/arrowread, internal/tools/duckread)
parquet-test:
	mkdir -p bin
	$(GO) build -C internal/tools/arrowread -o $(CURDIR)/bin/arrowread .
	$(GO) build -C internal/tools/duckread -o $(CURDIR)/bin/duckread .
	TAMTAM_ARROWREAD=$(CURDIR)/bin/arrowread TAMTAM_DUCKREAD=$(CURDIR)/bin/duckread \
		$(GO) test -count=1 -timeout 10m -v -run '^TestOthersRead' ./fleet/parquet

### query-test      asks the page of a collector about generated rows of ten days, and DuckDB about the same files: compares
###                 the answers, their time and memory: make query-test [ROWS=n] [BATCH=rows of a file] [DIR=folder]
query-test: ROWS = 1000000
query-test: BATCH = 100000
query-test: DIR = bin/query-test
query-test:
	mkdir -p bin
	$(GO) build -o $(CURDIR)/bin/tamtam-collectd ./cmd/tamtam-collectd
	CGO_ENABLED=1 $(GO) build -C internal/tools/duckread -o $(CURDIR)/bin/duckread .
	TAMTAM_COLLECTD=$(CURDIR)/bin/tamtam-collectd TAMTAM_DUCKREAD=$(CURDIR)/bin/duckread TAMTAM_QUERY_ROWS=$(ROWS) \
		TAMTAM_QUERY_BATCH=$(BATCH) TAMTAM_QUERY_DIR=$(abspath $(DIR)) \
		$(GO) test -count=1 -timeout 120m -v -run '^TestOthersAnswerQuestions$$' ./fleet/parquet

### page-test       uses every view of the page in Debian's chromium (internal/tools/pageshots): the lab's, a switch's and
###                 a fleet's, at 360, 768 and 1280 pixels, in light and in dark, by mouse and by keyboard. It fails on
###                 overlap, overflow, broken numbers, missing names and errors: make page-test [ONLY=fleet]
page-test screenshots: build
	$(GO) build -C internal/tools/pageshots -o $(CURDIR)/bin/pageshots .
	CGO_ENABLED=0 $(GO) build -trimpath -gcflags=all=-dwarf=false "-ldflags=-s -w" -o bin/tamtam-collectd ./cmd/tamtam-collectd
	./bin/pageshots -only '$(ONLY)' $(if $(filter screenshots,$@),-out docs/page)

### screenshots     the same, and makes the pictures of docs/page.md

image-if-docker:
	@if docker info >/dev/null 2>&1; then ./scripts/make-image.sh; fi

### figures         runs the commands that the pages quote, and compares: make figures [ONLY=PAGE[:LINE[-LINE]]]
###                 [UPDATE=1|all]
figures:
	$(GO) run ./internal/figures -only '$(ONLY)' -update '$(UPDATE)'

### metrics         the source tree in figures, with their limits: make metrics [LIST=1], with what is behind each
metrics:
	@$(GO) run ./internal/metrics $(if $(LIST),-list)

### outputs         hashes of tamtam's outputs, to compare before and after a change: make outputs [LONG=1]
###                 [ONLY=PATTERN]
outputs:
	@LONG='$(LONG)' ONLY='$(ONLY)' scripts/outputs.sh

### bench           Go benchmarks with allocations, then tamtam's own
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) run ./cmd/tamtam bench

### bench-before    the chip's rates beside those of an older commit: make bench-before [REV=COMMIT]
REV ?= HEAD~1
bench-before:
	@scripts/bench-pair.sh rev $(REV)

### bench-pgo       the chip's rates without the compiler's profile PGO, and with it
bench-pgo:
	@scripts/bench-pair.sh pgo $(PGO)

### lint            the linters of .golangci.yml; the first run compiles golangci-lint, which takes minutes
lint:
	$(GO) tool -modfile=internal/tools/go.mod golangci-lint run --timeout 30m

### openconfig      compares the served tree and the deviations with OpenConfig's own modules: OPENCONFIG_DIR names a
###                 checkout of openconfig/public. Needs yanglint (Debian's libyang2-tools). UPDATE=1 writes
###                 tamtam-deviations
openconfig:
	@[ -n "$(OPENCONFIG_DIR)" ] || { echo "OPENCONFIG_DIR names no checkout of openconfig/public" >&2; exit 2; }
	dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && \
		TAMTAM_TREE=$$dir/tree.json $(GO) test -count=1 -run '^TestServedTreeIsValid$$' ./device && \
		$(GO) run ./internal/openconfig -public $(OPENCONFIG_DIR) -tree $$dir/tree.json $(if $(UPDATE),-update)

### generate        makes all generated code again
generate:
	$(GO) generate ./...

### generate-check  checks that generated code is up to date
generate-check: generate
	@git diff --exit-code -- '*zz_generated*' || { echo "generated code was out of date"; exit 1; }

### release         dist/: for each of ARCH (default amd64 arm64) an archive with the programs, Debian packages and an image;
###                 an SBOM and SHA256SUMS (go doc ./internal/release)
ARCH ?= amd64 arm64
release:
	$(GO) run ./internal/release -out dist -arch '$(ARCH)'

### release-test    two releases from two clones, which must be equal; the packages in a fresh Debian, the image, and arm64's
###                 outputs beside amd64's: root, and Debian's debootstrap and qemu-user-static
release-test:
	TAMTAM_RELEASE=1 $(GO) test -count=1 -run '^TestBaseOfPackages$$' ./internal/release
	./scripts/test-release.sh

### install-times   commands and seconds from a clean Debian to a flow of one's own on the page: from the package of a
###                 release in dist/, and from a clone. Needs root, and Debian's mmdebstrap
install-times:
	@./scripts/time-install.sh

### instructions    counts the instructions of a packet of each load of the chip, and compares them with a table: needs
###                 Debian's valgrind (go doc ./lab/bench/instructions)
instructions:
	$(GO) run ./lab/bench/instructions

### cold-demo       processor time of `go run ./cmd/tamtam demo` with an empty cache, beside that of `go build`
cold-demo:
	@./scripts/cold-demo.sh

### image           the container image $(IMAGE), loaded into Docker
image:
	./scripts/make-image.sh $(IMAGE)

### compose-up      starts Redis, the daemons and a configuration as containers
compose-up:
	./docker/compose.sh up -d

### compose-down    stops and removes them
compose-down:
	./docker/compose.sh down -v

### compose-test    image, containers, health, a row from CONFIG_DB to the ASIC, and down again
compose-test:
	./scripts/test-compose.sh

### topologies      the tour of docs/getting-started.md, the topologies of docker/containerlab, and 64 ports, with moved
###                 veths and traffic. Not in the gate; needs root
topologies: image-if-docker
	./scripts/test-topologies.sh

### containers-test from a fresh clone of the last commit: image, compose, the tour of docs/getting-started.md, the
###                 topologies and the manifests (root)
containers-test:
	dir=$$(mktemp -d) && git clone -q . $$dir && $(MAKE) -C $$dir image compose-test topologies manifests; \
		code=$$?; rm -rf $$dir; exit $$code

### manifests       reads the StatefulSet and the chart of docker/ into the types of Kubernetes' API
HELM ?= $(GO) run helm.sh/helm/v3/cmd/helm@v3.22.0
manifests:
	$(HELM) lint docker/helm/tamtam
	$(HELM) template sw docker/helm/tamtam | $(GO) run -C internal/tools/manifests . ../../../docker/kubernetes/tamtam.yaml -
	$(HELM) template sw docker/helm/tamtam --set-file startup=docker/containerlab/pair-leaf1.json \
		--set ports=4,interfaces.Ethernet16=net1,usersSecret=u,storageClass=fast,metrics=false | $(GO) run -C internal/tools/manifests . -

### openapi         reads RESTCONF's descriptions (/restconf/openapi.json, and one of each module) with a validator
openapi: export TAMTAM_OPENAPI = $(CURDIR)/bin/openapi
openapi:
	rm -rf $(TAMTAM_OPENAPI)
	mkdir -p $(TAMTAM_OPENAPI)
	$(GO) test -count=1 -run '^TestOpenAPI$$' ./mgmt/restconf
	$(GO) run -C internal/tools/openapi . $(TAMTAM_OPENAPI)/*.json

### gnmi-clients    the points of docs/reference/gnmi.md with other clients: gnmi_cli, which is built, and gnmic if
###                 GNMIC=PATH names it
gnmi-clients:
	mkdir -p bin
	$(GO) build -C internal/tools/gnmicli -o $(CURDIR)/bin/gnmi_cli github.com/openconfig/gnmi/cmd/gnmi_cli
	TAMTAM_GNMI_CLI=$(CURDIR)/bin/gnmi_cli $(GO) test -count=1 -run '^TestConformance$$|^TestSubscribeThroughGnmiCLI$$' ./mgmt
	[ -z "$(GNMIC)" ] || TAMTAM_GNMIC=$(abspath $(GNMIC)) $(GO) test -count=1 -run '^TestConformance$$' ./mgmt

### featureprofiles runs tests of openconfig/featureprofiles, each on a fresh switch, and compares their results with a
###                 table: make featureprofiles FEATUREPROFILES=FOLDER [ONLY=PATTERN]. FOLDER has a checkout and test
###                 binaries (go doc ./internal/featureprofiles)
featureprofiles:
	@if [ -z "$(FEATUREPROFILES)" ]; then \
		echo "skipped: FEATUREPROFILES names no folder with a checkout of featureprofiles and its test binaries"; \
	else \
		$(MAKE) build && \
		$(GO) run ./internal/featureprofiles -dir '$(FEATUREPROFILES)' -tamtam bin/tamtam -only '$(ONLY)'; \
	fi

### supervisor-test the recipes for supervisord and systemd
supervisor-test:
	./scripts/test-supervisor.sh

### demo-capture    records the demo's captures again (root)
demo-capture:
	./scripts/record-demo.sh

### clean           removes what was built
clean:
	rm -rf bin dist
