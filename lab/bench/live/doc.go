// Package live compares a switch on live interfaces with the kernel's own bridge. It measures frames per second, TCP,
// latency and processor time between two hosts, which are network namespaces of this machine. Both switches use the
// same pairs of virtual interfaces, with the same sizes and offloads. They alternate within one run.
//
// This package holds the hosts, the loads, and the start of both switches. It needs root and iproute2.
package live

import (
	"slices"
	"time"

	"tamtam/lab/bench"
)

// Config configures the measurement.
type Config struct {
	// Switch is a command that connects the interfaces eth1 and eth2 as ports of one VLAN. It ends when its context
	// does.
	Switch []string
	Rounds int           // number of runs of each load on each switch
	Load   time.Duration // duration of one load
	Log    func(format string, args ...any)
}

// A Figure is the result of one load on one switch.
type Figure struct {
	Load, Switch string
	Value        float64 // in Unit
	Unit         string
	// CPU is the processor time of the whole machine per received frame, hosts included. It is zero if it was not
	// measured.
	CPU time.Duration
	// Own is the part of CPU that the switch's process used. It is 0 for the bridge, which has no process.
	Own time.Duration
	// Retransmits counts TCP segments. P99 is the 99th percentile of the round-trip times.
	Retransmits uint32
	P99         time.Duration
	Sent, Got   uint64 // frames, as counted by the hosts' interfaces
}

// Loads.
const (
	Flood64   = "frames of 64 bytes"
	Flood1518 = "frames of 1518 bytes"
	TCP       = "TCP"
	TCPPlain  = "TCP without offloads"
	RoundTrip = "round trip"
)

// Switches.
const (
	Bridge = "kernel bridge"
	Tamtam = "tamtam"
)

// aims are the targets for the switch, as a share of the bridge's figure.
var aims = map[string]float64{Flood64: 0.5, TCP: 0.7, TCPPlain: 0.7}

// Results returns the medians of figures, and the comparison of the switches within a round.
func Results(figures []Figure) (list []bench.Result) {
	for _, load := range []string{Flood64, Flood1518, TCP, TCPPlain, RoundTrip} {
		of := map[string][]Figure{}
		for _, f := range figures {
			if f.Load == load {
				of[f.Switch] = append(of[f.Switch], f)
			}
		}
		var ratios []float64
		for i := range min(len(of[Bridge]), len(of[Tamtam])) {
			ratios = append(ratios, of[Tamtam][i].Value/of[Bridge][i].Value)
		}
		if len(ratios) == 0 {
			continue
		}
		for _, name := range []string{Bridge, Tamtam} {
			list = append(list, results(name+", "+load, of[name])...)
		}
		list = append(list, bench.Result{
			Name: load + ": of the bridge's", Value: median(ratios), Unit: "times", Aim: aims[load],
		})
	}
	return list
}

func results(name string, of []Figure) []bench.Result {
	pick := func(value func(Figure) float64) float64 {
		var all []float64
		for _, f := range of {
			all = append(all, value(f))
		}
		return median(all)
	}
	list := []bench.Result{{Name: name, Value: pick(func(f Figure) float64 { return f.Value }), Unit: of[0].Unit}}
	add := func(what, unit string, value func(Figure) float64) {
		list = append(list, bench.Result{Name: name + ": " + what, Value: pick(value), Unit: unit})
	}
	switch of[0].Load {
	case RoundTrip:
		add("99 of 100 are below", "us", func(f Figure) float64 { return float64(f.P99) / 1e3 })
		return list
	case TCP, TCPPlain:
		add("sent again", "segments", func(f Figure) float64 { return float64(f.Retransmits) })
	}
	add("processor time of all per frame", "ns", func(f Figure) float64 { return float64(f.CPU) })
	if of[0].Switch == Tamtam {
		add("processor time of its own per frame", "ns", func(f Figure) float64 { return float64(f.Own) })
	}
	return list
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
