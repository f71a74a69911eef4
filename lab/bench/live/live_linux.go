package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tamtam/internal/netns"
)

const hostAddress = "10.9.0."

// A setup is two hosts and the namespace of the switch between them.
type setup struct {
	Config
	hosts   [2]*netns.Namespace
	place   *netns.Namespace
	macs    [2]net.HardwareAddr
	process *exec.Cmd
}

// Run measures each load on the bridge and on the switch alternately.
func Run(ctx context.Context, cfg Config) ([]Figure, error) {
	b := &setup{Config: cfg}
	defer b.close()
	if err := b.connect(); err != nil {
		return nil, err
	}
	var figures []Figure
	for range cfg.Rounds {
		for _, side := range []struct {
			name  string
			start func(context.Context) (func() error, error)
		}{{Bridge, b.bridge}, {Tamtam, b.tamtam}} {
			end, err := side.start(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", side.name, err)
			}
			list, err := b.measure(side.name)
			if err := errors.Join(err, end()); err != nil {
				return nil, fmt.Errorf("%s: %w", side.name, err)
			}
			figures = append(figures, list...)
		}
	}
	return figures, nil
}

func (b *setup) close() {
	for _, n := range []*netns.Namespace{b.hosts[0], b.hosts[1], b.place} {
		if n != nil {
			n.Close()
		}
	}
}

// connect creates the hosts and their wires.
func (b *setup) connect() (err error) {
	if b.place, err = netns.New(); err != nil {
		return err
	}
	for i := range b.hosts {
		if b.hosts[i], err = netns.New(); err != nil {
			return err
		}
		n := strconv.Itoa(i + 1)
		if err := b.place.IP(
			"link set lo up",
			"link add eth"+n+" type veth peer name host netns "+b.hosts[i].Path(),
			"link set eth"+n+" up"); err != nil {
			return err
		}
		if err := b.hosts[i].IP("link set lo up", "link set host up", "addr add "+hostAddress+n+"/24 dev host"); err != nil {
			return err
		}
		err := b.hosts[i].Do(func() error {
			ifi, err := net.InterfaceByName("host")
			b.macs[i] = ifi.HardwareAddr
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bridge starts the kernel's bridge between the hosts.
func (b *setup) bridge(context.Context) (func() error, error) {
	end := func() error { return b.place.IP("link del br0") }
	_ = b.place.Do(func() error { // with Docker, the bridge calls netfilter, which must not be measured
		return os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("0"), 0)
	})
	err := b.place.IP("link add br0 type bridge", "link set eth1 master br0", "link set eth2 master br0",
		"link set br0 up")
	return end, errors.Join(err, b.reach())
}

// tamtam starts the switch between the hosts.
func (b *setup) tamtam(ctx context.Context) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, b.Switch[0], b.Switch[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := b.place.Do(cmd.Start); err != nil {
		cancel()
		return nil, err
	}
	b.process = cmd
	end := func() error {
		cancel()
		_ = cmd.Wait() // the error reports that it was interrupted
		b.process = nil
		return nil
	}
	if err := b.reach(); err != nil {
		_ = end()
		return nil, fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	return end, nil
}

// reach waits until one host reaches the other.
func (b *setup) reach() (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if _, err = rounds(b.hosts[0], b.hosts[1], hostAddress+"2", 10); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the hosts do not reach each other within a minute: %w", err)
}

func (b *setup) measure(name string) (list []Figure, err error) {
	for _, size := range []int{64, 1518} {
		load := map[int]string{64: Flood64, 1518: Flood1518}[size]
		f := Figure{Load: load, Switch: name, Unit: "frames/s"}
		took, err := b.while(&f, func() error {
			return flood(b.hosts[0], "host", b.macs[0], b.macs[1], size, b.Load)
		})
		if err != nil {
			return nil, err
		}
		f.Value = float64(f.Got) / took.Seconds()
		list = append(list, f)
	}
	for _, load := range []string{TCP, TCPPlain} {
		for _, h := range b.hosts {
			if err := offloads(h, "host", load == TCP); err != nil {
				return nil, err
			}
		}
		f := Figure{Load: load, Switch: name, Unit: "Mbit/s"}
		var s stream
		took, err := b.while(&f, func() (err error) {
			s, err = tcp(b.hosts[0], b.hosts[1], hostAddress+"2", b.Load)
			return err
		})
		if err != nil {
			return nil, err
		}
		f.Value, f.Retransmits = float64(s.bytes)*8/1e6/took.Seconds(), s.retransmits
		list = append(list, f)
	}
	times, err := rounds(b.hosts[0], b.hosts[1], hostAddress+"2", 1000)
	if err != nil {
		return nil, err
	}
	list = append(list, Figure{
		Load: RoundTrip, Switch: name, Unit: "us", Value: float64(times[len(times)/2]) / 1e3, P99: times[len(times)*99/100],
	})
	for _, f := range list {
		b.Log("%s, %s: %.0f %s, %v and %v per frame, sent %d, got %d, retransmits %d, p99 %v", f.Switch, f.Load, f.Value,
			f.Unit, f.CPU, f.Own, f.Sent, f.Got, f.Retransmits, f.P99)
	}
	return list, nil
}

// while measures the processor time and the frames while load runs.
func (b *setup) while(f *Figure, load func() error) (time.Duration, error) {
	_, sent, err := b.hosts[0].Counts("host")
	if err != nil {
		return 0, err
	}
	got, _, err := b.hosts[1].Counts("host")
	if err != nil {
		return 0, err
	}
	machine, own, began := machineTime(), b.ownTime(), time.Now()
	if err := load(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	for last := uint64(0); ; { // waits for frames that are still under way
		now, _, err := b.hosts[1].Counts("host")
		if err != nil {
			return 0, err
		}
		if now == last {
			break
		}
		last = now
		time.Sleep(20 * time.Millisecond)
	}
	machine, own = machineTime()-machine, b.ownTime()-own
	_, sentNow, err := b.hosts[0].Counts("host")
	if err != nil {
		return 0, err
	}
	gotNow, _, err := b.hosts[1].Counts("host")
	f.Sent, f.Got = sentNow-sent, gotNow-got
	if f.Got > 0 {
		f.CPU, f.Own = machine/time.Duration(f.Got), own/time.Duration(f.Got)
	}
	return took, err
}

// machineTime returns how long the processors of the machine were busy.
func machineTime() time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := bufio.NewReader(bytes.NewReader(text)).ReadLine()
	var ticks int64
	for i, field := range strings.Fields(string(line)) {
		n, _ := strconv.ParseInt(field, 10, 64)
		if i >= 1 && i != 4 && i != 5 && i < 9 { // not idle, not waiting for a disk; guests are included in user
			ticks += n
		}
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ
}

// ownTime returns the processor time of the switch's process, or 0 for the bridge.
func (b *setup) ownTime() time.Duration {
	if b.process == nil {
		return 0
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.process.Process.Pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100)
}
