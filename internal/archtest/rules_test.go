package archtest

// room is a top-level folder, or a folder inside one that has rules of its own. A package belongs
// to the room whose name is the longest prefix of its path.
type room struct {
	name string
	// below lists the rooms it may import. Its own sub-packages need no mention.
	below []string
	// modules lists the modules outside the standard library that it may import.
	modules []string
	// clock says that it may ask the wall clock, sleep or set timers: what runs live and never in a
	// simulation.
	clock bool
}

const (
	cobra     = "github.com/spf13/cobra"
	gnmi      = "github.com/openconfig/gnmi"
	gophersat = "github.com/crillab/gophersat"
	gopacket  = "github.com/gopacket/gopacket"
	goredis   = "github.com/redis/go-redis/v9"
	goyang    = "github.com/openconfig/goyang"
	grpc      = "google.golang.org/grpc"
	miniredis = "github.com/alicebob/miniredis/v2"
	plot      = "gonum.org/v1/plot"
	protobuf  = "google.golang.org/protobuf"
	xcrypto   = "golang.org/x/crypto"
	xsync     = "golang.org/x/sync"
	xsys      = "golang.org/x/sys"
	xterm     = "golang.org/x/term"
	yaml      = "go.yaml.in/yaml/v3"
	ygot      = "github.com/openconfig/ygot"
)

// rules go from the top down: a room may import only rooms further down, never one beside it.
// What one orch needs of another is an interface that it declares itself and device passes in.
var rules = []room{
	{name: "cmd", modules: []string{cobra, xsys, xterm}, clock: true,
		below: []string{"cli", "device", "lab", "mgmt", "collector", "collector/dial", "capture", "altmark", "sairedis", "saisim", "saisim/pipe", "sai", "orch", "swss", "schema", "flymon", "recordplan", "recordplan/check", "record"}},
	{name: "cli", modules: []string{gnmi, grpc, protobuf, xterm}, clock: true}, // a gNMI client: it knows no database
	{name: "lab", modules: []string{yaml, plot}, below: []string{"device", "collector", "capture", "saisim", "saisim/pipe", "saisim/tailstamp", "sai", "schema", "swss", "altmark", "flymon", "sketch", "flymonorch/plan", "flymonorch/answer", "saisim/cmu", "recordplan", "recordplan/check", "record"}},
	{name: "device", modules: []string{xsync, xsys}, clock: true,
		below: []string{"mgmt", "capture", "collector", "tammgr", "portmgr", "routemgr", "qosmgr", "portsorch", "routeorch", "fdborch", "qosorch", "mirrororch", "copporch", "aclorch", "tsorch", "amorch", "recordorch", "recordplan", "record",
			"orch", "sairedis", "saisim", "saisim/pipe", "saisim/tailstamp", "saisim/cmu", "sai", "swss", "schema", "altmark", "flymon", "flymonorch", "flymonorch/plan"}},
	{name: "mgmt", below: []string{"yang", "swss", "schema", "altmark", "flymon", "record"}, modules: []string{gnmi, goredis, goyang, grpc, protobuf, ygot, xcrypto}, clock: true},
	{name: "yang", modules: []string{gnmi, goyang, protobuf, ygot}},                                                               // generated types stop at mgmt
	{name: "collector/dial", below: []string{"collector", "altmark"}, modules: []string{gnmi, grpc, protobuf, yaml}, clock: true}, // reads switches by gNMI
	{name: "collector", below: []string{"recordplan", "record", "capture", "saisim/tailstamp", "altmark"}, modules: []string{gopacket}},

	{name: "tammgr", below: []string{"forward", "orch", "schema", "swss", "altmark", "flymon", "record"}},
	{name: "qosmgr", below: []string{"forward", "orch", "schema", "swss"}},
	{name: "portmgr", below: []string{"forward", "orch", "schema", "swss"}},
	{name: "routemgr", below: []string{"forward", "orch", "schema", "swss"}},
	{name: "forward", below: []string{"orch", "schema", "swss"}, modules: []string{goredis}}, // what all managers share
	{name: "portsorch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "routeorch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "fdborch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "qosorch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "mirrororch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "copporch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "aclorch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "tsorch", below: []string{"orch", "sai", "schema", "swss"}},
	{name: "amorch", below: []string{"orch", "sai", "schema", "swss", "altmark"}},
	{name: "flymonorch", below: []string{"flymonorch/answer", "flymonorch/plan", "orch", "sai", "schema", "swss", "flymon"}},
	{name: "recordorch", below: []string{"recordplan", "orch", "sai", "schema", "swss", "record"}},
	{name: "flymonorch/answer", below: []string{"sketch", "flymon"}}, // what a task's registers say
	{name: "flymonorch/plan", below: []string{"flymon"}},             // from a task to its layout on a chip

	{name: "sairedis", below: []string{"sai", "swss"}, modules: []string{goredis}, clock: true},
	{name: "saisim", below: []string{"saisim/tailstamp", "saisim/pipe", "saisim/cmu", "sai", "altmark", "flymon", "record"}}, // knows SAI and packets, nothing of Redis
	{name: "orch", below: []string{"swss", "schema", "sai"}, clock: true},
	{name: "swss", modules: []string{goredis, miniredis}, clock: true},

	{name: "sai"},
	{name: "schema", below: []string{"altmark", "flymon", "record"}},
	{name: "recordplan/check", below: []string{"record"}},                         // by itself: it shares no code with the planner
	{name: "recordplan", below: []string{"record"}, modules: []string{gophersat}}, // the planner: graphs, entropy, what a plan must keep
	{name: "altmark"},
	{name: "sketch", below: []string{"flymon"}},     // estimators
	{name: "saisim/cmu", below: []string{"flymon"}}, // CMU groups, and nothing else of a chip
	{name: "flymon"},
	{name: "record"},
	{name: "saisim/tailstamp"},
	{name: "saisim/pipe"},
	{name: "capture", modules: []string{gopacket}},
	{name: "internal", clock: true},
}

// testKits are packages that only tests, and each other, may import. They may import any module.
var testKits = []string{"internal/randtest", "saisim/pipe/pipetest", "forward/forwardtest", "sai/saitest", "swss/swsstest"}
