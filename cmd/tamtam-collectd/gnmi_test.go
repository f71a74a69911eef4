package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/fleet/event"
	"tamtam/fleet/parquet"
	"tamtam/mgmt"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// upSwitch runs a switch with a session of alternate marking and a sketch task on the wall clock. It returns the
// address of its gNMI server.
func upSwitch(t *testing.T, name, role string) (target string) {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, name)
	ready := make(chan struct{})
	cfg := device.UpConfig{
		ChipConfig: daemons.ChipConfig{Profile: profile.Small()}, Redis: "embedded", NoHost: true,
		Mgmt: mgmt.Config{Dir: dir, Socket: socket},
		Startup: device.Startup{Rows: device.ConfigDB{
			schema.CfgPort: {
				"Ethernet0": swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000", "admin_status": "up"},
			},
			schema.CfgTAMFeature: {"ALTMARK": swss.FieldValues{"status": "ACTIVE"},
				"FLYMON": swss.FieldValues{"status": "ACTIVE"}},
			schema.CfgTAMFlyMonTask: {"heavy": swss.FieldValues{"filter": "dst-port=80", "key": "src-ip",
				"attribute": "frequency",
				"epoch":     "500", "memory": "256"}},
			schema.CfgTAMFlyMonQuery: {"one": swss.FieldValues{"task": "heavy", "flow": "10.0.0.1"}},
			schema.CfgTAMFlowGroup:   {"web": swss.FieldValues{"id": "1"}},
			schema.CfgACLRule: {"TAM|web": swss.FieldValues{"PRIORITY": "100", "IP_PROTOCOL": "253",
				"IN_PORTS": "Ethernet0"}},
			schema.CfgTAMAltMark: {"web": swss.FieldValues{"flowgroup": "web", "role": role, "method": "double",
				"interval": "-1",
				"mark":     "dscp0", "mark2": "dscp1"}},
		}},
		Ready: func(string, string, string) { close(ready) },
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- device.Up(ctx, cfg) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	return "unix:" + socket
}

// collecting is a daemon that a test runs.
type collecting struct {
	t     *testing.T
	url   string
	stop  func()
	ended chan string // receives output and exit code at the end
}

func startDaemon(t *testing.T, args ...string) *collecting {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &collecting{t: t, stop: stop, ended: make(chan string, 1)}
	said, say := io.Pipe()
	go func() {
		code := run(ctx, append([]string{"run"}, args...), io.Discard, say)
		fmt.Fprintf(say, "exit %d\n", code)
		say.Close()
	}()
	url := make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(said); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if m := regexp.MustCompile(`http=(https?://\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
		c.ended <- all.String()
	}()
	select {
	case c.url = <-url:
	case all := <-c.ended:
		t.Fatal(all)
	}
	return c
}

// until reads the rows of a store until enough returns true.
func (c *collecting) until(dir string, enough func(*result.Batch) bool) {
	c.t.Helper()
	store, err := parquet.Open(parquet.Options{Dir: dir})
	if err != nil {
		c.t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for found := false; !found; {
		err := store.Each(c.t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
			found = found || enough(b)
			return !found
		})
		if err != nil {
			c.t.Fatal(err)
		}
		select {
		case <-tick.C:
		case all := <-c.ended:
			c.t.Fatal(all)
		}
	}
}

// Measurements of two switches in this process are read by gNMI and become rows of the store, which are on the page.
// They are periods of alternate marking, over the graph that follows from the topology and the sessions, and results of
// sketch tasks.
func TestMarkedSwitches(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some periods of the wall clock")
	}
	dir := t.TempDir()
	leaf1, leaf2 := upSwitch(t, "leaf1", "initiator"), upSwitch(t, "leaf2", "terminator")
	network := write(t, "net.yaml", fmt.Sprintf("switches: [{name: leaf1, target: %q}, {name: leaf2, target: %q}]\n"+
		"links: [{a: \"leaf1:Ethernet4\", b: \"leaf2:Ethernet4\"}]\n", leaf1, leaf2))
	d := startDaemon(t, "--log="+filepath.Join(dir, "log"), "--store="+filepath.Join(dir, "store"), "--sync=1m",
		"--partitions=4", "--http=127.0.0.1:0", "--window=500ms", "--topology="+network, "--graphs", "--alarm=0.01",
		"--sketches=leaf1="+leaf1)
	d.until(filepath.Join(dir, "store"), func(b *result.Batch) bool {
		known := 0
		for _, l := range b.Losses {
			if l.Flow != "web" || l.From != "leaf1" || l.To != "leaf2" || l.Window.Length != int64(500*time.Millisecond) ||
				l.Known && (l.Sent != 0 || l.Received != 0 || l.Lost != 0) {
				t.Errorf("%+v", l)
			}
			if l.Known && l.Flags == 0 { // on a busy machine some reports arrive too far apart
				known++
			}
		}
		return known > 0
	})
	answers := map[string]bool{}
	d.until(filepath.Join(dir, "store"), func(b *result.Batch) bool {
		for _, a := range b.Sketches {
			if a.Switch != "leaf1" || a.Task != "heavy" || a.Estimate != 0 || a.Time%int64(500*time.Millisecond) != 0 {
				t.Errorf("%+v", a)
			}
			answers[a.Key] = true
		}
		return answers["10.0.0.1"] && answers["packets"]
	})
	if page := get(t, d.url+"/marking"); !strings.Contains(page, "leaf1") || !strings.Contains(page, "leaf2") {
		t.Errorf("the page: %.2000s", page)
	}
	if page := get(t, d.url+"/alarms"); !strings.Contains(page, "No alarm is raised") || !strings.Contains(page, "web") {
		t.Errorf("the page: %.3000s", page)
	}
	if page := get(t, d.url+"/sketches"); !strings.Contains(page, "10.0.0.1") || !strings.Contains(page, "heavy") {
		t.Errorf("the page: %.2000s", page)
	}
	d.stop()
	all := <-d.ended
	for _, want := range []string{"exit 0", "msg=connected target=unix:", `msg="graph web: leaf1>leaf2"`} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
}
