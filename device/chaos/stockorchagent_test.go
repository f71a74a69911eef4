package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/hft"
	"tamtam/tamtamtest"
)

// orchagentVariable names a program that is SONiC's orchagent. It is started with HOST:PORT of a Redis as first
// argument, then the options of orchagent, and runs in the foreground. It has SONiC's scripts in /usr/share/swss.
const orchagentVariable = "SONIC_ORCHAGENT"

// recordVariable names a file for the requests and answers of the run of TestStockOrchagentRecording.
const recordVariable = "TAMTAM_EXCHANGES"

// stockMAC is the switch's address.
const stockMAC = "02:00:00:00:07:e4"

// A foreignSwitch is tamtam's syncd and chip below SONiC's orchagent.
type foreignSwitch struct {
	*liveSwitch
	options []string // of orchagent
	process *exec.Cmd
	exited  chan struct{} // closed when the process has ended
	dir     string
	lines   chipLines
	syncd   func(*swss.Redis) (stop func()) // starts syncd with a new chip

	managers  map[string]*stockManager
	unmanaged bool // true if the test writes what managers would
}

// chipLines are the wires of the chip: frames to send, and the frames that it has sent.
type chipLines struct {
	mu     sync.Mutex
	toSend []lineFrame
	last   uint64            // the number of the last frame
	sent   map[uint64]string // the addresses to which each frame has left
	cut    map[string]bool   // the ports without a link
	rounds int               // how often the chip was advanced
}

type lineFrame struct {
	port string
	data []byte
	id   uint64
}

// drive advances the chip with the wall clock.
func (l *chipLines) drive(ctx context.Context, chip *saisim.Chip, start time.Time) error {
	chip.SetOutput(func(o *saisim.Out) {
		if o.Port == saisim.CPUPort || o.ID == 0 || len(o.Data) < 6 {
			return
		}
		l.mu.Lock()
		l.sent[o.ID] += fmt.Sprintf("to %s ", net.HardwareAddr(o.Data[:6]))
		l.mu.Unlock()
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := chip.CycleAt(time.Since(start))
		chip.Advance(now)
		l.mu.Lock()
		frames, cut := l.toSend, maps.Clone(l.cut)
		l.toSend = nil
		l.rounds++
		l.mu.Unlock()
		for port, is := range cut {
			if id, ok := chip.PortByName(port); ok {
				chip.SetLink(id, !is)
			}
		}
		for i, f := range frames {
			if in, ok := chip.PortByName(f.port); ok {
				_ = chip.Receive(in, now+saisim.Cycle(2000*i), saisim.Frame{Data: f.data, ID: f.id})
			}
		}
	}
}

func startForeign(t *testing.T, chip daemons.ChipConfig, common daemons.Common, options ...string) *foreignSwitch {
	t.Helper()
	s := newForeign(t, chip, common, options...)
	s.stops["syncd"] = s.syncd(s.server.Open())
	s.metadata()
	s.start()
	return s
}

// newForeign returns a switch whose syncd and orchagent are not started yet.
func newForeign(t *testing.T, chip daemons.ChipConfig, common daemons.Common, options ...string) *foreignSwitch {
	t.Helper()
	if os.Getenv(orchagentVariable) == "" {
		t.Skip(orchagentVariable + " names no program that is SONiC's orchagent")
	}
	server := swsstest.StartServer(t)
	s := &foreignSwitch{liveSwitch: &liveSwitch{T: t, server: server, redis: server.Open(), stops: map[string]func(){}},
		dir: t.ArtifactDir(), options: options, managers: map[string]*stockManager{},
		lines: chipLines{sent: map[uint64]string{}, cut: map[string]bool{}}}
	chip.Profile, chip.Drive, chip.Devices = profile.Default(), s.lines.drive, noKernel{}
	common.Backend = func(chip sai.API) sai.API {
		s.liveSwitch.chip.Store(chip.(*saisim.Chip))
		return chip
	}
	s.syncd = func(r *swss.Redis) func() {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- daemons.RunSyncd(ctx, r, chip, common) }()
		return sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		s.killManagers()
		s.kill()
		if stop := s.stops["syncd"]; stop != nil {
			stop()
		}
	})
	return s
}

// metadata writes the rows of CONFIG_DB that do not change.
func (s *foreignSwitch) metadata() {
	s.Helper()
	s.config("DEVICE_METADATA|localhost", "hostname", "sonic", "mac", stockMAC, "hwsku", "tamtam", "platform", "saisim",
		"type", "ToRRouter")
	for _, group := range []string{"PORT", "QUEUE", "RIF", "ACL", "PG_DROP", "QUEUE_WATERMARK", "PG_WATERMARK"} {
		s.config("FLEX_COUNTER_TABLE|"+group, "FLEX_COUNTER_STATUS", "enable")
	}
	s.config("BUFFER_PG|Ethernet8|0", "profile", "ingress_lossy_profile")
	s.config("BUFFER_QUEUE|Ethernet8|0-2", "profile", "egress_lossy_profile")
}

// config writes a row of CONFIG_DB.
func (s *foreignSwitch) config(key string, fields ...any) {
	s.Helper()
	devicetest.NoError(s.T, s.redis.DB(swss.ConfigDB).Client().HSet(s.Context(), key, fields...).Err())
}

// appl writes rows of APPL_DB as SONiC's swssconfig does: alternating key and fields, which are separated by spaces.
func (s *foreignSwitch) appl(table string, rows ...string) {
	s.Helper()
	var list []swss.Row
	for i := 0; i < len(rows); i += 2 {
		r := swss.Row{Key: rows[i]}
		for word := range strings.FieldsSeq(rows[i+1]) {
			field, value, _ := strings.Cut(word, "=")
			r.Fields = append(r.Fields, swss.Pair{Field: field, Value: value})
		}
		list = append(list, r)
	}
	devicetest.NoError(s.T, swss.NewProducerState(s.redis.DB(swss.ApplDB), table).SetMany(s.Context(), list))
}

func (s *foreignSwitch) start() {
	s.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "orchagent.out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	devicetest.NoError(s.T, err)
	defer log.Close()
	args := append([]string{s.server.Addr, "-d", s.dir, "-b", "8192", "-m", stockMAC}, s.options...)
	s.process, s.exited = exec.Command(os.Getenv(orchagentVariable), args...), make(chan struct{})
	s.process.Env = append(os.Environ(), "platform=saisim")
	s.process.Stdout, s.process.Stderr = log, log
	devicetest.NoError(s.T, s.process.Start())
	go func(p *exec.Cmd, exited chan struct{}) {
		_ = p.Wait() // alive reports an end that is too early
		close(exited)
	}(s.process, s.exited)
}

func (s *foreignSwitch) kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.exited
	}
}

// alive fails the test if orchagent or a manager has ended.
func (s *foreignSwitch) alive() {
	s.Helper()
	s.managersLive()
	select {
	case <-s.exited:
		log, _ := os.ReadFile(filepath.Join(s.dir, "orchagent.out"))
		s.Fatalf("orchagent has ended:\n%s", log[max(0, len(log)-2000):])
	default:
	}
}

// eventually waits until ok, while orchagent lives.
func (s *foreignSwitch) eventually(what string, ok func() bool) {
	s.Helper()
	s.within(stockPatience, what, func() bool { s.alive(); return ok() })
	s.Log(what)
}

// asicKeys returns the keys of ASIC_STATE with a prefix.
func (s *foreignSwitch) asicKeys(of string) []string {
	keys, err := s.redis.DB(swss.ASICDB).Client().Keys(s.Context(), protocol.ASICState+":SAI_OBJECT_TYPE_"+of).Result()
	devicetest.NoError(s.T, err)
	slices.Sort(keys)
	return keys
}

// configured brings up 32 ports with a VLAN, router interfaces, neighbours, and n+100 routes.
func (s *foreignSwitch) configured(n int) {
	s.Helper()
	s.eventually("the switch exists", func() bool { return len(s.asicKeys("SWITCH:*")) == 1 })
	var ports []string
	for i := range 32 {
		ports = append(ports, fmt.Sprint("Ethernet", 4*i), fmt.Sprintf(
			"alias=etp%d index=%d lanes=%d,%d,%d,%d speed=100000 mtu=9100 admin_status=up", i+1, i+1, 4*i, 4*i+1, 4*i+2, 4*i+3))
	}
	s.appl("PORT_TABLE", ports...)
	s.appl("PORT_TABLE", "PortConfigDone", "count=32")
	s.eventually("32 host interfaces", func() bool { return len(s.asicKeys("HOSTIF:*")) >= 32 })
	s.appl("PORT_TABLE", "PortInitDone", "lanes=0")
	s.appl("BUFFER_POOL_TABLE", "ingress_lossless_pool", "size=12766208 type=ingress mode=dynamic",
		"egress_lossy_pool", "size=7326924 type=egress mode=dynamic")
	s.appl("BUFFER_PROFILE_TABLE", "egress_lossy_profile", "pool=egress_lossy_pool size=1518 dynamic_th=3",
		"ingress_lossy_profile", "pool=ingress_lossless_pool size=0 dynamic_th=3")
	s.appl("BUFFER_QUEUE_TABLE", "Ethernet8:0-2", "profile=egress_lossy_profile")
	s.appl("BUFFER_PG_TABLE", "Ethernet8:0", "profile=ingress_lossy_profile")
	s.appl("COPP_TABLE", "queue4_group1", "queue=4 trap_action=trap trap_priority=4 trap_ids=bgp,bgpv6,lacp",
		"queue1_group1", "queue=1 meter_type=packets mode=sr_tcm cir=6000 cbs=6000 red_action=drop trap_action=trap "+
			"trap_priority=1 trap_ids=ip2me")
	s.appl("VLAN_TABLE", "Vlan10", "admin_status=up mtu=9100 host_ifname=")
	s.appl("VLAN_MEMBER_TABLE", "Vlan10:Ethernet0", "tagging_mode=untagged", "Vlan10:Ethernet4", "tagging_mode=untagged")
	for name, ip := range map[string]string{
		"Ethernet8": "10.8.0.1/24", "Ethernet12": "10.12.0.1/24", "Vlan10": "10.10.0.1/24",
	} {
		s.appl("INTF_TABLE", name, "NULL=NULL mac_addr=00:00:00:00:00:00")
		s.appl("INTF_TABLE", name+":"+ip, "scope=global family=IPv4")
	}
	s.appl("NEIGH_TABLE", "Ethernet8:10.8.0.2", "neigh=02:00:00:00:08:02 family=IPv4",
		"Ethernet12:10.12.0.2", "neigh=02:00:00:00:12:02 family=IPv4")
	s.appl("ROUTE_TABLE", "192.0.2.0/24", "nexthop=10.12.0.2 ifname=Ethernet12")
	for _, block := range []struct{ first, count int }{{20, 100}, {30, n}} {
		var rows []string
		for i := range block.count {
			rows = append(rows, fmt.Sprintf("%d.%d.%d.0/24", block.first, i>>8, i&255), "nexthop=10.12.0.2 ifname=Ethernet12")
		}
		s.appl("ROUTE_TABLE", rows...)
	}
	s.eventually(fmt.Sprint(n+100, " routes"), func() bool { return len(s.asicKeys("ROUTE_ENTRY:*")) >= n+100 })
}

// foreignFrame returns a frame from the host of Ethernet8, or of Ethernet0 if it is bridged.
func foreignFrame(dst string, tos uint8, bridged bool) []byte {
	mac := func(text string) net.HardwareAddr { m, _ := net.ParseMAC(text); return m }
	eth := &layers.Ethernet{SrcMAC: mac("02:00:00:00:08:02"), DstMAC: mac(stockMAC), EthernetType: layers.EthernetTypeIPv4}
	src := net.IP{10, 8, 0, 2}
	if bridged {
		eth.SrcMAC, eth.DstMAC, src = mac("02:00:00:00:10:02"), mac("02:00:00:00:10:03"), net.IP{10, 10, 0, 2}
	}
	ip := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, TOS: tos, Protocol: layers.IPProtocolUDP, SrcIP: src,
		DstIP: net.ParseIP(dst).To4()}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	_ = udp.SetNetworkLayerForChecksum(ip)
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, eth, ip, udp, gopacket.Payload(make([]byte, 40))); err != nil {
		panic(err) // all inputs are constants
	}
	return buf.Bytes()
}

// passes sends five frames and checks that each leaves towards a host.
func (s *foreignSwitch) passes(what, port string, frame []byte, to string) {
	s.Helper()
	first := s.send(port, frame, 5)
	s.eventually(what, func() bool { return s.arrived(first, 5, to) == 5 })
}

// send gives frames to the chip, and returns the number of the first.
func (s *foreignSwitch) send(port string, frame []byte, n int) (first uint64) {
	l := &s.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.last + 1
	l.last += uint64(n)
	for i := range n {
		id := first + uint64(i)
		l.sent[id] = ""
		l.toSend = append(l.toSend, lineFrame{port, frame, id})
	}
	return first
}

// arrived returns how many of n frames have left towards an address.
func (s *foreignSwitch) arrived(first uint64, n int, to string) (count int) {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	for id := first; id < first+uint64(n); id++ {
		if strings.Contains(s.lines.sent[id], "to "+to) {
			count++
		}
	}
	return count
}

// counts waits until a counter of an object in a map of names is at least n.
func (s *foreignSwitch) counts(names, name, stat string, n int) {
	s.Helper()
	db := s.redis.DB(swss.CountersDB).Client()
	s.eventually(stat+" of "+name, func() bool {
		oid := db.HGet(s.Context(), names, name).Val()
		v, err := strconv.Atoi(db.HGet(s.Context(), "COUNTERS:"+oid, stat).Val())
		return err == nil && v >= n
	})
}

// realIDs returns the real ids of all objects that have a type of their own in the mapping, sorted.
func (s *foreignSwitch) realIDs() []string {
	s.Helper()
	ids, err := s.redis.DB(swss.ASICDB).Client().HVals(s.Context(), protocol.KeyVIDToRID).Result()
	devicetest.NoError(s.T, err)
	slices.Sort(ids)
	return ids
}

const (
	host12 = "02:00:00:00:12:02" // behind Ethernet12
	host10 = "02:00:00:00:10:03" // in Vlan10
)

// SONiC's orchagent on tamtam's syncd and chip: it boots with SONiC's usual buffer rows, and makes ports, VLANs, router
// interfaces, neighbours and 10,000 routes; frames pass; SONiC's QoS rows are in force; counters and the rows of the
// groups' plug-ins arrive; a warm restart of orchagent loses no frame and changes no object.
func TestStockOrchagent(t *testing.T) {
	s := startForeign(t, daemons.ChipConfig{}, daemons.Common{}, "-s")
	s.configured(10_000)
	s.passes("a routed frame", "Ethernet8", foreignFrame("192.0.2.1", 0, false), host12)
	s.passes("a frame by the last of 10,000 routes", "Ethernet8", foreignFrame("30.39.15.1", 0, false), host12)
	s.passes("a bridged frame", "Ethernet0", foreignFrame("10.10.0.3", 0, true), host10)

	s.config("DSCP_TO_TC_MAP|AZURE", "0", "1", "8", "0", "46", "5")
	s.config("TC_TO_QUEUE_MAP|AZURE", "0", "0", "1", "1", "5", "5")
	s.config("TC_TO_PRIORITY_GROUP_MAP|AZURE", "0", "0", "3", "3")
	s.config("MAP_PFC_PRIORITY_TO_QUEUE|AZURE", "3", "3", "4", "4")
	s.config("SCHEDULER|scheduler.0", "type", "DWRR", "weight", "14")
	s.config("WRED_PROFILE|AZURE_LOSSLESS", "wred_green_enable", "true", "green_min_threshold", "250000",
		"green_max_threshold", "2097152", "green_drop_probability", "5", "ecn", "ecn_all", "wred_yellow_enable", "true",
		"yellow_min_threshold", "250000", "yellow_max_threshold", "2097152", "yellow_drop_probability", "5",
		"wred_red_enable", "true", "red_min_threshold", "250000", "red_max_threshold", "2097152", "red_drop_probability", "5")
	s.config("QUEUE|Ethernet8|0", "scheduler", "scheduler.0")
	s.config("QUEUE|Ethernet8|3", "scheduler", "scheduler.0", "wred_profile", "AZURE_LOSSLESS")
	s.config("PORT_QOS_MAP|Ethernet8", "dscp_to_tc_map", "AZURE", "tc_to_queue_map", "AZURE", "tc_to_pg_map", "AZURE",
		"pfc_to_queue_map", "AZURE", "pfc_enable", "3,4")
	s.eventually("the port's map", func() bool { return len(s.asicKeys("QOS_MAP:*")) >= 2 })
	s.eventually("DSCP 46 leaves by queue 5", func() bool {
		s.send("Ethernet8", foreignFrame("192.0.2.1", 46<<2, false), 5)
		db := s.redis.DB(swss.CountersDB).Client()
		oid := db.HGet(s.Context(), schema.CountersQueueNameMap, "Ethernet12:5").Val()
		n, err := strconv.Atoi(db.HGet(s.Context(), "COUNTERS:"+oid, "SAI_QUEUE_STAT_PACKETS").Val())
		return err == nil && n >= 5
	})
	s.counts(schema.CountersPortNameMap, "Ethernet8", "SAI_PORT_STAT_IF_IN_UCAST_PKTS", 10)
	s.counts("COUNTERS_RIF_NAME_MAP", "Ethernet8", "SAI_ROUTER_INTERFACE_STAT_IN_PACKETS", 10)
	counters := s.redis.DB(swss.CountersDB).Client()
	smooth := []any{"PORT_SMOOTH_INTERVAL", "10", "PORT_ALPHA", "0.18"}
	devicetest.NoError(t, counters.HSet(t.Context(), "RATES:PORT", smooth...).Err())
	s.eventually("rates of each port", func() bool { return len(counters.Keys(t.Context(), "RATES:oid*").Val()) >= 32 })

	objects, ids := s.asicKeys("*"), s.realIDs()
	state := s.redis.DB(swss.StateDB).Client()
	devicetest.NoError(t, state.HSet(t.Context(), "WARM_RESTART_ENABLE_TABLE|swss", "enable", "true").Err())
	s.kill()
	var sent []uint64
	stream := func() { sent = append(sent, s.send("Ethernet8", foreignFrame("192.0.2.1", 0, false), 1)) }
	s.start()
	s.eventually("the warm restart is complete", func() bool {
		stream()
		return state.HGet(t.Context(), "WARM_RESTART_TABLE|orchagent", "state").Val() == "reconciled"
	})
	lost := 0
	s.eventually("the frames during the restart", func() bool {
		lost = 0
		for _, id := range sent {
			lost += 1 - s.arrived(id, 1, host12)
		}
		return lost == 0
	})
	if now := s.asicKeys("*"); len(now) != len(objects) {
		t.Errorf("%d objects after the warm restart, %d before", len(now), len(objects))
	}
	if !slices.Equal(s.realIDs(), ids) {
		t.Error("objects of the chip were made again")
	}
	s.alive()
}

// SONiC's orchagent in each of its modes.
func TestStockOrchagentModes(t *testing.T) {
	for _, mode := range []string{"redis_sync", "redis_async", "zmq_sync"} {
		t.Run(mode, func(t *testing.T) {
			zmq, async, err := daemons.ParseClientMode(mode)
			devicetest.NoError(t, err)
			s := startForeign(t, daemons.ChipConfig{ZMQ: zmq}, daemons.Common{Async: async}, "-z", mode)
			s.configured(1000)
			s.passes("a routed frame", "Ethernet8", foreignFrame("192.0.2.1", 0, false), host12)
		})
	}
}

// A run for the recordings of [device]'s tests: boot, configuration, warm restart. TAMTAM_EXCHANGES names the file.
func TestStockOrchagentRecording(t *testing.T) {
	path := os.Getenv(recordVariable)
	if path == "" {
		t.Skip(recordVariable + " names no file for the recording")
	}
	f, err := os.Create(path)
	devicetest.NoError(t, err)
	defer f.Close()
	s := startForeign(t, daemons.ChipConfig{Record: io.Writer(f)}, daemons.Common{}, "-s")
	s.configured(20)
	s.streams("Ethernet0,Ethernet8")
	s.streams("Ethernet0")
	for _, row := range []string{"HIGH_FREQUENCY_TELEMETRY_GROUP|p|PORT", "HIGH_FREQUENCY_TELEMETRY_PROFILE|p"} {
		devicetest.NoError(t, s.redis.DB(swss.ConfigDB).Client().Del(t.Context(), row).Err())
	}
	s.eventually("the stream ends", func() bool { return len(s.asicKeys("SAI_OBJECT_TYPE_TAM_TEL_TYPE")) == 0 })
	state := s.redis.DB(swss.StateDB).Client()
	devicetest.NoError(t, state.HSet(t.Context(), "WARM_RESTART_ENABLE_TABLE|swss", "enable", "true").Err())
	s.kill()
	s.start()
	s.eventually("the warm restart is complete", func() bool {
		return state.HGet(t.Context(), "WARM_RESTART_TABLE|orchagent", "state").Val() == "reconciled"
	})
	s.kill() // before anything else is asked
}

// streams makes the ASIC stream bytes of ports every 10 ms, and returns the session once it has these objects.
func (s *foreignSwitch) streams(objects string) (session schema.HFTSession) {
	s.Helper()
	s.config("HIGH_FREQUENCY_TELEMETRY_PROFILE|p", "stream_state", "enabled", "poll_interval", "10000")
	s.config("HIGH_FREQUENCY_TELEMETRY_GROUP|p|PORT", "object_names", objects,
		"object_counters", "IF_IN_OCTETS,IF_OUT_OCTETS")
	s.eventually("the stream of "+objects, func() bool {
		row, _, err := swss.NewTable(s.redis.DB(swss.StateDB), schema.StateHFTSession).Get(s.Context(), "p|PORT")
		if err != nil || len(row) == 0 {
			return false
		}
		session, err = schema.ParseHFTSession("p|PORT", row)
		devicetest.NoError(s.T, err)
		return session.Enabled && len(session.Objects) == len(strings.Split(objects, ","))
	})
	return session
}

// labelled returns the labels of a session by object.
func labelled(s schema.HFTSession) map[string]uint16 {
	labels := map[string]uint16{}
	for i, name := range s.Objects {
		labels[name] = s.Labels[i]
	}
	return labels
}

// SONiC's orchagent starts the same stream as ours from the same rows: templates and labels are equal. Every gap of it
// is the interval, and a packet is in it.
func TestStockOrchagentStreams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hft.sock")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	devicetest.NoError(t, err)
	defer conn.Close()
	to, err := daemons.ParseStreamReader("unix:" + path)
	devicetest.NoError(t, err)
	s := startForeign(t, daemons.ChipConfig{Streams: []daemons.StreamReader{to}}, daemons.Common{}, "-s")
	s.configured(1)
	session := s.streams("Ethernet0,Ethernet8")

	own := tamtamtest.StartOn(t, profile.Default(), `{
		"PORT": {"Ethernet0": {"lanes": "0", "speed": "25000"}, "Ethernet8": {"lanes": "8", "speed": "25000"}},
		"HIGH_FREQUENCY_TELEMETRY_PROFILE": {"p": {"stream_state": "enabled", "poll_interval": "10000"}},
		"HIGH_FREQUENCY_TELEMETRY_GROUP": {"p|PORT": {"object_names": "Ethernet0,Ethernet8",
			"object_counters": "IF_IN_OCTETS,IF_OUT_OCTETS"}}}`)
	ours, err := schema.ParseHFTSession("p|PORT", own.Row(swss.StateDB, schema.StateHFTSession+"|p|PORT"))
	devicetest.NoError(t, err)
	if !bytes.Equal(session.Templates, ours.Templates) || !maps.Equal(labelled(session), labelled(ours)) {
		t.Errorf("SONiC's session %+v, ours %+v", session, ours)
	}

	d, err := hft.NewDecoder(0, 10*time.Millisecond, func(e hft.Event) { t.Error(e.Text()) })
	devicetest.NoError(t, err)
	names := map[uint16]string{}
	for name, label := range labelled(session) {
		names[label] = name
	}
	devicetest.NoError(t, d.Session(session.Templates, names))
	s.send("Ethernet8", foreignFrame("192.0.2.1", 0, false), 1)
	buf, records, counted := make([]byte, 1<<16), 0, false
	for records < 50 || !counted {
		devicetest.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		n, err := conn.Read(buf)
		devicetest.NoError(t, err)
		devicetest.NoError(t, d.Messages(buf[:n], func(r *hft.Record) {
			records++
			for i, c := range r.Columns {
				counted = counted || c.Object == "Ethernet8" && c.ID == uint32(sai.PortStatIfInOctets&0xffffffff) && r.Values[i] > 0
			}
		}))
	}
}
