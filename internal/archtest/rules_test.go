package archtest

// room is a top-level folder, or a folder inside one that has rules of its own. A package belongs
// to the room whose name is the longest prefix of its path.
type room struct {
	// name may end in "/*": then each folder there without a room of its own is such a room.
	name string
	// below lists the rooms it may import, "/*": all that are there. Its own sub-packages need no mention.
	below []string
	// modules lists the modules outside the standard library that it may import.
	modules []string
	// clock says that it may ask the wall clock, sleep or set timers: what runs live and never in a
	// simulation.
	clock bool
}

const (
	cobra      = "github.com/spf13/cobra"
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
	yaml       = "go.yaml.in/yaml/v3"
	ygot       = "github.com/openconfig/ygot"
)

// rules go from the top down: a room may import only rooms further down, never one beside it.
// What one orch needs of another is an interface that it declares itself and device passes in.
var rules = []room{
	{name: "cmd", modules: []string{cobra, xsys, xterm}, clock: true,
		below: []string{"cli", "lab/sweep", "lab/experiments", "lab/study", "lab", "bench/live", "bench/northbound", "bench", "device", "hostif", "device/fault", "device/logs", "mgmt", "mgmt/access", "mgmt/configfile", "collector", "collector/journey", "collector/dial", "collector/export", "collector/capture", "collector/stream", "collector/topology", "collectord/fromlab", "collectord/door", "collectord/page", "collectord/result", "tam/altmark", "tam/ipfix", "sairedis", "saisim", "saisim/describe", "saisim/profile", "saisim/pipe", "sai", "orch", "swss", "schema", "tam/flymon", "tam/recordplan", "tam/recordplan/check", "tam/record", "device/sender", "internal/grace", "mgmt/outputs", "mgmt/outputs/otlp", "mgmt/outputs/syslog"}},
	{name: "collectord/fromlab", // a lab that has run, as rows
		below: []string{"lab", "lab/study", "device", "device/switchpage", "collector", "collector/journey", "collectord/page", "collectord/local", "collectord/join", "collectord/result", "schema", "tam/flymon", "tam/record"}},
	// the one program that links NATS and Parquet; and the lab, for sweeps on several hosts
	{name: "cmd/tamtam-collectd", modules: []string{cobra, prometheus, xsys}, clock: true,
		below: []string{"lab/sweep", "lab/experiments", "lab", "collector", "collector/capture", "collector/dial", "collector/stream", "collector/topology", "collectord/alarm", "collectord/door", "device", "mgmt", "collectord/event", "collectord/fleet", "collectord/ingest", "collectord/jetstream", "collectord/join", "collectord/page", "collectord/parquet", "collectord/result", "collector/journey", "tam/record"}},
	// A test kit for others too: it may not be imported by what is not a test.
	{name: "tamtamtest", below: []string{"cli", "device", "saisim", "saisim/profile", "swss"}},
	{name: "cli", modules: []string{gnmi, grpc, protobuf, xterm, yaml}, clock: true},                                                       // a gNMI client: it knows no database
	{name: "lab/experiments", below: []string{"lab", "lab/study", "collector/topology"}},                                                   // all that come with tamtam
	{name: "lab/sweep", below: []string{"collector/stream", "collector/whole", "lab", "lab/figure"}, modules: []string{yaml}, clock: true}, // an experiment over seeds and parameters; what is run elsewhere is held
	{name: "lab/study", below: []string{"lab", "lab/figure", "lab/chance", "bench", "lab/programs", "device", "collector", "collector/capture", "saisim", "saisim/cmu", "saisim/drop", "schema", "swss", "tam/altmark", "tam/flymon", "tam/sketch", "flymonorch/plan", "flymonorch/answer", "tam/recordplan", "tam/recordplan/check", "tam/record"}},
	{name: "lab", modules: []string{yaml}, // experiments; of what is inside a switch it knows nothing
		below: []string{"lab/figure", "lab/chance", "device", "collector", "collector/capture", "collector/topology", "saisim", "saisim/drop", "saisim/profile", "saisim/tailstamp", "schema", "swss"}},
	{name: "internal/paired", below: []string{"bench"}, clock: true}, // the chip beside an older one
	{name: "bench/live", modules: []string{xsys}, clock: true, below: []string{"bench", "internal/netns"}},
	{name: "bench/northbound", modules: []string{gnmi, grpc, protobuf, xsync}, clock: true,
		below: []string{"bench", "device", "sai", "saisim", "saisim/profile", "schema", "swss"}},
	{name: "bench", modules: []string{xsync}, clock: true, // what "tamtam bench" measures
		below: []string{"lab/programs", "device", "flymonorch/plan", "sai", "saisim", "saisim/describe", "saisim/profile", "saisim/cmu", "saisim/pipe", "schema", "swss", "tam/altmark", "tam/flymon", "tam/record", "tam/recordplan"}},
	{name: "lab/chance"}, // random numbers of experiments
	{name: "lab/figure", modules: []string{gonumplot}},
	{name: "lab/programs", below: []string{"tam/record", "tam/recordplan"}},
	{name: "device", modules: []string{xnet, xsync, xsys}, clock: true,
		below: []string{"device/switchpage", "device/fault", "device/packettrace", "hoststack/cpuport", "hoststack/hostd", "hoststack/lacpd", "hoststack/lldpd", "hoststack/reports", "hoststack/sflow", "hoststack", "mgmt", "mgmt/access", "mgmt/metrics", "mgmt/restconf", "mgmt/configfile", "collector/capture", "collector", "tammgr", "cfgmgr/forward", "cfgmgr/ports", "cfgmgr/routes", "cfgmgr/qos", "cfgmgr/sflow", "cfgmgr/debugcounter", "orchagent/*", "tsorch", "amorch", "recordorch", "tamorch", "tam/recordplan", "tam/record", "device/sender",
			"orch", "sairedis", "saisim", "saisim/drop", "saisim/profile", "saisim/pipe", "saisim/tailstamp", "saisim/cmu", "sai", "swss", "schema", "tam/altmark", "tam/flymon", "flymonorch", "flymonorch/plan", "hostif"}},
	{name: "device/switchpage", modules: []string{grpc}, clock: true, // the page of one switch
		below: []string{"collectord/door", "collectord/page", "collectord/result", "device/packettrace", "mgmt", "schema", "swss", "tam/altmark", "tam/flymon"}},
	// who is let in to a page
	{name: "collectord/door", below: []string{"collectord/page", "mgmt"}, modules: []string{grpc}},
	{name: "device/packettrace", below: []string{"saisim", "saisim/config", "saisim/drop", "saisim/tailstamp", "swss", "schema"}}, // packets, and names
	{name: "device/logs", clock: true}, // the form and the amount of the log
	{name: "hostif", below: []string{"cfgmgr/forward", "hoststack", "hoststack/cpuport", "hoststack/hostrows", "orch", "schema", "swss"}, modules: []string{netlink, xsync, xsys}}, // for daemons of Linux
	{name: "device/fault", modules: []string{goredis}, clock: true, // faults on purpose
		below: []string{"sai", "swss", "schema"}},
	{name: "device/sender", clock: true, // which outputs there are, and what they are told
		below: []string{"mgmt/outputs/otlp", "mgmt/outputs/syslog", "mgmt/outputs/dialout", "mgmt/outputs", "mgmt/metrics", "schema", "swss"}},
	{name: "mgmt/outputs/otlp", below: []string{"mgmt/metrics", "mgmt/outputs"}, modules: []string{grpc, otlp, protobuf}, clock: true},
	{name: "mgmt/outputs/syslog", below: []string{"mgmt/outputs"}, clock: true},
	{name: "mgmt/outputs/dialout", below: []string{"mgmt/outputs"}, modules: []string{gnmi, grpc, protobuf}, clock: true},
	{name: "mgmt/outputs", below: []string{"internal/grace"}, clock: true},                                       // spools, and tries that become rarer
	{name: "mgmt/restconf", below: []string{"mgmt", "yang"}, modules: []string{gnmi, goyang, grpc}, clock: true}, // RFC 8040 on the same engine
	{name: "mgmt", below: []string{"mgmt/access", "mgmt/configfile", "mgmt/conform", "yang", "swss", "schema", "tam/altmark", "tam/flymon", "tam/record"}, modules: []string{gnmi, goredis, goyang, grpc, protobuf, ygot, xcrypto}, clock: true},
	{name: "collectord/page", below: []string{"collector", "collector/topology", "collectord/alarm", "collectord/event", "collectord/result"}, clock: true}, // what a browser shows
	// the fleet's collector inside one process
	{name: "collectord/local", below: []string{"collector/stream", "collectord/event", "collectord/ingest", "collectord/join", "collectord/result"}, clock: true},
	// a fleet that is made up, to measure a collector
	{name: "collectord/fleet", below: []string{"collector/stream", "collectord/join", "collectord/event", "collectord/result"}, clock: true},
	{name: "collectord/ingest", below: []string{"collector", "collector/capture", "collector/dial", "collector/stream", "collectord/event", "internal/grace", "saisim/drop", "saisim/tailstamp", "tam/altmark", "tam/dropreport", "tam/ipfix", "tam/sflow"}, clock: true}, // what switches send, into the log
	{name: "collectord/join", below: []string{"collector", "collector/dial", "collector/stream", "collector/topology", "collectord/event", "collectord/result", "tam/altmark", "collector/journey", "tam/record"}, clock: true},                                           // rows of what sources say
	{name: "mgmt/access", below: []string{"schema"}, modules: []string{xcrypto}},                                                                                         // users and roles as files
	{name: "mgmt/configfile", below: []string{"swss", "schema"}, modules: []string{goredis}},                                                                             // CONFIG_DB as files
	{name: "mgmt/metrics", below: []string{"swss", "schema"}, modules: []string{prometheus}, clock: true},                                                                // for Prometheus
	{name: "yang", modules: []string{gnmi, goyang, protobuf, ygot}},                                                                                                      // generated types stop at mgmt
	{name: "collectord/event", below: []string{"collector", "collector/dial", "collector/journey", "collector/stream", "saisim/tailstamp", "tam/altmark", "tam/record"}}, // what sources tell, as batches
	{name: "collectord/alarm", below: []string{"collector", "collector/dial", "collectord/result", "tam/altmark"}},                                                       // which alarms rows are
	{name: "collectord/parquet", below: []string{"collectord/result"}, modules: []string{parquetgo}, clock: true},                                                        // results as files
	{name: "collectord/jetstream", below: []string{"collector/stream"}, modules: []string{natsServer, natsClient}, clock: true},                                          // the log in NATS
	{name: "collectord/result"}, // what the collector says, as rows; what a store is
	{name: "collector/stream"},  // the log under the collector
	{name: "collector/dial", below: []string{"collector", "collector/topology", "collector/whole", "tam/altmark"}, modules: []string{gnmi, grpc, protobuf, yaml}, clock: true}, // reads switches by gNMI
	{name: "collector/export", below: []string{"collector", "saisim/drop", "saisim/tailstamp", "tam/altmark", "tam/ipfix"}},                                                    // IPFIX to other collectors
	{name: "collector", below: []string{"collector/journey", "tam/erspan", "tam/recordplan", "tam/sflow", "tam/dropreport", "tam/ifa", "tam/record", "collector/capture", "saisim/tailstamp", "tam/altmark"}, modules: []string{ddsketch, gopacket}},
	{name: "collector/topology", below: []string{"collector/journey", "collector/whole"}, modules: []string{yaml}}, // switches, hosts, links; from files and by LLDP
	{name: "collector/whole", modules: []string{yaml}},                          // numbers of files that must be whole
	{name: "collector/journey", below: []string{"saisim/tailstamp", "tam/ifa"}}, // one packet's way through several switches

	{name: "hoststack/hostd", below: []string{"hoststack/hostrows", "hoststack/lacpd", "hoststack/lldpd", "cfgmgr/forward", "hoststack/cpuport", "hoststack", "orch", "schema", "swss"}},
	{name: "hoststack/reports", below: []string{"cfgmgr/forward", "hoststack/cpuport", "orch", "schema", "swss"}},            // what the host sends for the chip
	{name: "hoststack/sflow", below: []string{"cfgmgr/forward", "hoststack/cpuport", "orch", "schema", "swss", "tam/sflow"}}, // the sFlow agent
	{name: "hoststack/hostrows", below: []string{"cfgmgr/forward", "hoststack", "orch", "schema", "swss"}}, // for hostd and hostifd alike
	{name: "hoststack/lacpd", below: []string{"cfgmgr/forward", "hoststack/cpuport", "hoststack", "orch", "schema", "swss"}}, // for hostd, and beside hostifd
	{name: "hoststack/lldpd", below: []string{"cfgmgr/forward", "hoststack/cpuport", "hoststack", "orch", "schema", "swss"}}, // likewise
	{name: "tammgr", below: []string{"cfgmgr/forward", "orch", "schema", "swss", "tam/altmark", "tam/flymon", "tam/record"}},
	{name: "cfgmgr/qos", below: []string{"cfgmgr/forward", "orch", "schema", "swss"}},
	{name: "cfgmgr/ports", below: []string{"cfgmgr/forward", "orch", "schema", "swss"}},
	{name: "cfgmgr/sflow", below: []string{"cfgmgr/forward", "orch", "schema", "swss"}},
	{name: "cfgmgr/debugcounter", below: []string{"cfgmgr/forward", "orch", "schema", "swss"}},
	{name: "cfgmgr/routes", below: []string{"cfgmgr/forward", "orch", "schema", "swss"}},
	{name: "cfgmgr/forward", below: []string{"orch", "schema", "swss"}, modules: []string{goredis}}, // what all managers share
	{name: "orchagent/ports", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "orchagent/routes", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "orchagent/fdb", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "orchagent/qos", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "orchagent/mirror", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "orchagent/copp", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "orchagent/acl", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "orchagent/ifa", below: []string{"orch", "orchagent/dropmonitor", "sai", "schema", "swss", "tamorch", "tam/ifa"}},
	{name: "orchagent/dropmonitor", below: []string{"orch", "sai", "schema", "swss", "tamorch", "tam/dropreport"}},
	{name: "orchagent/*", below: []string{"orch", "sai", "schema", "swss", "tamorch"}}, // orchs of further TAM features
	{name: "tsorch", below: []string{"orch", "sai", "saisim/tailstamp", "schema", "swss", "tamorch"}},
	{name: "amorch", below: []string{"orch", "sai", "schema", "swss", "tam/altmark", "tamorch"}},
	{name: "flymonorch", below: []string{"flymonorch/answer", "flymonorch/plan", "orch", "sai", "schema", "swss", "tam/altmark", "tam/flymon", "tamorch"}},
	{name: "recordorch", below: []string{"tam/recordplan", "orch", "sai", "schema", "swss", "tam/record", "tamorch"}},
	{name: "tamorch", below: []string{"orch", "sai", "schema", "swss"}},      // what the orchs of TAM features share
	{name: "flymonorch/answer", below: []string{"tam/sketch", "tam/flymon"}}, // what a task's registers say
	{name: "flymonorch/plan", below: []string{"tam/flymon"}},                 // from a task to its layout on a chip

	{name: "sairedis", below: []string{"sai", "swss"}, modules: []string{goredis}, clock: true},
	{name: "saisim/reference", // another chip, by its rows: it shares no code with the packet path
		below: []string{"saisim", "saisim/config", "saisim/describe", "saisim/drop", "saisim/tm", "saisim/profile", "saisim/tailstamp", "saisim/pipe", "tam/altmark", "tam/dropreport", "tam/flymon", "tam/ifa", "tam/ipfix", "tam/record"}},
	{name: "saisim", below: []string{"saisim/objects", "saisim/engine", "saisim/drop", "saisim/config", "saisim/profile", "saisim/tailstamp", "saisim/pipe", "sai", "tam/altmark", "tam/dropreport", "tam/flymon", "tam/ifa", "tam/record"}}, // knows SAI and packets, nothing of Redis
	{name: "saisim/objects", // SAI objects to rows; of the packet path it asks only
		below: []string{"saisim/engine", "saisim/config", "saisim/drop", "saisim/cmu", "saisim/tm", "saisim/profile", "saisim/tailstamp", "saisim/pipe", "sai", "tam/altmark", "tam/dropreport", "tam/erspan", "tam/flymon", "tam/ifa", "tam/record"}},
	{name: "saisim/engine", // the packet path: it never sees SAI
		below: []string{"saisim/replica", "saisim/config", "saisim/describe", "saisim/drop", "saisim/cmu", "saisim/tm", "saisim/profile", "saisim/tailstamp", "saisim/pipe", "tam/altmark", "tam/dropreport", "tam/erspan", "tam/flymon", "tam/ifa", "tam/ipfix", "tam/record"}},
	{name: "saisim/describe", below: []string{"saisim/config", "saisim/drop", "saisim/profile", "saisim/pipe", "tam/record"}}, // the graph of the pipes
	{name: "orch", below: []string{"swss", "schema", "sai"}, clock: true},
	{name: "swss", modules: []string{goredis, miniredis}, clock: true},

	{name: "hoststack/cpuport"}, // frames and names; nothing of a chip
	{name: "hoststack"},         // frames and time; nothing of a chip or a database
	{name: "sai"},
	{name: "internal/tables", below: []string{"mgmt/conform", "saisim/drop", "schema"}}, // the table of tables as a page
	{name: "mgmt/conform"}, // what clients may expect: words
	{name: "schema", below: []string{"tam/altmark", "tam/erspan", "tam/flymon", "tam/record"}},
	{name: "saisim/config", below: []string{"saisim/tm", "tam/altmark", "tam/flymon", "tam/record"}}, // rows, and no SAI
	{name: "saisim/drop"},    // why frames are dropped
	{name: "saisim/replica"}, // memory, copied
	{name: "saisim/profile", below: []string{"saisim/pipe", "tam/flymon"}},
	{name: "tam/recordplan/check", below: []string{"tam/record"}},                         // by itself: it shares no code with the planner
	{name: "tam/recordplan", below: []string{"tam/record"}, modules: []string{gophersat}}, // the planner: graphs, entropy, what a plan must keep
	{name: "tam/altmark"},
	{name: "tam/dropreport", below: []string{"tam/ipfix"}}, // what stands in reports of drops
	{name: "tam/ipfix"}, // the protocol, without sockets
	{name: "tam/sflow"}, // likewise
	{name: "tam/sketch", below: []string{"tam/flymon"}}, // estimators
	{name: "saisim/cmu", below: []string{"tam/flymon"}}, // CMU groups, and nothing else of a chip
	{name: "tam/flymon"},
	{name: "tam/erspan"}, // headers of mirrored frames
	{name: "tam/record"},
	{name: "tam/ifa"}, // Inband Flow Analyzer, on the wire
	{name: "saisim/tailstamp"},
	{name: "saisim/tm"},
	{name: "saisim/pipe"},
	{name: "collector/capture", modules: []string{gopacket, xsys}},
	{name: "internal/openconfig", modules: []string{goyang}}, // ours beside OpenConfig's modules
	{name: "internal/steady"},                                // what ygot generates, the same each time
	{name: "internal/clab", modules: []string{yaml}},         // containerlab, where there is none
	{name: "internal/netns", modules: []string{xsys}},        // hosts with wires
	{name: "internal/grace", clock: true},                    // what is finished, when a context has ended
	{name: "internal", clock: true},
}

// testKits are packages that only tests, and each other, may import. They may import any module.
var testKits = []string{
	"tamtamtest", "collector/stream/streamtest", "collectord/page/pagetest", "internal/randtest", "saisim/pipe/pipetest", "cfgmgr/forward/forwardtest", "orch/orchtest",
	"tamorch/tamorchtest", "sai/saitest", "sairedis/sairedistest", "swss/swsstest", "internal/netns/netnstest", "internal/disktest",
}
