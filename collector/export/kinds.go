package export

import (
	"strings"
	"time"
	"unicode/utf8"

	"tamtam/collector"
	"tamtam/collector/marks"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/altmark"
	"tamtam/tam/ipfix"
)

// Flags of a hop, as in tamtamHopFlags.
const (
	noEgress       = 1 << iota // the departure has no timestamp
	unsynchronised             // the switch's clock was not synchronised
	noResidence                // the times of the hop cannot be compared
	noLinkDelay                // the times of this hop and of the previous hop cannot be compared
	badIngress                 // IPFIX cannot represent the time of arrival
	badEgress                  // IPFIX cannot represent the time of departure
	clockSet                   // the clock was set while the frame was in the switch
	searched       = 1 << 7    // the record was found by search
)

// Indexes of the kinds in an encoder.
const (
	kindHop = iota
	kindPeriod
)

func field(name string, group uint8) ipfix.Field {
	if strings.HasPrefix(name, "tamtam") {
		return ipfix.Field{Element: ipfix.OwnElement(name), Group: group}
	}
	return ipfix.Field{Element: ipfix.Standard(name), Group: group}
}

// Groups of fields of a hop that are known together.
const (
	hopIPv4 = 1 + iota
	hopIPv6
	hopPorts
	hopIn
	hopOut
	hopIngress
	hopEgress
	hopResidence
	hopLink
	hopRead
)

// hopKind returns the kind of a hop of a stamped frame: a flow of one packet, from its arrival to its departure.
// Milliseconds are for collectors that do not support nanoseconds.
func hopKind() *ipfix.Kind {
	return &ipfix.Kind{Name: "hop", Fields: []ipfix.Field{
		field("protocolIdentifier", 0), field("packetDeltaCount", 0), field("collectionTimeMilliseconds", hopRead),
		field("tamtamFrameNumber", 0), field("tamtamSwitchId", 0), field("tamtamHopIndex", 0), field("tamtamHopCount", 0),
		field("tamtamHopFlags", 0),
		field("sourceIPv4Address", hopIPv4), field("destinationIPv4Address", hopIPv4),
		field("sourceIPv6Address", hopIPv6), field("destinationIPv6Address", hopIPv6),
		field("sourceTransportPort", hopPorts), field("destinationTransportPort", hopPorts),
		field("ingressInterface", hopIn), field("egressInterface", hopOut),
		field("flowStartMilliseconds", hopIngress), field("flowStartNanoseconds", hopIngress),
		field("flowEndMilliseconds", hopEgress), field("flowEndNanoseconds", hopEgress),
		field("tamtamResidence", hopResidence), field("tamtamLinkDelay", hopLink),
	}}
}

// fillHop fills r with the record of hop i of a frame.
func fillHop(r *ipfix.Record, f *collector.StampedFrame, i int) {
	r.Clear()
	hop := f.Records[i]
	flags := uint64(0)
	if _, ok := collector.EgressTime(hop); !ok {
		flags |= noEgress
	}
	if hop.Flags&tailstamp.Unsynchronised != 0 {
		flags |= unsynchronised
	}
	if hop.Flags&tailstamp.ClockSet != 0 {
		flags |= clockSet
	}
	if hop.Flags&tailstamp.Searched != 0 {
		flags |= searched
	}
	fillFlow(r, f.Flow)
	fillPort(r, 14, hopIn, hop.InPort)
	fillPort(r, 15, hopOut, hop.OutPort)
	if !fillTime(r, 16, hopIngress, hop.Ingress.Seconds, hop.Ingress.Nanoseconds) {
		flags |= badIngress
	}
	if out, ok := collector.EgressTime(hop); ok && !fillTime(r, 18, hopEgress, out.Seconds, out.Nanoseconds) {
		flags |= badEgress
	}
	if ns, ok := collector.Residence(hop); !ok {
		flags |= noResidence
	} else {
		r.Know(hopResidence)
		r.Set(20, ipfix.Int(ns))
	}
	if i > 0 {
		if ns, ok := collector.LinkDelay(f.Records[i-1], hop); !ok {
			flags |= noLinkDelay
		} else {
			r.Know(hopLink)
			r.Set(21, ipfix.Int(ns))
		}
	}
	r.Set(0, ipfix.Uint(uint64(f.Flow.Protocol)))
	r.Set(1, ipfix.Uint(1))
	if ms, ok := ipfix.Milli(f.Time); ok {
		r.Know(hopRead)
		r.Set(2, ms)
	}
	for i, v := range [...]uint64{
		uint64(f.Number), uint64(hop.SwitchID), uint64(i + 1), uint64(len(f.Records)), flags,
	} {
		r.Set(3+i, ipfix.Uint(v))
	}
}

// fillFlow sets addresses, and ports if the packet has them.
func fillFlow(r *ipfix.Record, f collector.Flow) {
	at := 8
	if f.Source.Is4() {
		r.Know(hopIPv4)
	} else {
		r.Know(hopIPv6)
		at = 10
	}
	r.Set(at, ipfix.Addr(f.Source))
	r.Set(at+1, ipfix.Addr(f.Destination))
	const tcp, udp = 6, 17
	if !f.LaterFragment && (f.Protocol == tcp || f.Protocol == udp) {
		r.Know(hopPorts)
		r.Set(12, ipfix.Uint(uint64(f.SourcePort)))
		r.Set(13, ipfix.Uint(uint64(f.DestPort)))
	}
}

// fillPort sets a port of a switch as the switch's ifIndex, N+1 for EthernetN. The CPU and an absent port have none.
func fillPort(r *ipfix.Record, place int, group uint8, port uint16) {
	if port != tailstamp.NoPort {
		r.Know(group)
		r.Set(place, ipfix.Uint(uint64(port)+1))
	}
}

// fillTime sets a time in milliseconds, followed by nanoseconds, because a collector may keep only the last one. It
// returns false if the time is absent or cannot be represented.
func fillTime(r *ipfix.Record, place int, group uint8, seconds uint64, nanoseconds uint32) bool {
	v, ok := ipfix.NTP(seconds, nanoseconds)
	if !ok || seconds == 0 && nanoseconds == 0 {
		return false
	}
	r.Know(group)
	r.Set(place, ipfix.Uint(seconds*1000+uint64(nanoseconds)/1e6))
	r.Set(place+1, ipfix.Uint(v))
	return true
}

// Groups of fields of a period that are known together.
const (
	periodStart = 1 + iota
	periodCounted
	periodLost
	periodDelay
	periodRawDelay
	periodJitter
	periodWindow
)

// periodKind returns the kind of a result of alternate marking. packetDeltaCount is the number of packets received at
// the segment's end.
func periodKind() *ipfix.Kind {
	return &ipfix.Kind{Name: "period", Fields: []ipfix.Field{
		field("tamtamPeriod", 0), field("tamtamPath", 0), field("tamtamFrom", 0), field("tamtamTo", 0),
		field("tamtamPeriodStatus", 0), field("tamtamReasons", 0), field("tamtamRevised", 0),
		field("flowStartMilliseconds", periodStart), field("flowStartNanoseconds", periodStart),
		field("packetDeltaCount", periodCounted), field("layer2OctetDeltaCount", periodCounted),
		field("tamtamSentPackets", periodCounted), field("tamtamSentOctets", periodCounted),
		field("tamtamLostPackets", periodLost), field("tamtamDelay", periodDelay), field("tamtamRawDelay", periodRawDelay),
		field("tamtamJitter", periodJitter),
		field("tamtamWindowDelays", periodWindow), field("tamtamWindowMinDelay", periodWindow),
		field("tamtamWindowMeanDelay", periodWindow), field("tamtamWindowMaxDelay", periodWindow),
	}}
}

// Limits of text in a record, in bytes. Reasons get the rest of a message, for names of maximum length and numbers.
const (
	maxName    = 64
	notReasons = 16 + 4 + 3*(1+maxName) + 3 + 120
)

// shorten truncates a text that is too long, between two characters, and appends "...".
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const more = "..."
	s = s[:most-len(more)]
	for len(s) > 0 {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s + more
}

// fillPeriod fills r with the record of a result, with reasons of at most maxReasons bytes.
func fillPeriod(r *ipfix.Record, p *marks.Result, maxReasons int) {
	r.Clear()
	text := func(s string, most int) ipfix.Value { return ipfix.Text(shorten(strings.ToValidUTF8(s, "?"), most)) }
	for place, v := range [...]ipfix.Value{
		ipfix.Uint(p.Period), text(p.Path, maxName), text(p.From, maxName), text(p.To, maxName),
		ipfix.Uint(uint64(p.Status)), text(strings.Join(p.Reasons, "; "), maxReasons), ipfix.Bool(p.Revised),
	} {
		r.Set(place, v)
	}
	fillStart(r, p.Start)
	if p.Counted {
		r.Know(periodCounted)
		for i, n := range [...]uint64{p.Received, p.ReceivedBytes, p.Sent, p.SentBytes} {
			r.Set(9+i, ipfix.Uint(n))
		}
	}
	known := func(group uint8, place int, ok bool, v int64) {
		if ok {
			r.Know(group)
			r.Set(place, ipfix.Int(v))
		}
	}
	known(periodLost, 13, p.LossValid, p.Lost)
	known(periodDelay, 14, p.DelayValid, int64(p.Delay))
	known(periodRawDelay, 15, p.RawDelayValid, int64(p.RawDelay))
	known(periodJitter, 16, p.JitterValid, int64(p.Jitter))
	if w := p.Window; w.Count > 0 {
		known(periodWindow, 17, true, int64(w.Count))
		for i, d := range [...]time.Duration{w.Min, w.Mean, w.Max} {
			r.Set(18+i, ipfix.Int(int64(d)))
		}
	}
}

// fillStart sets the begin of a period. Period 0 begins at 0, in 1970.
func fillStart(r *ipfix.Record, t altmark.Time) {
	fillTime(r, 7, periodStart, t.Seconds, t.Nanoseconds)
}

// sentKind returns the kind of the exporting process's counters (RFC 7011, section 4.3).
func sentKind() *ipfix.Kind {
	return &ipfix.Kind{Name: "sent", Scope: 1, Fields: []ipfix.Field{
		field("exportingProcessId", 0), field("exportedMessageTotalCount", 0), field("exportedFlowRecordTotalCount", 0),
		field("notSentFlowTotalCount", 0),
	}}
}
