package schema

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tables of high-frequency telemetry. That of sessions has the name of SONiC's code; the design document has no _TABLE.
const (
	CfgHFTProfile   = "HIGH_FREQUENCY_TELEMETRY_PROFILE"
	CfgHFTGroup     = "HIGH_FREQUENCY_TELEMETRY_GROUP"
	AppHFTProfile   = "HIGH_FREQUENCY_TELEMETRY_PROFILE_TABLE"
	AppHFTGroup     = "HIGH_FREQUENCY_TELEMETRY_GROUP_TABLE"
	StateHFTSession = "HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE"
	StateHFTReader  = "TAMTAM_HFT_READER"
)

// Groups of objects: the object types of SAI without their prefix.
const (
	HFTPort          = "PORT"
	HFTQueue         = "QUEUE"
	HFTBufferPool    = "BUFFER_POOL"
	HFTPriorityGroup = "INGRESS_PRIORITY_GROUP"
)

// HFTGroups returns all groups of objects.
func HFTGroups() []string { return []string{HFTBufferPool, HFTPriorityGroup, HFTPort, HFTQueue} }

// An HFTProfile is a row of HIGH_FREQUENCY_TELEMETRY_PROFILE.
type HFTProfile struct {
	Name    string
	Enabled bool   // whether the groups stream
	Micros  uint32 // time between two records in microseconds; 0 means SAI's default, 1000
}

func (p *HFTProfile) layout() layout {
	return layout{table: CfgHFTProfile, key: named(&p.Name), fields: []field{
		flag("stream_state", "enabled", "disabled", false, &p.Enabled, "Whether the groups of the profile stream."),
		number("poll_interval", 0, 1<<32-1, 0, &p.Micros,
			"Microseconds between two records; 0 is SAI's default, 1000."),
		ignored("otel_endpoint", "otel_certs"),
	}}
}

// Interval returns the time between two records.
func (p *HFTProfile) Interval() time.Duration {
	if p.Micros == 0 {
		return time.Millisecond
	}
	return time.Duration(p.Micros) * time.Microsecond
}

// An HFTGroup is a row of HIGH_FREQUENCY_TELEMETRY_GROUP: the statistics of the objects of one type.
type HFTGroup struct {
	Profile  string   // name of an HFTProfile
	Type     string   // one of HFTGroups
	Objects  []string // their names; a queue or priority group is its port, | and its number
	Counters []string // SAI's names of the statistics, without SAI_<type>_STAT_
}

const hftGroupKey = "profile|group"

// maxPriorityGroup is the greatest number of an ingress priority group.
const maxPriorityGroup = 7

func (g *HFTGroup) layout() layout {
	return layout{
		table: CfgHFTGroup,
		key: key{form: hftGroupKey, read: func(r *reader, key string) {
			profile, group, _ := strings.Cut(key, "|")
			if g.Profile, g.Type = profile, group; !ValidName(profile) || !slices.Contains(HFTGroups(), group) {
				r.bad("", key, hftGroupKey+", the group being "+oneOf(HFTGroups()))
			}
		}},
		fields: []field{
			own("object_names", "names separated by commas",
				"The objects: EthernetN, EthernetN|queue, EthernetN|priority group, or a buffer pool.", g.readObjects,
				func() string { return strings.Join(g.Objects, ",") }).parted(","),
			list("object_counters", "SAI's names of statistics without SAI_..._STAT_, separated by commas", &g.Counters,
				isReason, "The statistics of each object, such as IF_IN_OCTETS of a port."),
		},
	}
}

// readObjects reads the names of the objects, whose form depends on their type.
func (g *HFTGroup) readObjects(r *reader) {
	g.Objects = r.list("object_names")
	SortNames(g.Objects)
	for _, name := range g.Objects {
		port, number, numbered := strings.Cut(name, "|")
		n, ok := decimal(number)
		numbered = numbered && ok && number == utoa(n) // the name is compared as text
		valid, want := false, ""
		switch g.Type {
		case HFTPort:
			valid, want = IsPortName(name), "EthernetN"
		case HFTBufferPool:
			valid, want = ValidName(name), "the name of a buffer pool"
		case HFTQueue:
			valid, want = numbered && IsPortName(port) && n <= maxQueue, "EthernetN|queue, such as Ethernet0|3"
		case HFTPriorityGroup:
			valid = numbered && IsPortName(port) && n <= maxPriorityGroup
			want = "EthernetN|priority group, such as Ethernet0|3"
		default:
			return // the key is wrong
		}
		if !valid {
			r.bad("object_names", name, want)
		}
	}
}

// Fields of the rows of [StateHFTReader]: what syncd sends to a reader. Counts are since the start of the chip.
const (
	HFTReaderStatus   = "status"   // HFTReaderOK or HFTReaderFailed
	HFTReaderReason   = "reason"   // why the last message could not be sent
	HFTReaderRead     = "read"     // records that the chip has read, of all streams
	HFTReaderUnread   = "unread"   // the part of them that was dropped in the chip
	HFTReaderMessages = "messages" // that were sent
	HFTReaderRecords  = "records"  // in these messages
	HFTReaderLost     = "lost"     // records that could not be sent
	HFTReaderDelay    = "delay-us" // 99th percentile of the delay of the last 1024 messages; empty if there was none
)

// HFTReaderMgmt is the name of the reader that is an mgmtd in the process of syncd.
const HFTReaderMgmt = "mgmtd"

// HFTReaderPackets is the name of the reader that is all collectors to which the chip sends packets.
const HFTReaderPackets = "packets"

// Words for a reader's status.
const (
	HFTReaderOK     = "ok"
	HFTReaderFailed = "failed"
)

func hftTables() []Table {
	count := func(name, words string) Field { return Field{Name: name, Form: "a number", Words: words} }
	return []Table{
		of(Table{Config: CfgHFTProfile, Appl: AppHFTProfile, State: AppHFTProfile,
			Words: "A profile of high-frequency telemetry: whether its groups stream, and how often."}, HFTProfile{}),
		of(Table{Config: CfgHFTGroup, Appl: AppHFTGroup, State: AppHFTGroup,
			Words: "Statistics of the objects of one type, which the ASIC streams."}, HFTGroup{}),
		{State: StateHFTSession, Words: "A stream of statistics, for its readers.", Key: hftGroupKey, Fields: []Field{
			{Name: HFTStreamStatus, Form: "enabled, disabled", Words: "Whether it streams."},
			{Name: HFTSessionType, Form: "ipfix", Words: "The format."},
			{Name: HFTObjectNames, Form: "names separated by commas", Words: "The objects."},
			{Name: HFTObjectIDs, Form: "numbers separated by commas", Words: "Their labels, in the order of the names."},
			{Name: HFTSessionConfig, Form: "bytes", Words: "Messages of IPFIX with the templates."},
		}},
		{State: StateHFTReader, Words: "What syncd sends to a reader of streams; rows go when syncd does.",
			Key: "mgmtd, netlink, unix:PATH or udp:HOST:PORT", Fields: []Field{
				{Name: HFTReaderStatus, Form: "ok, failed", Words: "Whether the last message was sent."},
				{Name: HFTReaderReason, Form: "text or nothing", Words: "Why it was not."},
				count(HFTReaderRead, "Records that the chip has read, of all streams."),
				count(HFTReaderUnread, "Those of them that were dropped before they could be sent."),
				count(HFTReaderMessages, "Messages sent."), count(HFTReaderRecords, "Records in them."),
				count(HFTReaderLost, "Records that could not be sent."),
				{Name: HFTReaderDelay, Form: "a number or nothing",
					Words: "Microseconds from readout to sending, 99th percentile of the last 1024 messages."},
			}},
	}
}

// Fields of a session.
const (
	HFTStreamStatus  = "stream_status"  // enabled or disabled
	HFTSessionType   = "session_type"   // ipfix
	HFTObjectNames   = "object_names"   // separated by commas
	HFTObjectIDs     = "object_ids"     // labels, in the order of the names
	HFTSessionConfig = "session_config" // messages of IPFIX with the templates, as bytes
)

// An HFTSession is a row of HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE: a group whose templates are known.
type HFTSession struct {
	Enabled   bool
	Objects   []string
	Labels    []uint16 // of the objects, in their order
	Templates []byte
}

// ParseHFTSession parses a session. An error names the first field that is wrong, as countersyncd would find it.
func ParseHFTSession(key string, fields map[string]string) (s HFTSession, err error) {
	r := reader{table: StateHFTSession, key: key, fields: fields}
	s.Enabled = r.word(HFTStreamStatus, "", "enabled", "disabled") == "enabled"
	r.word(HFTSessionType, "", "ipfix")
	s.Templates = []byte(fields[HFTSessionConfig])
	if v := fields[HFTObjectNames]; v != "" {
		s.Objects = strings.Split(v, ",")
	}
	if v := fields[HFTObjectIDs]; v != "" {
		for _, word := range strings.Split(v, ",") {
			n, err := strconv.ParseUint(word, 10, 15)
			if err != nil {
				r.bad(HFTObjectIDs, v, "numbers up to 32767, separated by commas")
				break
			}
			s.Labels = append(s.Labels, uint16(n))
		}
	}
	if len(s.Labels) != len(s.Objects) {
		r.bad(HFTObjectIDs, fields[HFTObjectIDs], "as many numbers as "+HFTObjectNames+" has names")
	}
	return s, r.err()
}

// Fields returns the row of the session.
func (s *HFTSession) Fields() map[string]string {
	status := "disabled"
	if s.Enabled {
		status = "enabled"
	}
	return map[string]string{HFTStreamStatus: status, HFTSessionType: "ipfix",
		HFTObjectNames: strings.Join(s.Objects, ","), HFTObjectIDs: numbers(s.Labels), HFTSessionConfig: string(s.Templates)}
}
