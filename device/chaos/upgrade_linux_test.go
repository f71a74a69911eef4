package chaos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A numberedStream sends 500 numbered frames per second into one interface, and records the frames that leave by
// another.
type numberedStream struct {
	t        *testing.T
	in, out  *rawPort
	template []byte

	mu      sync.Mutex
	sent    int
	got     []bool // true if the frame arrived, by number
	twice   int
	last    time.Time     // when the last frame arrived
	silence time.Duration // longest time without a frame since the counters were reset
	plain   int           // number of frames without a stamp since the counters were reset
}

// numbered precedes a frame's number.
const numbered = "tamtam upgrade "

func startStream(t *testing.T, in, out string) *numberedStream {
	s := &numberedStream{t: t, last: time.Now()}
	s.template = devicetest.Frame(t,
		devicetest.Ethernet(layers.EthernetTypeIPv4), devicetest.IPv4(layers.IPProtocolTCP),
		&layers.TCP{SrcPort: 1000, DstPort: 80},
		gopacket.Payload(numbered+"01234567"))
	for _, p := range []struct {
		port **rawPort
		name string
	}{{&s.in, in}, {&s.out, out}} {
		var err error
		if *p.port, err = openRawPort(p.name); err != nil {
			t.Fatal(err)
		}
	}
	stop, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() { s.send(stop) })
	ended.Go(func() { s.receive(stop) })
	t.Cleanup(func() {
		close(stop)
		ended.Wait()
		s.in.close()
		s.out.close()
	})
	return s
}

func (s *numberedStream) send(stop chan struct{}) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	data := bytes.Clone(s.template)
	at := bytes.Index(data, []byte(numbered)) + len(numbered)
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		n := s.sent
		s.sent, s.got = n+1, append(s.got, false)
		s.mu.Unlock()
		binary.BigEndian.PutUint64(data[at:], uint64(n))
		if err := s.in.write(data); err != nil {
			s.t.Errorf("frame %d: %v", n, err)
			return
		}
	}
}

func (s *numberedStream) receive(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		data, err := s.out.read()
		if err != nil {
			s.t.Error(err)
			return
		}
		if at := bytes.Index(data, []byte(numbered)); at >= 0 {
			s.came(int(binary.BigEndian.Uint64(data[at+len(numbered):])), len(data))
		}
	}
}

func (s *numberedStream) came(n, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if d := now.Sub(s.last); d > s.silence {
		s.silence = d
	}
	s.last = now
	if s.got[n] {
		s.twice++
	}
	s.got[n] = true
	if size == len(s.template) {
		s.plain++
	}
}

// flows waits until a frame that is sent after the call has arrived.
func (s *numberedStream) flows() {
	s.t.Helper()
	s.mu.Lock()
	from := s.sent
	s.mu.Unlock()
	for end := time.Now().Add(patience); ; {
		s.mu.Lock()
		for _, got := range s.got[from:] {
			if got {
				s.mu.Unlock()
				return
			}
		}
		s.mu.Unlock()
		if time.Now().After(end) {
			s.t.Fatalf("no frame comes through the switch within %s", patience)
		}
		select {
		case <-s.t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A toll counts the effects of an event on a stream of frames.
type toll struct {
	sent, lost, twice, plain int
	silence                  time.Duration
}

// during returns the toll of f.
func (s *numberedStream) during(f func()) (c toll) {
	s.t.Helper()
	s.flows()
	s.mu.Lock()
	from := s.sent
	s.silence, s.twice, s.plain = 0, 0, 0
	s.mu.Unlock()
	f()
	s.mu.Lock()
	to := s.sent
	s.mu.Unlock()
	s.flows() // all earlier frames have then arrived or are lost
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, got := range s.got[from:to] {
		if !got {
			c.lost++
		}
	}
	c.sent, c.twice, c.plain, c.silence = to-from, s.twice, s.plain, s.silence
	return c
}

// upgraded lists the services in the order in which the test upgrades them.
var upgraded = []string{"redis", "orchagent", "tammgrd", "mgmtd", "syncd"}

// One container after the other is replaced with a container of another image, while frames of a session pass through
// the chip. No frame is lost, duplicated, or leaves without its stamp, and the session continues counting. The chip
// itself is in syncd, whose upgrade is only measured. "make upgrade" runs this.
func TestUpgradeOfContainers(t *testing.T) {
	config, err := device.ReadConfigDB("../../docker/config_db.json")
	if err != nil {
		t.Fatal(err)
	}
	c := compose(t, config, "", "compose.ports.yaml")
	hosts := hostPorts(c)
	c.up()
	ids := map[string]string{}
	find := func() {
		for _, name := range inhabited {
			ids[name] = c.id(name)
		}
	}
	find()
	c.allHealthy(ids)
	other := anotherImage(c)
	s := startStream(t, hosts[0], hosts[1])
	for _, name := range upgraded {
		old := ids[name]
		cost := s.during(func() {
			c.must([]string{"TAMTAM_IMAGE=" + other}, "../../docker/compose.sh", "up", "-d", "--no-deps", name)
			find()
			c.allHealthy(ids)
		})
		if ids[name] == old {
			t.Errorf("%s is still the old container", name)
		}
		fmt.Printf("upgrade: %s sent %d lost %d silence-ms %d\n", name, cost.sent, cost.lost, cost.silence.Milliseconds())
		if name == "syncd" {
			if cost.lost == 0 || cost.twice > 0 {
				t.Errorf("upgrade of %s: %+v", name, cost)
			}
			continue
		}
		if cost.lost > 0 || cost.twice > 0 || cost.plain > 0 {
			t.Errorf("upgrade of %s: %+v; want no frame lost, doubled, or without a stamp", name, cost)
		}
		s.counted(c, ids)
	}
}

// hostPorts makes the ports' interfaces, moves them into syncd's namespace, and returns their peers.
func hostPorts(c *composition) (hosts []string) {
	c.Helper()
	if os.Geteuid() != 0 {
		c.Skip("interfaces are made by root")
	}
	if _, err := exec.LookPath("nsenter"); err != nil {
		c.Skip("nsenter is not installed")
	}
	c.up("ports")
	pairs := []string{}
	for i := range 2 {
		host, port := fmt.Sprintf("tt%dh%d", os.Getpid(), i), fmt.Sprintf("tt%dp%d", os.Getpid(), i)
		if out := c.run(nil, "ip", "link", "add", host, "type", "veth", "peer", "name", port); strings.HasPrefix(out, "ip ") {
			c.Skipf("no interfaces can be made here: %s", out)
		}
		c.Cleanup(func() { c.run(nil, "ip", "link", "del", host) })
		c.must(nil, "ip", "link", "set", host, "up")
		hosts, pairs = append(hosts, host), append(pairs, "eth"+strconv.Itoa(i+1)+"="+port)
	}
	c.must(nil, "../../docker/ports.sh", pairs...)
	return hosts
}

// anotherImage makes the image to which containers are upgraded: the same content with another id.
func anotherImage(c *composition) string {
	c.Helper()
	const name = "tamtam:upgrade-test"
	build := exec.Command("docker", "build", "-q", "-t", name, "-")
	build.Stdin = strings.NewReader("FROM tamtam\nLABEL upgrade=" + strconv.Itoa(os.Getpid()) + "\n")
	if out, err := build.CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	c.Cleanup(func() { c.run(nil, "docker", "rmi", "-f", name) })
	return name
}

// counted waits until the session has counted every frame that has arrived so far.
func (s *numberedStream) counted(c *composition, ids map[string]string) {
	c.Helper()
	s.mu.Lock()
	came := 0
	for _, got := range s.got {
		if got {
			came++
		}
	}
	s.mu.Unlock()
	rows := swss.NewTable(c.redisAt(c.inspect(ids["redis"]).address()).DB(swss.CountersDB), schema.CountersTailStamp)
	for end := time.Now().Add(10 * time.Second); ; { // restarted counters would need longer to reach this
		row, _, err := rows.Get(c.Context(), "web")
		if err != nil {
			c.Fatal(err)
		}
		counters, err := schema.ParseCounters(schema.CountersTailStamp, "web", row)
		if err == nil && counters.Counts["MATCHED_PACKETS"] >= uint64(came) {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("%d frames came out, the session counts %v", came, row)
		}
		select {
		case <-c.Context().Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
