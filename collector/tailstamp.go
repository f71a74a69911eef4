package collector

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// TailStamp evaluates the tail-stamp records of frames by flow.
type TailStamp struct {
	frames, cut, stamped, records int64
	plain, unread                 int64
	mirrored                      int64 // number of frames in ERSPAN copies
	reported                      int64 // number of frames in reports
	flows                         map[Flow]*flowStamps
	exact                         bool
	room                          budget // remaining memory of the distributions
	memory                        int64  // initial value of room in bytes
	most, paths, hops             int    // maximum number of paths, and the number of paths and of their hops
	beyond                        int64  // number of frames with records of further paths
	passed                        []byte // path of the current frame
	odd                           oddities
	// read returns the records of a frame, the IFA hops from which they were made, if any, and the inner frame without
	// IFA. ok is false if the frame may have records that cannot be read.
	read func(frame []byte, captured time.Time) (tail tailstamp.Tail, hops []ifa.Hop, inner []byte, ok bool)
	// reports means that frames in reports of a terminator are also read.
	reports bool
}

// oddities counts unusual bytes after datagrams: other than padding and records at their expected place.
type oddities struct {
	skipped   int64 // number of bytes that belong to no record
	skippedIn int64 // number of frames with such bytes
	searched  int64 // number of records found by search
	noLength  int64 // number of IP frames with an unknown end
}

// add counts the oddities of a frame.
func (o *oddities) add(t *tailstamp.Tail) {
	if t.Skipped > 0 {
		o.skippedIn++
		o.skipped += int64(t.Skipped)
	}
	for _, r := range t.Records {
		if r.Flags&tailstamp.Searched != 0 {
			o.searched++
		}
	}
}

// flowStamps is the state of one flow. A flow whose frames took several routes has several paths.
type flowStamps struct {
	frames      int64 // number of frames of all paths of the flow
	beyond      int64 // number of frames of paths that exceeded the limit
	first, last time.Time
	paths       map[string]*pathStamps
}

type pathStamps struct {
	frames   int64
	hops     []hopStamps
	delays   []distribution // from departure at hop i-1 to arrival at hop i; empty for hop 0
	endToEnd distribution   // empty for one hop, where it equals the hop
}

type hopStamps struct {
	record                             tailstamp.Record // a record of this hop, for its switch and ports
	latency                            distribution
	noEgress, unsynchronised, unusable int64
	clockSet                           int64     // number of records without usable times
	searched                           int64     // number of records found by search
	queue                              queueSeen // queues of the switch, for IFA
}

// DefaultPaths is the default maximum number of paths in a TailStamp. A path with eight hops needs about 3 kB, in
// addition to the distributions, which have a budget.
const DefaultPaths = 1 << 16

// hopsEach is the average number of hops per path that the limit allows. The capacity for leastPaths paths always
// exists. The TTL of a real packet allows no more hops than leastPaths paths have on average. A forged packet may have
// thousands of records.
const (
	hopsEach   = 8
	leastPaths = 256 / hopsEach
)

// NewTailStamp returns an empty collector. It distinguishes at most this number of paths of flows (0 means
// DefaultPaths), with hopsEach hops on average: the first ones that it receives. All latency distributions together use
// at most memory bytes (0 means DefaultMemory), and report when this is insufficient. If exact is true, every distinct
// latency is kept while memory allows, so that all percentiles are exact. Each latency needs about 40 bytes.
func NewTailStamp(paths int, memory int64, exact bool) *TailStamp {
	memory = cmp.Or(memory, DefaultMemory)
	return &TailStamp{
		flows: make(map[Flow]*flowStamps), most: cmp.Or(paths, DefaultPaths), exact: exact,
		memory: memory, room: budget{left: memory}, read: stamps,
	}
}

// Add adds one frame without its frame check sequence, captured at this time, and returns its records, oldest first.
// length is its length on the wire. A truncated frame lacks its end, where records would be. For an ERSPAN copy, the
// inner frame is evaluated.
func (c *TailStamp) Add(frame []byte, captured time.Time, length int) []tailstamp.Record {
	c.frames++
	if len(frame) < length {
		c.cut++
		return nil
	}
	inner, mirrored := c.unwrap(frame)
	readable := mirrored || !fragmentOfCopy(frame, c.reports)
	if mirrored {
		frame = inner
		if tailstamp.Shortened(frame) {
			c.cut++
			return nil
		}
	}
	tail, hops, frame, ok := c.read(frame, captured)
	records := tail.Records
	if len(records) == 0 {
		switch {
		case tailstamp.EndUnknown(frame):
			c.odd.noLength++
		case !ok || !readable:
			c.unread++
		default:
			c.plain++
		}
		return nil
	}
	c.odd.add(&tail)
	c.stamped++
	c.records += int64(len(records))
	key, _ := ParseFlow(frame) // records are only found after an IP packet
	flow, path := c.find(key, records, captured)
	if flow != nil {
		flow.add(captured)
	}
	if path != nil {
		path.add(records, hops)
		return records
	}
	c.beyond++
	if flow != nil {
		flow.beyond++
	}
	return records
}

// A StampedFrame is a frame with records.
type StampedFrame struct {
	Number  int64 // number in the capture, or among the frames read
	Time    time.Time
	Flow    Flow
	Records []tailstamp.Record // oldest first
	Skipped int                // bytes after the datagram that belong to no record
	hops    []ifa.Hop          // IFA hops of these records, or nil
}

// Residence returns departure minus arrival at a hop in nanoseconds. It returns false if that is unknown.
func Residence(r tailstamp.Record) (int64, bool) {
	if clockSet(r) {
		return 0, false
	}
	return difference(ingress(r), egress(r))
}

// LinkDelay returns the arrival at a hop minus the departure at the previous one in nanoseconds, by the clocks of both.
// It returns false if that is unknown.
func LinkDelay(before, r tailstamp.Record) (int64, bool) {
	if clockSet(before) || clockSet(r) {
		return 0, false
	}
	return difference(egress(before), ingress(r))
}

// wholeDelay returns the departure from the last hop minus the arrival at the first in nanoseconds. It returns false if
// that is unknown.
func wholeDelay(records []tailstamp.Record) (int64, bool) {
	first, last := records[0], records[len(records)-1]
	if clockSet(first) || clockSet(last) {
		return 0, false
	}
	return difference(ingress(first), egress(last))
}

// clockSet reports whether the clock was set between the times of a record. Then neither time counts, because it is
// unknown which one is correct.
func clockSet(r tailstamp.Record) bool { return r.Flags&tailstamp.ClockSet != 0 }

// EgressTime returns the time at which a frame left a hop. It returns false if there is no timestamp.
func EgressTime(r tailstamp.Record) (tailstamp.Timestamp, bool) {
	t := egress(r)
	return t, !t.IsZero()
}

// find returns the flow and the path of records, and creates them if necessary. The path, or both, are nil if the
// limits are exceeded.
func (c *TailStamp) find(key Flow, records []tailstamp.Record, captured time.Time) (*flowStamps, *pathStamps) {
	flow := c.flows[key]
	c.passed = appendPath(c.passed[:0], records)
	if flow != nil {
		if path := flow.paths[string(c.passed)]; path != nil {
			return flow, path
		}
	}
	hops := c.hops + len(records)
	if c.paths == c.most || (hops-1)/hopsEach >= max(c.most, leastPaths) {
		return flow, nil
	}
	c.paths++
	c.hops = hops
	if flow == nil {
		flow = &flowStamps{first: captured, last: captured, paths: make(map[string]*pathStamps)}
		c.flows[key] = flow
	}
	path := newPath(records, distribution{exact: c.exact, room: &c.room})
	flow.paths[string(c.passed)] = path
	return flow, path
}

func (f *flowStamps) add(captured time.Time) {
	f.frames++
	if captured.IsZero() {
		return
	}
	if f.first.IsZero() || captured.Before(f.first) {
		f.first = captured
	}
	if captured.After(f.last) {
		f.last = captured
	}
}

// appendPath appends the encoded switches and ports of records, which identify the path.
func appendPath(b []byte, records []tailstamp.Record) []byte {
	for _, r := range records {
		for _, n := range [...]uint64{uint64(r.SwitchID), uint64(r.InPort), uint64(r.OutPort)} {
			b = append(strconv.AppendUint(b, n, 10), ' ')
		}
	}
	return b
}

// newPath returns a path whose distributions are copies of empty.
func newPath(records []tailstamp.Record, empty distribution) *pathStamps {
	p := &pathStamps{
		hops: make([]hopStamps, len(records)), delays: make([]distribution, len(records)), endToEnd: empty,
	}
	for i, r := range records {
		p.hops[i] = hopStamps{record: r, latency: empty}
		p.delays[i] = empty
	}
	return p
}

func (p *pathStamps) add(records []tailstamp.Record, hops []ifa.Hop) {
	p.frames++
	for i, r := range records {
		hop := &p.hops[i]
		if i < len(hops) {
			hop.queue.add(&hops[i])
		}
		if r.Flags&tailstamp.Unsynchronised != 0 {
			hop.unsynchronised++
		}
		if r.Flags&tailstamp.Searched != 0 {
			hop.searched++
		}
		switch latency, ok := Residence(r); {
		case clockSet(r):
			hop.clockSet++
		case ok:
			hop.latency.add(latency)
		case egress(r).IsZero():
			hop.noEgress++
		default:
			hop.unusable++
		}
		if i > 0 {
			if delay, ok := LinkDelay(records[i-1], r); ok {
				p.delays[i].add(delay)
			}
		}
	}
	if len(records) == 1 {
		return // a path of one hop has no end-to-end distribution
	}
	if whole, ok := wholeDelay(records); ok {
		p.endToEnd.add(whole)
	}
}

func ingress(r tailstamp.Record) tailstamp.Timestamp { return r.Ingress }

// egress returns the egress time, or zero if the record has none.
func egress(r tailstamp.Record) tailstamp.Timestamp {
	if r.Flags&tailstamp.NoEgress != 0 {
		return tailstamp.Timestamp{}
	}
	return r.Egress
}

// difference returns to-from in nanoseconds, which may be negative. It returns false if a timestamp is absent or
// invalid, or if the difference exceeds 64 bits.
func difference(from, to tailstamp.Timestamp) (int64, bool) {
	const most = uint64(1) << 32 // limit of the difference in seconds
	if from.IsZero() || to.IsZero() || from.Nanoseconds >= 1e9 || to.Nanoseconds >= 1e9 ||
		max(from.Seconds, to.Seconds)-min(from.Seconds, to.Seconds) > most {
		return 0, false
	}
	return int64(to.Sub(from)), true
}

// Report is the report of a TailStamp. tamtam decode prints its JSON form.
type Report struct {
	File    string `json:"file,omitempty"`
	Frames  int64  `json:"frames"`
	Stamped int64  `json:"stamped"` // number of frames with at least one record
	Records int64  `json:"records"`
	Plain   int64  `json:"without_record"`
	// Unread counts frames for which it is unknown whether they have records: fragments of ERSPAN copies, which are not
	// reassembled. For IFA these are also fragments of reports, and stacks of another layout.
	Unread int64 `json:"unreadable,omitempty"`
	// Missed counts frames of a live interface that were lost before they could be read.
	Missed uint64 `json:"lost_before_read,omitempty"`
	// number of frames truncated by the snap length or a mirror session, so that records may be missing
	Cut int64 `json:"cut"`
	// Mirrored counts frames in ERSPAN copies.
	Mirrored int64 `json:"mirrored,omitempty"`
	// Reported counts frames in reports of an IFA terminator.
	Reported int64 `json:"reported,omitempty"`
	// NoLength counts IP frames whose length field is 0 or invalid. They are not searched for records, so it is unknown
	// whether they have some.
	NoLength int64 `json:"ip_length_unknown,omitempty"`
	// Skipped counts bytes behind datagrams, in SkippedIn frames, that are neither padding nor part of a record, such
	// as an undeclared FCS. Searched counts records that were found by search because of such bytes.
	Skipped   int64 `json:"skipped_bytes,omitempty"`
	SkippedIn int64 `json:"frames_with_skipped_bytes,omitempty"`
	Searched  int64 `json:"records_found_by_search,omitempty"`
	// Beyond counts stamped frames of flows or paths that exceeded the limit.
	Beyond int64 `json:"beyond,omitempty"`
	// Unranked is the number of hops, links and end-to-end figures below with unknown percentiles, because Memory was
	// insufficient.
	Unranked int64 `json:"percentiles_unknown,omitempty"`
	Memory   int64 `json:"memory_bytes"`
	kept     int   // number of paths
	ifa      bool
	Flows    []FlowReport `json:"flows"`
	Error    string       `json:"error,omitempty"` // reason why the file could not be read to its end
}

// FlowReport is the report of one flow.
type FlowReport struct {
	Flow        Flow   `json:"-"`
	Protocol    string `json:"protocol"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
	SourcePort  uint16 `json:"source_port"`
	DestPort    uint16 `json:"destination_port"`
	Later       bool   `json:"later_fragments,omitempty"` // true for later fragments, whose ports are unknown
	Frames      int64  `json:"frames"`
	Beyond      int64  `json:"beyond,omitempty"` // number of frames of paths that exceeded the limit
	// First and Last are the times of the first and the last captured frame. They are zero if the capture has no times.
	First time.Time    `json:"first,omitzero"`
	Last  time.Time    `json:"last,omitzero"`
	Paths []PathReport `json:"paths"`
}

// PathReport is the report of one path of a flow, beginning with hop 1.
type PathReport struct {
	Frames   int64       `json:"frames"`
	Hops     []HopReport `json:"hops"`
	EndToEnd Summary     `json:"end_to_end"` // from arrival at the first hop to departure from the last
}

// HopReport is the report of one switch on a path.
type HopReport struct {
	SwitchID uint32  `json:"switch_id"`
	InPort   string  `json:"in_port"`
	OutPort  string  `json:"out_port"`
	Latency  Summary `json:"latency"` // departure minus arrival
	// arrival minus departure at the previous hop; null at hop 1
	Delay    *Summary `json:"delay_from_previous"`
	NoEgress int64    `json:"no_egress_time"` // number of frames without a latency, because they went to the CPU
	// number of frames whose times are unreliable, because the switch's clock was not synchronised
	Unsynchronised int64 `json:"clock_not_synchronised"`
	// ClockSet counts frames that were in this switch when its clock was set. Their times here are not used.
	ClockSet int64 `json:"clock_set,omitempty"`
	Unusable int64 `json:"unusable_times,omitempty"`
	Searched int64 `json:"found_by_search,omitempty"` // number of frames whose record was not at its expected place
	// Queues lists the queues in IFA hops. QueueBytes summarises the bytes in them when frames arrived, and is nil if
	// unknown.
	Queues     []int        `json:"queues,omitempty"`
	QueueBytes *QueueReport `json:"queue_bytes,omitempty"`
}

// unwrap returns the frame inside an ERSPAN copy or an IFA report, and counts the copy or report.
func (c *TailStamp) unwrap(frame []byte) ([]byte, bool) {
	inner, ok := Mirrored(frame)
	if ok {
		c.mirrored++
	} else if c.reports {
		if inner, ok = Reported(frame); ok {
			c.reported++
		}
	}
	return inner, ok
}

// Report summarises the frames added so far: the flow with most frames first, then by address.
func (c *TailStamp) Report() Report {
	r := Report{Frames: c.frames, Stamped: c.stamped, Records: c.records, Cut: c.cut, Beyond: c.beyond,
		kept: c.paths, ifa: c.reports, Mirrored: c.mirrored, Reported: c.reported,
		NoLength: c.odd.noLength, Skipped: c.odd.skipped, SkippedIn: c.odd.skippedIn, Searched: c.odd.searched,
		Plain: c.plain, Unread: c.unread, Memory: c.memory, Flows: []FlowReport{}}
	for key, flow := range c.flows {
		f := flow.report(key)
		for _, p := range f.Paths {
			r.Unranked += p.unranked()
		}
		r.Flows = append(r.Flows, f)
	}
	slices.SortFunc(r.Flows, func(a, b FlowReport) int {
		return cmp.Or(cmp.Compare(b.Frames, a.Frames), a.Flow.compare(b.Flow))
	})
	return r
}

func (f *flowStamps) report(key Flow) FlowReport {
	r := FlowReport{
		Flow: key, Protocol: protocolName(key.Protocol),
		Source: key.Source.String(), Destination: key.Destination.String(),
		SourcePort: key.SourcePort, DestPort: key.DestPort, Later: key.LaterFragment,
		Frames: f.frames, Beyond: f.beyond, First: f.first, Last: f.last,
	}
	keys := make([]string, 0, len(f.paths))
	for k := range f.paths {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(f.paths[b].frames, f.paths[a].frames), cmp.Compare(a, b))
	})
	for _, k := range keys {
		r.Paths = append(r.Paths, f.paths[k].report())
	}
	return r
}

func (p *pathStamps) report() PathReport {
	r := PathReport{Frames: p.frames, EndToEnd: p.endToEnd.summary()}
	if len(p.hops) == 1 {
		r.EndToEnd = p.hops[0].latency.summary()
	}
	for i := range p.hops {
		hop := &p.hops[i]
		h := HopReport{
			SwitchID: hop.record.SwitchID,
			InPort:   portName(hop.record.InPort, "none"), OutPort: portName(hop.record.OutPort, "CPU"),
			Latency: hop.latency.summary(), NoEgress: hop.noEgress, Unsynchronised: hop.unsynchronised, Unusable: hop.unusable,
			ClockSet: hop.clockSet,
			Searched: hop.searched,
		}
		h.Queues, h.QueueBytes = hop.queue.report()
		if i > 0 {
			delay := p.delays[i].summary()
			h.Delay = &delay
		}
		r.Hops = append(r.Hops, h)
	}
	return r
}

// portName returns EthernetN, or other for a number that is not a front-panel port.
func portName(n uint16, other string) string {
	if n == tailstamp.NoPort {
		return other
	}
	return "Ethernet" + strconv.Itoa(int(n))
}
