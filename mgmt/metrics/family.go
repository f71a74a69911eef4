package metrics

import (
	"strings"
	"time"
)

// A Kind is what a value means.
type Kind uint8

// The kinds that there are.
const (
	Gauge   Kind = iota // as it is now
	Counter             // only grows, until it begins anew
)

// A Family is what has one name, help, unit and kind: Prometheus and OpenTelemetry are told the same.
type Family struct {
	Name   string // as Prometheus has it: counters end in _total
	Help   string
	Unit   string // in UCUM's words: By, {packet}; "": none
	Kind   Kind
	Labels []string
	Points []Point
}

// A Point is a value of a family.
type Point struct {
	Labels []string // the values of the family's labels
	Value  float64
	Count  uint64    // of a counter, the same exactly
	Start  time.Time // since when a counter counts, as far as that was seen

	epoch string // that it belongs to
}

// families are all that there are.
type families struct {
	daemonFamilies
	portFamilies
	outputFamilies
	rows, stamped, analysed, leftOut, used, free *Family

	all *[]*Family
}

type daemonFamilies struct{ redis, heard, ready, compared, drift, healed, alarms *Family }

type portFamilies struct {
	portUp, portBytes, portPackets, portDiscards, portErrs *Family
	wireUp, wireFrames, wireLost, wireDropped              *Family
}

type outputFamilies struct {
	outputUp, outputSent, outputBytes, outputDropped  *Family
	outputFailures, outputWaiting, outputWaitingBytes *Family
}

// list returns them in the order in which they are declared.
func (f families) list() []Family {
	list := make([]Family, len(*f.all))
	for i, one := range *f.all {
		list[i] = *one
	}
	return list
}

// family declares one; its name says whether it counts.
func (f families) family(name, unit, help string, labels ...string) *Family {
	one := &Family{Name: "tamtam_" + name, Help: help, Unit: unit, Labels: labels}
	if strings.HasSuffix(name, "_total") {
		one.Kind = Counter
	}
	*f.all = append(*f.all, one)
	return one
}

func newFamilies() families {
	f := families{all: new([]*Family)}
	d := f.family
	f.redis = d("redis_up", "", "1: Redis answers.")
	f.heard = d("daemon_heard", "", "1: the daemon has said how it is within the last seconds.", "daemon")
	f.ready = d("daemon_ready", "", "1: what is configured is in force, or told to be pending or failed.", "daemon")
	f.compared = d("daemon_compared_objects", "{object}", "Objects in the last whole pass that compared.", "daemon")
	f.drift = d("daemon_drift_total", "{difference}",
		"Differences that were seen between what was told and what is.", "daemon")
	f.healed = d("daemon_healed_total", "{difference}", "Differences that were healed.", "daemon")
	f.alarms = d("alarms", "{alarm}", "Alarms that stand.", "severity")
	f.portUp = d("port_up", "", "1: the port has a link.", "port")
	f.portBytes = d("port_bytes_total", "By", "Bytes.", "port", "direction")
	f.portPackets = d("port_packets_total", "{packet}", "Packets.", "port", "direction", "cast")
	f.portDiscards = d("port_discards_total", "{packet}", "Packets dropped, for whatever reason.", "port", "direction")
	f.portErrs = d("port_errors_total", "{frame}", "Frames that were not valid.", "port", "direction")
	f.wireUp = d("wire_up", "", "1: the live interface behind the port is there, up and has a carrier.", "port")
	f.wireFrames = d("wire_frames_total", "{frame}", "Frames between a live interface and the chip.", "port", "direction")
	f.wireLost = d("wire_lost_frames_total", "{frame}", "Frames that were lost there.", "port", "reason")
	f.wireDropped = d("wire_dropped_frames_total", "{frame}", "Frames that the chip dropped at such a port.",
		"port", "reason")
	f.rows = d("rows", "{row}", "Configured rows by what became of them.", "table", "status")
	f.stamped = d("tailstamp_packets_total", "{packet}", "Packets of a session by what became of them.",
		"session", "outcome")
	f.analysed = d("ifa_packets_total", "{packet}", "Packets of a session of Inband Flow Analyzer by what became of them.",
		"session", "outcome")
	f.leftOut = d("series_left_out", "{row}", "Rows of a table that have no series, for there are too many.", "table")
	f.used = d("resource_used", "{object}", "Objects of the ASIC that are in use.", "resource")
	f.free = d("resource_free", "{object}", "Objects of the ASIC for which there is room.", "resource")
	f.outputUp = d("output_up", "", "1: the receiver takes what the switch sends.", "output")
	f.outputSent = d("output_sent_total", "{message}", "Messages that an output has sent.", "output")
	f.outputBytes = d("output_sent_bytes_total", "By", "Bytes of them.", "output")
	f.outputDropped = d("output_dropped_total", "{message}", "Messages that were never sent.", "output", "reason")
	f.outputFailures = d("output_failures_total", "{attempt}", "Attempts to connect or to send that failed.", "output")
	f.outputWaiting = d("output_waiting_messages", "{message}", "Messages that wait to be sent.", "output")
	f.outputWaitingBytes = d("output_waiting_bytes", "By", "Bytes of them.", "output")
	return f
}

// starts are since when counters count, by series.
type starts map[string]begun

// A begun is what was last seen of a counter.
type begun struct {
	start, seen time.Time
	count       uint64
	epoch       string
}

// date says of each counter since when it counts. One that is seen for the first time counts since now, for all that is
// known; one that is lower than before, or is another's, has begun anew after it was last seen. Who is not there any
// more is forgotten.
func (s starts) date(all []Family, now time.Time) {
	var key strings.Builder
	for i := range all {
		if all[i].Kind != Counter {
			continue
		}
		for j := range all[i].Points {
			p := &all[i].Points[j]
			key.Reset()
			key.WriteString(all[i].Name)
			for _, v := range p.Labels {
				key.WriteByte(0)
				key.WriteString(v)
			}
			b, known := s[key.String()]
			switch {
			case !known:
				b.start = now
			case p.Count < b.count || p.epoch != b.epoch:
				b.start = b.seen
			}
			b.seen, b.count, b.epoch = now, p.Count, p.epoch
			s[key.String()], p.Start = b, b.start
		}
	}
	for key, b := range s {
		if !b.seen.Equal(now) {
			delete(s, key)
		}
	}
}
