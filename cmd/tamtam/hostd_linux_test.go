package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/internal/netns/netnstest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Two hosts with Linux's own network stack are in separate namespaces behind router interfaces of a switch. Without any
// static neighbour they reach each other and the switch, by IPv4 and IPv6. The switch reports to them what it cannot
// deliver.
func TestHostsReachEachOther(t *testing.T) {
	racetest.Live(t)
	for _, tool := range []string{"nsenter", "ping", "sleep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	if !netnstest.Own(t) {
		return
	}
	ip(t, "link set lo up")
	a, b := newLinuxHost(t, "eth1", 0), newLinuxHost(t, "eth2", 1)
	config := device.ConfigDB{
		schema.CfgPort: {
			"Ethernet0": swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000", "admin_status": "up", "mtu": "1500"},
			"Ethernet4": swss.FieldValues{"lanes": "5,6,7,8", "speed": "100000", "admin_status": "up", "mtu": "1500"},
		},
		schema.CfgInterface: {
			"Ethernet0": swss.FieldValues{}, "Ethernet0|10.0.0.1/24": swss.FieldValues{},
			"Ethernet0|2001:db8::1/64": swss.FieldValues{},
		},
		schema.CfgVLAN:       {"Vlan20": swss.FieldValues{"vlanid": "20", "mtu": "1400"}},
		schema.CfgVLANMember: {"Vlan20|Ethernet4": swss.FieldValues{"tagging_mode": "untagged"}},
		schema.CfgVLANInterface: {
			"Vlan20": swss.FieldValues{}, "Vlan20|10.0.1.1/24": swss.FieldValues{},
			"Vlan20|2001:db8:1::1/64": swss.FieldValues{},
		},
	}
	reachEachOther(t, startUp(t, config, "--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2"), a, b)
}

// reachEachOther checks, with hostd or hostifd, that two hosts behind a switch reach each other and the switch. The
// hosts must be neighbours of the switch, and receive errors for undeliverable packets.
func reachEachOther(t *testing.T, f *fleet, a, b *linuxHost) {
	t.Helper()
	for _, address := range []string{"Ethernet0|2001:db8::1/64", "Vlan20|2001:db8:1::1/64"} {
		f.wait(t, schema.StateHostAddress, address, func(row swss.FieldValues) bool { return row["state"] == "usable" })
	}

	for _, to := range []string{"10.0.0.1", "10.0.1.2", "2001:db8::1", "2001:db8:1::2"} {
		a.ping(3, to)
	}
	b.ping(3, "2001:db8::2")
	a.ping(1, "-s 3000 10.0.0.1") // in fragments, in both directions
	a.ping(1, "-s 3000 2001:db8::1")
	a.reported("10.0.1.2", "-M do -s 1450", "From 10.0.0.1 ", "mtu = 1400")
	a.reported("2001:db8:1::2", "-M do -s 1450", "From 2001:db8::1 ", "mtu=1400")
	a.reported("10.0.1.2", "-t 1", "From 10.0.0.1 ", "exceeded")
	a.reported("2001:db8:1::2", "-t 1", "From 2001:db8::1 ", "exceeded")
	b.reported("10.0.0.77", "", "From 10.0.1.1 ", "Host Unreachable")
	b.reported("2001:db8::77", "", "From 2001:db8:1::1 ", "Address unreachable")
	neighs := swss.NewTable(f.redis.DB(swss.ApplDB), schema.AppNeigh)
	for _, row := range []string{"Ethernet0:10.0.0.2", "Ethernet0:2001:db8::2", "Vlan20:10.0.1.2",
		"Vlan20:2001:db8:1::2"} {
		fields, ok, err := neighs.Get(t.Context(), row)
		if err != nil || !ok || fields["neigh"] == "" {
			t.Errorf("NEIGH_TABLE:%s is %v, %v", row, fields, err)
		}
		f.wait(t, schema.StateHostNeigh, strings.Replace(row, ":", "|", 1), func(state swss.FieldValues) bool {
			return state["neigh"] == fields["neigh"] && state["confirmed"] != ""
		})
	}
	switchPings(t, f)
}

// switchPings checks that the switch itself pings hosts, by hostd or hostifd, and reports a host that does not exist.
func switchPings(t *testing.T, f *fleet) {
	t.Helper()
	for i, tt := range []struct{ operation, input, want string }{
		{schema.PingAsk, `{"destination":"10.0.1.2","count":2,"interval":100}`, `"received":2,`},
		{schema.PingAsk, `{"destination":"2001:db8:1::2","count":2,"interval":100,"source":"2001:db8:1::1"}`,
			`"received":2,`},
		{schema.PingAsk, `{"destination":"10.0.0.2","count":1,"size":5000}`, `"received":1,`},
		{schema.TracerouteAsk, `{"destination":"10.0.0.2"}`, `"hops":[{"hop":1,"complete":true,"probes":[{"number":1,` +
			`"sequence":1,"hop":1,"kind":"reply","from":"10.0.0.2",`},
		{schema.PingAsk, `{"destination":"10.0.1.78","count":1,"timeout":20000}`, `"errors":1,`},
	} {
		id := fmt.Sprint("ping", i)
		requests := swss.NewNotificationProducer(f.redis.DB(swss.StateDB), schema.PingChannel)
		if n, err := requests.Send(t.Context(), tt.operation, schema.PacketTraceAnswers+id,
			[]swss.Pair{{Field: schema.PacketTraceRequest, Value: tt.input}}); err != nil || n != 1 {
			t.Fatalf("%d hosts receive a request, %v", n, err)
		}
		f.wait(t, schema.StatePacketTrace, id, func(row swss.FieldValues) bool {
			answer := row[schema.PacketTraceJSON]
			if done := strings.Contains(answer, `"done":true`); done && !strings.Contains(answer, tt.want) {
				t.Errorf("%s %s: %s\nwant %s", tt.operation, tt.input, answer, tt.want)
			} else {
				return done
			}
			return true
		})
	}
}

// A linuxHost is a process whose network namespace is that of a host.
type linuxHost struct {
	t   *testing.T
	pid string
}

// newLinuxHost creates host n, 10.0.n.2 and 2001:db8:n::2, at the far end of an interface.
func newLinuxHost(t *testing.T, name string, n int) *linuxHost {
	t.Helper()
	stays := exec.Command("sleep", "600")
	stays.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := stays.Start(); err != nil {
		t.Skipf("no network namespace may be made here: %v", err)
	}
	t.Cleanup(func() {
		_ = stays.Process.Kill()
		_ = stays.Wait()
	})
	h := &linuxHost{t, fmt.Sprint(stays.Process.Pid)}
	ip(t, "link add "+name+" type veth peer name host0 netns "+h.pid)
	ip(t, "link set "+name+" up")
	v6 := "2001:db8:"
	if n > 0 {
		v6 += fmt.Sprint(n, ":")
	}
	for _, args := range []string{
		"link set lo up", "link set host0 up", fmt.Sprintf("addr add 10.0.%d.2/24 dev host0", n),
		"-6 addr add " + v6 + ":2/64 dev host0 nodad", fmt.Sprintf("route add default via 10.0.%d.1", n),
		"-6 route add default via " + v6 + ":1",
	} {
		if out, err := h.run("ip " + args); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	return h
}

func (h *linuxHost) run(command string) (string, error) {
	out, err := exec.Command("nsenter", append([]string{"-t", h.pid, "-n"},
		strings.Fields(command)...)...).CombinedOutput()
	return string(out), err
}

// ping requires n answers from an address within a minute. The ping program itself ends early if a neighbour is not
// found.
func (h *linuxHost) ping(n int, to string) {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		out, err := h.run(fmt.Sprintf("ping -i 0.2 -c %d -w 60 %s", n, to))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			h.t.Errorf("ping %s: %v\n%s", to, err, out)
			return
		}
	}
}

// reported requires that a router reports to the host why a ping cannot be delivered.
func (h *linuxHost) reported(to, flags string, words ...string) {
	h.t.Helper()
	out, _ := h.run("ping -c 1 -w 60 " + flags + " " + to)
	for _, want := range words {
		if !strings.Contains(out, want) {
			h.t.Errorf("ping %s %s: want %q in\n%s", flags, to, want, out)
		}
	}
}
