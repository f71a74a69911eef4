package archtest

import "strings"

// room is a top-level folder, or a folder inside one that has its own rules. A package belongs to the room with the
// longest name that is a prefix of the package's path.
type room struct {
	// name may end in "/*". Then each folder there is a room with these rules, unless it has its own.
	name string
	// below lists the rooms that it may import. "/*" stands for all rooms in a folder. Its own packages are not listed.
	below []string
	// modules lists the modules outside the standard library that it may import.
	modules []string
	// clock permits reading the wall clock, sleeping and setting timers, for code that never runs in a simulation.
	clock bool
}

// rooms splits a list of names at spaces.
func rooms(names string) []string { return strings.Fields(names) }

const (
	cobra      = "github.com/spf13/cobra"
	pflag      = "github.com/spf13/pflag"
	ddsketch   = "github.com/DataDog/sketches-go"
	gnmi       = "github.com/openconfig/gnmi"
	gophersat  = "github.com/crillab/gophersat"
	gonumplot  = "gonum.org/v1/plot"
	gopacket   = "github.com/gopacket/gopacket"
	goredis    = "github.com/redis/go-redis/v9"
	goyang     = "github.com/openconfig/goyang"
	grpc       = "google.golang.org/grpc"
	natsClient = "github.com/nats-io/nats.go"
	natsServer = "github.com/nats-io/nats-server/v2"
	netlink    = "github.com/vishvananda/netlink"
	miniredis  = "github.com/alicebob/miniredis/v2"
	otlp       = "go.opentelemetry.io/proto/slim/otlp"
	parquetgo  = "github.com/parquet-go/parquet-go"
	prometheus = "github.com/prometheus/client_golang"
	protobuf   = "google.golang.org/protobuf"
	xcrypto    = "golang.org/x/crypto"
	xnet       = "golang.org/x/net"
	xsync      = "golang.org/x/sync"
	xsys       = "golang.org/x/sys"
	xterm      = "golang.org/x/term"
	xtext      = "golang.org/x/text"
	yaml       = "go.yaml.in/yaml/v3"
	ygot       = "github.com/openconfig/ygot"
)

// rules lists the rooms from the top down: a room may import only rooms further down. If an orch needs another orch, it
// declares an interface, and device/daemons passes the implementation in.
var rules = []room{
	// the only program that links NATS and Parquet; it includes the lab for sweeps on several hosts
	{name: "cmd/tamtam-collectd", modules: []string{cobra}, clock: true, below: rooms(`
		lab/experiments lab/sweep lab fleet/collectd fleet/synthetic fleet/ingest fleet/join fleet/event fleet/jetstream
		fleet/parquet fleet/dial device mgmt/web/door mgmt mgmt/auth collector collector/topology collector/journey
		internal/command`)},
	{name: "cmd", modules: []string{cobra, xsys, xterm}, clock: true, below: rooms(`
		cli lab/demo lab/experiments lab/rows lab/sweep lab lab/bench/live lab/bench/northbound lab/bench fleet/dial
		device device/daemons device/logs device/fault device/sender mgmt/web/door mgmt/web mgmt/outputs/otlp
		mgmt/outputs/syslog mgmt/outputs/alertmanager mgmt/outputs mgmt/hftmetrics mgmt/results mgmt mgmt/auth
		mgmt/access mgmt/configfile
		collector/export collector/hftread collector collector/marks
		collector/topology collector/journey collector/capture host/fpmsyncd saisim saisim/describe
		saisim/profile saisim/pipe swss swss/schema tam/recordplan/check tam/recordplan tam/recordplan/p4graph
		tam/flymon tam/ipfix tam/record internal/command internal/grace`)},
	// the kit of tests of the whole switch
	{name: "device/devicetest", below: rooms(`
		cli device device/daemons device/packettrace mgmt collector/capture sai/redis saisim saisim/profile
		swss swss/schema sai tam/flymon tam/record tam/sflow internal`)},
	// a test kit, also for tests outside this tree
	{name: "tamtamtest", below: rooms("cli device saisim saisim/profile swss")},
	// a gNMI client, without access to databases
	{name: "cli", modules: []string{gnmi, grpc, xterm}, clock: true, below: rooms(
		"cli/tam cli/ping cli/kit cli/tree internal/printable")},
	// commands of telemetry
	{name: "cli/tam", modules: []string{gnmi}, clock: true, below: rooms("cli/kit cli/tree tam/words")},
	// ping and traceroute
	{name: "cli/ping", modules: []string{gnmi}, clock: true, below: rooms("cli/kit cli/tree")},
	// building blocks of commands
	{name: "cli/kit", modules: []string{gnmi, grpc, yaml}, below: rooms("cli/tree internal/printable tam/words")},
	// data of a gNMI server
	{name: "cli/tree", modules: []string{gnmi}, below: rooms("internal/printable")},
	// demonstrations of every feature with real traffic
	{name: "lab/demo", below: rooms(`
		lab/experiments lab/study lab device collector saisim/profile swss/schema tam/record`)},
	// the experiments that come with tamtam
	{name: "lab/experiments", below: rooms("lab/study lab collector/topology")},
	// results of a lab run, as rows
	{name: "lab/rows", below: rooms(`
		lab/study lab fleet/local fleet/join device device/switchpage mgmt/web collector/result collector/journey
		tam/record`)},
	// an experiment over seeds and parameters, on one host or several
	{name: "lab/sweep", modules: []string{yaml}, clock: true, below: rooms(`
		lab lab/figure fleet/stream collector/whole`)},
	{name: "lab/study", below: rooms(`
		lab lab/bench lab/chance lab/figure lab/programs device collector collector/marks collector/capture
		flymonorch/answer flymonorch/plan saisim saisim/cmu saisim/drop swss swss/schema tam/recordplan/check
		tam/recordplan tam/recordplan/p4graph tam/sketch tam/altmark tam/flymon tam/libm tam/record`)},
	// experiments, independent of the inside of a switch
	{name: "lab", modules: []string{yaml}, below: rooms(`
		lab/chance lab/figure lab/heap device device/daemons collector/topology collector/capture collector/hftread saisim
		saisim/profile saisim/tailstamp saisim/drop swss swss/schema tam/hft`)},
	// the table of tables as a page, and the parts of it that YANG and the shell repeat
	{name: "internal/tables", below: rooms("mgmt/models mgmt/tree saisim/drop swss swss/schema")},
	// comparison of our modules with OpenConfig's, and of our tree with the paths that others name
	{name: "internal/openconfig", modules: []string{goyang}, below: rooms("mgmt/models mgmt/tree swss")},
	{name: "lab/bench/live", below: rooms("lab/bench internal/netns"), modules: []string{xsys}, clock: true},
	{name: "lab/bench/northbound", modules: []string{gnmi, grpc, protobuf, xsync}, clock: true, below: rooms(`
		lab/bench device device/daemons saisim saisim/profile swss swss/schema sai`)},
	// the measurements of "tamtam bench"
	{name: "lab/bench", modules: []string{xsync}, clock: true, below: rooms(`
		lab/programs device device/daemons mgmt/hftrecords flymonorch/plan saisim saisim/describe saisim/profile saisim/cmu
		saisim/pipe swss swss/schema sai tam/recordplan tam/recordplan/p4graph tam/altmark tam/flymon tam/record`)},
	// random numbers of experiments
	{name: "lab/chance"},
	{name: "lab/heap"},
	{name: "lab/figure", below: rooms("tam/libm"), modules: []string{gonumplot}},
	{name: "lab/programs", below: rooms("tam/recordplan tam/recordplan/p4graph tam/record")},
	// one process of the fleet's collector, assembled from its parts
	{name: "fleet/collectd", modules: []string{prometheus}, clock: true, below: rooms(`
		fleet/ingest fleet/join fleet/event fleet/jetstream fleet/parquet fleet/dial fleet/stream mgmt/web/door mgmt/web
		collector/alarm collector/topology collector/capture collector/result internal/command`)},
	// a synthetic fleet, to measure a collector
	{name: "fleet/synthetic", modules: []string{xsys}, clock: true, below: rooms(`
		fleet/join fleet/event fleet/jetstream fleet/parquet fleet/stream collector/result`)},
	// the fleet's collector inside one process
	{name: "fleet/local", clock: true, below: rooms(`
		fleet/ingest fleet/join fleet/event fleet/stream collector/result`)},
	// writes data of the switches to the log
	{name: "fleet/ingest", clock: true, below: rooms(`
		fleet/event fleet/dial fleet/stream collector collector/result collector/capture saisim/tailstamp saisim/drop
		tam/dropreport tam/altmark tam/ipfix tam/sflow internal/grace`)},
	// joins the data of sources to rows
	{name: "fleet/join", clock: true, below: rooms(`
		fleet/event fleet/dial fleet/stream collector collector/marks collector/topology collector/result
		collector/journey tam/altmark tam/record`)},
	// data of sources, as batches
	{name: "fleet/event", below: rooms(`
		fleet/dial fleet/stream collector collector/result collector/journey saisim/tailstamp tam/altmark tam/record`)},
	// the log in NATS
	{name: "fleet/jetstream", below: rooms("fleet/stream"), modules: []string{natsClient, natsServer}, clock: true},
	// results as files
	{name: "fleet/parquet", modules: []string{parquetgo}, clock: true, below: rooms(`
		collector collector/result tam/query`)},
	// reads switches over gNMI
	{name: "fleet/dial", modules: []string{gnmi, grpc, protobuf, yaml}, clock: true, below: rooms(`
		collector collector/marks collector/topology collector/whole tam/altmark`)},
	// the log under the collector
	{name: "fleet/stream"},
	{name: "device", modules: []string{xsync, xsys}, clock: true, below: rooms(`
		device/daemons device/wire device/packettrace device/fault device/sender mgmt mgmt/fetch mgmt/models
		mgmt/access mgmt/configfile mgmt/hftrecords mgmt/metrics collector/capture host/hostd host/reports host/sflow
		host/cpuport
		cfgmgr/* recordorch orch sai/redis sai/redis/flex sai/redis/protocol saisim saisim/profile saisim/pipe
		saisim/drop swss swss/schema sai tam/flymon tam/record internal/printable`)},
	// runs one daemon
	{name: "device/daemons", modules: []string{xnet, xsync, xsys}, clock: true, below: rooms(`
		device/wire device/switchpage device/packettrace device/fault device/sender mgmt/restconf mgmt mgmt/fetch
		mgmt/models mgmt/hftrecords mgmt/metrics host/hostd host/hostifd host/fpmsyncd host/netdev host/reports
		host/sflow host/lacpd
		host/lldpd host/ping host/cpuport host/genl host tammgr cfgmgr/* tsorch amorch flymonorch recordorch orchagent/ifa
		orchagent/dropmonitor orchagent/* orch/feature orch/forward orch sai/redis sai/redis/flex sai/redis/protocol
		sai/redis/zmq saisim saisim/profile saisim/drop swss swss/schema sai tam/altmark tam/record`)},
	// ports on Linux interfaces
	{name: "device/wire", modules: []string{xsync, xsys}, clock: true, below: rooms("saisim swss/schema")},
	// the page of one switch
	{name: "device/switchpage", modules: []string{grpc}, clock: true, below: rooms(`
		device/packettrace mgmt/web/door mgmt/web mgmt mgmt/auth collector/result swss swss/schema tam/altmark
		tam/flymon tam/words`)},
	// predicts the fate of a packet
	{name: "device/packettrace", below: rooms(`
		saisim saisim/config saisim/tailstamp saisim/drop swss swss/schema tam/query`)},
	// format and level of the log
	{name: "device/logs", clock: true},
	// deliberately injected faults
	{name: "device/fault", below: rooms("swss swss/schema sai"), modules: []string{goredis}, clock: true},
	// the outputs and the data that they receive
	{name: "device/sender", clock: true, below: rooms(`
		mgmt/outputs/otlp mgmt/outputs/syslog mgmt/outputs/alertmanager mgmt/outputs/dialout mgmt/outputs mgmt/metrics
		swss swss/schema`)},
	// access control of pages
	{name: "mgmt/web/door", below: rooms("mgmt/web mgmt mgmt/auth"), modules: []string{grpc}},
	// pages for a browser
	{name: "mgmt/web", clock: true, below: rooms(`
		mgmt/web/rows mgmt/web/recordview mgmt/hftrecords
		collector/alarm collector collector/marks collector/topology collector/result tam/query tam/words`)},
	// sums of a time range's rows, as values with bounds
	{name: "mgmt/web/rows", clock: true, below: rooms("collector/alarm collector collector/result tam/query")},
	// charts of records of high-frequency telemetry
	{name: "mgmt/web/recordview", below: rooms("mgmt/hftrecords tam/hft")},
	// RFC 8040 on the same engine
	{name: "mgmt/restconf", modules: []string{gnmi, goyang, grpc}, clock: true, below: rooms(`
		mgmt mgmt/auth mgmt/tree mgmt/access yang`)},
	{name: "mgmt/outputs/otlp", modules: []string{grpc, otlp, protobuf}, clock: true, below: rooms(`
		mgmt/outputs mgmt/metrics`)},
	{name: "mgmt/outputs/syslog", below: rooms("mgmt/outputs"), clock: true},
	{name: "mgmt/outputs/alertmanager", below: rooms("mgmt/outputs"), clock: true},
	{name: "mgmt/outputs/dialout", modules: []string{gnmi, grpc, protobuf}, clock: true, below: rooms(`
		mgmt/outputs mgmt/access`)},
	// records of high-frequency telemetry as metrics
	{name: "mgmt/hftmetrics", below: rooms("mgmt/metrics collector/hftread tam/hft tam/ipfix")},
	// results of a collector of alternate marking, as rows
	{name: "mgmt/results", below: rooms("collector/marks swss swss/schema internal/grace"), clock: true},
	// spools, and retries with backoff
	{name: "mgmt/outputs", below: rooms("internal/grace"), clock: true},
	{name: "mgmt", modules: []string{gnmi, goredis, goyang, grpc, protobuf}, clock: true, below: rooms(`
		mgmt/set mgmt/fetch mgmt/auth mgmt/models mgmt/rights mgmt/tree mgmt/access mgmt/configfile mgmt/hftrecords
		yang swss swss/schema`)},
	// a Set on the rows of CONFIG_DB
	{name: "mgmt/set", modules: []string{gnmi, grpc}, clock: true, below: rooms(`
		mgmt/fetch mgmt/models mgmt/rights mgmt/tree mgmt/access mgmt/configfile swss swss/schema
		internal/printable`)},
	// entries from the databases
	{name: "mgmt/fetch", modules: []string{gnmi, goredis, grpc}, clock: true, below: rooms(`
		mgmt/rights mgmt/tree mgmt/access swss swss/schema`)},
	// authentication
	{name: "mgmt/auth", modules: []string{gnmi, grpc, xcrypto}, clock: true, below: rooms(`
		mgmt/rights mgmt/tree mgmt/access swss internal/printable`)},
	// the mapping of YANG modules to the databases
	{name: "mgmt/models", below: rooms("mgmt/tree yang swss swss/schema tam/altmark tam/sflow")},
	// the rights of a role
	{name: "mgmt/rights", modules: []string{gnmi, grpc}, below: rooms(
		"mgmt/tree mgmt/access swss swss/schema internal/printable")},
	// the tree of YANG, and its entries
	{name: "mgmt/tree", modules: []string{gnmi, goyang, grpc, protobuf, ygot}, below: rooms("yang swss swss/schema")},
	// users and roles as files
	{name: "mgmt/access", below: rooms("swss/schema"), modules: []string{gnmi, xcrypto}},
	// CONFIG_DB as files
	{name: "mgmt/configfile", below: rooms("swss swss/schema"), modules: []string{goredis}},
	// for Prometheus
	{name: "mgmt/metrics", below: rooms("swss swss/schema"), modules: []string{prometheus}, clock: true},
	// the last records of high-frequency telemetry
	{name: "mgmt/hftrecords", below: rooms("collector/hftread swss swss/schema tam/hft")},
	// generated types stop at mgmt
	{name: "yang", modules: []string{gnmi, goyang, protobuf, ygot}},
	// derives alarms from rows
	{name: "collector/alarm", below: rooms("collector collector/marks collector/result tam/altmark tam/words")},
	// IPFIX to other collectors
	{name: "collector/export", below: rooms(`
		collector collector/marks saisim/tailstamp saisim/drop tam/altmark tam/ipfix`)},
	// streams of high-frequency telemetry as text
	{name: "collector/hftread", below: rooms("sai tam/hft tam/ipfix")},
	{name: "collector", modules: []string{ddsketch, gopacket}, below: rooms(`
		collector/journey collector/capture saisim/tailstamp tam/recordplan tam/dropreport tam/altmark tam/erspan
		tam/ifa tam/libm tam/record tam/sflow`)},
	// loss, delay and jitter of marked packets
	{name: "collector/marks", below: rooms("tam/altmark")},
	// switches, hosts, links; from files and LLDP
	{name: "collector/topology", below: rooms("collector/journey collector/whole"), modules: []string{yaml}},
	// results of collectors as rows, and the interface of a store
	{name: "collector/result", below: rooms("tam/query")},
	// one packet's path through several switches
	{name: "collector/journey", below: rooms("saisim/tailstamp tam/ifa")},
	// whole numbers in files
	{name: "collector/whole", modules: []string{yaml}},
	{name: "collector/capture", modules: []string{gopacket, xsys}},
	{name: "host/hostd", below: rooms(`
		host/hostrows host/lacpd host/lldpd host/ping host/cpuport host orch/forward orch swss swss/schema`)},
	// Linux' interfaces and neighbours
	{name: "host/hostifd", modules: []string{netlink, xsync, xsys}, below: rooms(`
		host/netdev host/beside host/hostrows host/cpuport host orch/forward orch swss swss/schema`)},
	// zebra's routes
	{name: "host/fpmsyncd", modules: []string{netlink, xsync, xsys}, below: rooms(`
		host/beside host/fpm orch/forward orch swss swss/schema`)},
	// interfaces of Linux, in syncd
	{name: "host/netdev", below: rooms("host/cpuport swss/schema"), modules: []string{netlink, xsync, xsys}},
	// rows in tables where another daemon has rows too
	{name: "host/beside", below: rooms("swss swss/schema")},
	// rows of the host, for hostd and hostifd alike
	{name: "host/hostrows", below: rooms("host orch/forward orch swss swss/schema")},
	// frames that the host sends on behalf of the chip
	{name: "host/reports", below: rooms("host/cpuport orch/forward orch swss swss/schema")},
	// the sFlow agent
	{name: "host/sflow", below: rooms("host/cpuport orch/forward orch swss swss/schema tam/sflow")},
	// LACP for hostd, and beside hostifd
	{name: "host/lacpd", below: rooms("host/cpuport host orch/forward orch swss swss/schema")},
	// LLDP, likewise
	{name: "host/lldpd", below: rooms("host/cpuport host orch/forward orch swss swss/schema")},
	// pings and traceroutes of hostd and hostifd
	{name: "host/ping", below: rooms("host orch swss swss/schema")},
	// messages to a group of generic netlink
	{name: "host/genl", modules: []string{netlink, xsys}},
	// frames and names; nothing of a chip
	{name: "host/cpuport"},
	// zebra's FPM
	{name: "host/fpm"},
	// frames and time; nothing of a chip or a database
	{name: "host"},
	{name: "tammgr", below: rooms("orch/forward orch swss swss/schema tam/altmark tam/flymon")},
	// SONiC's managers
	{name: "cfgmgr/*", below: rooms("orch/forward orch swss swss/schema")},
	{name: "tsorch", below: rooms("orch/feature orch saisim/tailstamp swss swss/schema sai")},
	{name: "amorch", below: rooms("orch/feature orch swss swss/schema sai tam/altmark")},
	{name: "flymonorch", below: rooms(`
		flymonorch/answer flymonorch/plan orch/feature orch swss swss/schema sai tam/altmark tam/flymon`)},
	{name: "recordorch", below: rooms(`
		orch/feature orch swss swss/schema sai tam/recordplan tam/recordplan/p4graph tam/record`)},
	// the orchs below a feature's orch, for its tests
	{name: "orchagent/orchagenttest", below: rooms("orchagent/acl orchagent/ports orch/feature orch swss/schema")},
	{name: "orchagent/acl", below: rooms("orch/feature orch swss swss/schema sai")},
	{name: "orchagent/ports", below: rooms("orch/feature orch swss swss/schema sai")},
	{name: "orchagent/ifa", below: rooms("orchagent/dropmonitor orch/feature orch swss swss/schema sai tam/ifa")},
	{name: "orchagent/dropmonitor", below: rooms("orch/feature orch swss swss/schema sai tam/dropreport")},
	// SONiC's orchs, and those of further TAM features
	{name: "orchagent/hftel", below: rooms("orch/feature orch swss swss/schema sai tam/hft")},
	{name: "orchagent/*", below: rooms("orch/feature orch swss swss/schema sai")},
	// answers from a task's registers
	{name: "flymonorch/answer", below: rooms("tam/sketch tam/flymon tam/libm")},
	// from a task to its layout on a chip
	{name: "flymonorch/plan", below: rooms("tam/flymon")},
	// common code of the TAM features' orchs
	{name: "orch/feature", below: rooms("orch swss swss/schema sai")},
	// common code of the managers
	{name: "orch/forward", below: rooms("orch swss swss/schema"), modules: []string{goredis}},
	{name: "orch", below: rooms("swss swss/schema sai"), clock: true},
	{name: "sai/redis", modules: []string{goredis}, clock: true, below: rooms(`
		sai/redis/asicview sai/redis/flex sai/redis/objectids sai/redis/protocol sai/redis/queries swss sai`)},
	// statistics and capabilities
	{name: "sai/redis/queries", below: rooms("sai/redis/asicview sai/redis/objectids sai/redis/protocol swss sai")},
	// views of the ASIC, and the operations that lead from one to another
	{name: "sai/redis/asicview", below: rooms("sai/redis/objectids sai/redis/protocol swss sai")},
	// counters that are polled
	{name: "sai/redis/flex", modules: []string{goredis}, clock: true, below: rooms(`
		sai/redis/objectids sai/redis/protocol swss swss/schema sai`)},
	// virtual and real ids
	{name: "sai/redis/objectids", below: rooms("sai/redis/protocol swss sai"), modules: []string{goredis}},
	// clients of ASIC_DB that talk ZeroMQ
	{name: "sai/redis/zmq", modules: []string{goredis}, clock: true, below: rooms("sai/redis/protocol swss")},
	// words of ASIC_DB
	{name: "sai/redis/protocol", below: rooms("swss sai"), modules: []string{goredis}},
	// a second model of the chip, configured by rows; it shares no code with the packet path
	{name: "saisim/reference", below: rooms(`
		saisim saisim/describe saisim/config saisim/profile saisim/tailstamp saisim/tm saisim/pipe saisim/drop
		tam/dropreport tam/altmark tam/flymon tam/ifa tam/ipfix tam/record`)},
	// the chip with SAI and packets, without Redis
	{name: "saisim", below: rooms(`
		saisim/objects saisim/objects/stream saisim/engine saisim/config saisim/profile saisim/tailstamp saisim/pipe
		saisim/drop sai tam/dropreport tam/altmark tam/flymon tam/record`)},
	// converts SAI objects to rows; it only reads from the packet path
	{name: "saisim/objects", below: rooms(`
		saisim/objects/extension saisim/objects/aclmap saisim/objects/counts saisim/objects/stream saisim/objects/qosmap
		saisim/engine saisim/config saisim/profile saisim/tailstamp saisim/tm saisim/drop sai tam/altmark tam/erspan
		tam/hft tam/ifa`)},
	// fields and actions of ACLs
	{name: "saisim/objects/aclmap", below: rooms("saisim/config sai")},
	// statistics of ports and queues
	{name: "saisim/objects/counts", below: rooms("saisim/engine saisim/tm saisim/drop sai")},
	// records of streamed statistics, on their way to the host
	{name: "saisim/objects/stream", below: rooms("saisim/config sai tam/hft")},
	// lists of QoS maps as arrays
	{name: "saisim/objects/qosmap", below: rooms("saisim/config saisim/tm sai")},
	// objects for which SAI has no type
	{name: "saisim/objects/extension", below: rooms(`
		saisim/engine saisim/config saisim/profile saisim/cmu saisim/tailstamp sai tam/dropreport tam/altmark
		tam/flymon tam/ifa tam/record`)},
	// the packet path, without SAI
	{name: "saisim/engine", below: rooms(`
		saisim/describe saisim/config saisim/profile saisim/replica saisim/cmu saisim/tailstamp saisim/tm saisim/pipe
		saisim/drop tam/dropreport tam/altmark tam/erspan tam/flymon tam/ifa tam/ipfix tam/record`)},
	// the graph of the pipes
	{name: "saisim/describe", below: rooms("saisim/config saisim/profile saisim/pipe saisim/drop tam/record")},
	// rows, and no SAI
	{name: "saisim/config", below: rooms("saisim/tm tam/altmark tam/flymon tam/record")},
	{name: "saisim/profile", below: rooms("saisim/pipe tam/flymon")},
	// copies of memory
	{name: "saisim/replica"},
	// only the CMU groups of a chip
	{name: "saisim/cmu", below: rooms("tam/flymon tam/libm")},
	{name: "saisim/tailstamp"},
	{name: "saisim/tm"},
	{name: "saisim/pipe"},
	// reasons for dropped frames
	{name: "saisim/drop"},
	{name: "swss", modules: []string{goredis, miniredis}, clock: true},
	{name: "swss/schema", below: rooms("tam/altmark tam/dropreport tam/erspan tam/flymon tam/record tam/words")},
	{name: "sai"},
	// an independent check, without code of the planner
	{name: "tam/recordplan/check", below: rooms("tam/libm tam/record")},
	// the planner: graphs, entropy, constraints of a plan
	{name: "tam/recordplan", below: rooms("tam/recordplan/p4graph tam/libm tam/record"), modules: []string{gophersat}},
	// programs as graphs, from files
	{name: "tam/recordplan/p4graph", below: rooms("tam/record")},
	// estimators
	{name: "tam/sketch", below: rooms("tam/flymon tam/libm")},
	// the contents of drop reports
	{name: "tam/dropreport", below: rooms("tam/ipfix")},
	{name: "tam/altmark"},
	// headers of mirrored frames
	{name: "tam/erspan"},
	{name: "tam/flymon", below: rooms("tam/libm")},
	// high-frequency telemetry, without sockets
	{name: "tam/hft", below: rooms("tam/ipfix")},
	// Inband Flow Analyzer, on the wire
	{name: "tam/ifa"},
	// the protocol, without sockets
	{name: "tam/ipfix"},
	// the language of filters, for every kind of row
	{name: "tam/query"},
	// elementary functions
	{name: "tam/libm"},
	// the words of all displays
	{name: "tam/words"},
	{name: "tam/record"},
	// the protocol, without sockets
	{name: "tam/sflow"},
	// functions of rows, from their layouts
	{name: "internal/rows"},
	// makes ygot's output reproducible
	{name: "internal/steady"},
	// a substitute for containerlab
	{name: "internal/clab", modules: []string{yaml}},
	// hosts with wires
	{name: "internal/netns", modules: []string{xsys}},
	// the common command line of programs
	{name: "internal/command", modules: []string{cobra, pflag}, below: rooms("internal/printable")},
	// texts on terminals
	{name: "internal/printable", modules: []string{xtext}},
	// delivery of data after a context has ended
	{name: "internal/grace", clock: true},
	{name: "internal", clock: true},
}

// testKits are packages that only tests, and each other, may import. They may import any module.
var testKits = rooms(`
	fleet/stream/streamtest internal/command/commandtest
	internal/disktest internal/netns/netnstest internal/randtest mgmt/hftrecords/hfttest mgmt/web/webtest
	device/devicetest internal/racetest orch/feature/featuretest orch/forward/forwardtest orch/orchtest
	orchagent/orchagenttest sai/redis/sairedistest sai/saitest saisim/pipe/pipetest swss/swsstest tamtamtest`)
