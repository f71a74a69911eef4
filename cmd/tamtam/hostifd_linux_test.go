package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/host/netdev"
	"tamtam/internal/netns/netnstest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A hostifSwitch is a switch of several processes with host interfaces in the test's own network.
type hostifSwitch struct {
	*fleet
	t *testing.T
}

// hostifConfig returns a configuration with a host at Ethernet0, a host in a VLAN, and a loopback.
func hostifConfig() device.ConfigDB {
	empty := swss.FieldValues{"NULL": "NULL"}
	return device.ConfigDB{
		schema.CfgDeviceMetadata: {"localhost": {"mac": "02:00:00:00:00:01", "hostname": "leaf"}},
		schema.CfgPort: {
			"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up", "mtu": "1500"},
			"Ethernet4": {"lanes": "4", "speed": "10000", "admin_status": "up", "mtu": "1500"},
		},
		schema.CfgInterface:     {"Ethernet0": empty, "Ethernet0|10.0.0.1/24": empty, "Ethernet0|2001:db8::1/64": empty},
		schema.CfgVLAN:          {"Vlan20": {"vlanid": "20", "mtu": "1400"}},
		schema.CfgVLANMember:    {"Vlan20|Ethernet4": {"tagging_mode": "untagged"}},
		schema.CfgVLANInterface: {"Vlan20": empty, "Vlan20|10.0.1.1/24": empty, "Vlan20|2001:db8:1::1/64": empty},
		schema.CfgLoopbackInterface: {
			"Loopback0": empty, "Loopback0|10.255.0.1/32": empty, "Loopback0|2001:db8:ff::1/128": empty,
		},
		schema.CfgCOPPTrap: {"lldp": {"always_enabled": "true"}},
	}
}

// startHostif starts the daemons of a switch with hostifd, wired to eth1 and eth2.
func startHostif(t *testing.T, config device.ConfigDB) *hostifSwitch {
	t.Helper()
	for path, value := range map[string]string{
		"ipv4/conf/all/arp_ignore": "2", "ipv4/conf/all/arp_announce": "1", "ipv4/ip_forward": "1",
		"ipv6/conf/all/forwarding":    "1",
		"ipv6/conf/eth1/disable_ipv6": "1", "ipv6/conf/eth2/disable_ipv6": "1",
	} {
		if err := os.WriteFile("/proc/sys/net/"+path, []byte(value), 0); err != nil {
			t.Skip(err)
		}
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skip(err)
	}
	server := swsstest.StartServer(t)
	s := &hostifSwitch{&fleet{redis: server.Open(), addr: server.Addr, daemons: map[string]*process{}}, t}
	if err := config.Load(t.Context(), s.redis); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "hostif") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "cpu.sock")
	for _, args := range [][]string{
		{"syncd", "--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2", "--cpu-port", socket}, {"orchagent"}, {"tammgrd"},
		{"hostifd", "--cpu-port", socket},
	} {
		s.daemons[args[0]] = startProcess(t, slices.Concat([]string{"run"}, args, []string{"--redis", server.Addr})...)
	}
	s.ready("hostifd", "")
	return s
}

// ready waits until a daemon is ready in another process than before, and returns its owner.
func (s *hostifSwitch) ready(name, before string) (owner string) {
	s.t.Helper()
	s.wait(s.t, schema.StateHealth, name, func(row swss.FieldValues) bool {
		owner = row["owner"]
		return row["state"] == daemons.StateReady && owner != before
	})
	return owner
}

// A watch records what "ip monitor" prints about links and addresses.
type watch struct {
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}

	carriers map[string]int // number of carrier changes per interface when the watch began
}

// carrierChanges returns how often the carrier of each host interface has changed.
func carrierChanges(t *testing.T) map[string]int {
	t.Helper()
	out, err := exec.Command("ip", "-j", "-s", "-s", "link", "show").Output()
	var links []struct {
		Ifname  string
		Ifalias string
		Stats64 struct {
			Tx struct {
				CarrierChanges *int `json:"carrier_changes"`
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &links)
	}
	if err != nil {
		t.Fatalf("ip link: %v: %s", err, out)
	}
	changes := map[string]int{}
	for _, l := range links {
		if l.Ifalias == netdev.Alias && l.Stats64.Tx.CarrierChanges != nil {
			changes[l.Ifname] = *l.Stats64.Tx.CarrierChanges
		}
	}
	if len(changes) == 0 {
		t.Fatalf("no host interface has a count of its carrier's changes in %s", out)
	}
	return changes
}

func (w *watch) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.text.Write(b)
}

// startWatch starts a watch, from now on.
func startWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{t: t, more: make(chan struct{}, 1), carriers: carrierChanges(t)}
	monitor := exec.Command("ip", "-o", "monitor", "link", "address")
	monitor.Stdout = w
	if err := monitor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = monitor.Process.Kill()
		_ = monitor.Wait()
	})
	for n := 0; !strings.Contains(w.String(), "begin"); n++ {
		ip(t, fmt.Sprintf("addr add 127.1.1.%d/32 dev lo label lo:begin", n+1))
		select {
		case <-w.more:
		case <-time.After(100 * time.Millisecond): // "ip monitor" has not subscribed yet
		}
	}
	return w
}

func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// until waits until the output contains some words, and returns the whole output.
func (w *watch) until(words string) string {
	w.t.Helper()
	for deadline := time.After(time.Minute); ; {
		if text := w.String(); strings.Contains(text, words) {
			return text
		}
		select {
		case <-w.more:
		case <-deadline:
			w.t.Fatalf("nothing was said of %q in\n%s", words, w.String())
		}
	}
}

// hostifHosts creates the network of the test: a host at eth1 and one at eth2.
func hostifHosts(t *testing.T) (a, b *linuxHost) {
	t.Helper()
	ip(t, "link set lo up")
	return newLinuxHost(t, "eth1", 0), newLinuxHost(t, "eth2", 1)
}

func needHostTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"nsenter", "ping", "sleep", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// costNothing requires that no host interface has lost its carrier or an address. mark is an address that it adds in
// order to wait for it.
func (w *watch) costNothing(what, mark string) {
	w.t.Helper()
	ip(w.t, "addr add "+mark+"/32 dev lo")
	if d := cmp.Diff(w.carriers, carrierChanges(w.t)); d != "" {
		w.t.Errorf("%s costs carriers (changes of each): %s", what, d)
	}
	for line := range strings.Lines(w.until(mark)) {
		ours := strings.Contains(line, "Ethernet") || strings.Contains(line, "Vlan20") || strings.Contains(line, "Loopback0")
		if ours && (strings.Contains(line, "Deleted") || strings.Contains(line, "DOWN") ||
			strings.Contains(line, "NO-CARRIER")) {
			w.t.Errorf("%s costs: %s", what, line)
		}
	}
}

// killSyncd kills and starts syncd twice, and hostifd between the two. It checks that no device loses its carrier,
// since the running hostifd holds a queue of each device. It also checks that frames pass again.
func (s *hostifSwitch) killSyncd(w *watch, a, b *linuxHost) {
	s.t.Helper()
	for i, mark := range []string{"127.1.2.2", "127.1.2.3"} {
		syncd := s.ready("syncd", "")
		s.daemons["syncd"].kill()
		w.costNothing("syncd's end", mark)
		s.daemons["syncd"].start()
		s.ready("syncd", syncd)
		s.ready("orchagent", "")
		hostifd := s.ready("hostifd", "")
		for _, to := range []string{"10.0.0.1", "10.255.0.1", "2001:db8:ff::1", "10.0.1.2"} {
			a.ping(1, to)
		}
		b.ping(1, "2001:db8:1::1")
		if i == 0 {
			s.daemons["hostifd"].kill()
			s.daemons["hostifd"].start()
			s.ready("hostifd", hostifd)
		}
	}
	w.costNothing("syncd's restart", "127.1.2.4")
}

// While hostifd is down, Linux still answers behind the host interfaces. A restart of hostifd, after kill -9 or
// SIGTERM, costs no carrier and no address, not for a moment. The same holds when syncd is killed. When syncd ends by
// SIGTERM, the interfaces go.
func TestHostifdRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	needHostTools(t)
	if !netnstest.Own(t) {
		return
	}
	a, b := hostifHosts(t)
	s := startHostif(t, hostifConfig())
	owner := s.ready("hostifd", "")
	s.ready("orchagent", "")
	reachEachOther(t, s.fleet, a, b)
	w := startWatch(t)
	for _, how := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		hostifd := s.daemons["hostifd"]
		if err := hostifd.cmd.Process.Signal(how); err != nil {
			t.Fatal(err)
		}
		_ = hostifd.cmd.Wait()
		for _, to := range []string{"10.0.0.1", "10.255.0.1", "2001:db8:ff::1"} {
			a.ping(1, to)
		}
		b.ping(1, "2001:db8:1::1")
		hostifd.start()
		owner = s.ready("hostifd", owner)
	}
	a.ping(1, "10.255.0.1")
	w.costNothing("a restart of hostifd", "127.1.2.1")
	s.killSyncd(w, a, b)
	if err := s.daemons["syncd"].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.daemons["syncd"].cmd.Wait()
	out, err := exec.Command("ip", "-o", "link", "show").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Ethernet")) || bytes.Contains(out, []byte("Loopback")) {
		t.Errorf("after the end of syncd there are %v\n%s", err, out)
	}
}
