package device

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Report contains the measurements of a run: report.json.
type Report struct {
	Start    time.Time `json:"start"` // time of day at cycle 0
	End      time.Time `json:"end"`
	Cycles   uint64    `json:"cycles"`
	ClockHz  uint64    `json:"clock_hz"`
	SwitchID string    `json:"switch_id"`

	Ports        map[string]PortReport    `json:"ports"`
	CPU          CPUReport                `json:"cpu"`
	Accounts     AccountsReport           `json:"books"`
	TailStamping map[string]SessionReport `json:"tailstamping"`
	// FlyMon holds the measurements of the tasks, and Queries the answers to queries. nil means that there are none.
	FlyMon  map[string]TaskReport   `json:"flymon,omitempty"`
	Queries map[string]AnswerReport `json:"queries,omitempty"`
	// TableRecord reports the sessions of table recording; nil means that there are none.
	TableRecord map[string]RecordReport `json:"tablerecord,omitempty"`
	// Truth holds the oracle's results by flow group; nil means that no oracle was requested.
	Truth map[string]TruthReport `json:"truth,omitempty"`
	// Program holds the counters of the program in the chip; nil means that there was no program.
	Program *ProgramReport `json:"program,omitempty"`
	// Problems lists the configured objects that are not active, each with its reason.
	Problems []Problem `json:"problems"`
}

// A PortReport counts frames; bytes include the FCS. Dropped counts frames by drop reason. Drops before the egress
// queue count at the ingress port, all others at the egress port. Reasons that did not occur are missing.
type PortReport struct {
	Received      uint64 `json:"received"`
	ReceivedBytes uint64 `json:"received_bytes"`
	// IntoPipe counts the frames that the ingress MAC did not drop (port-down, runt, oversize).
	IntoPipe  uint64            `json:"into_pipe"`
	Sent      uint64            `json:"sent"`
	SentBytes uint64            `json:"sent_bytes"`
	Dropped   map[string]uint64 `json:"dropped"`
	Balanced  bool              `json:"balanced"` // received = into_pipe + dropped by the MAC
	// Queues holds the queues that were used, by number.
	Queues map[string]QueueReport `json:"queues"`
}

// A CPUReport counts the frames that were punted.
type CPUReport struct {
	Sent uint64 `json:"sent"`
}

// A SessionReport holds the counters of a tail-stamping session, as in COUNTERS_DB. A counter that does not exist, or
// was not read yet, is nil, or missing from NotStamped.
type SessionReport struct {
	FlowGroup    string            `json:"flowgroup"`
	Status       string            `json:"status"`
	Reason       string            `json:"reason"`
	Matched      *uint64           `json:"matched"`
	MatchedBytes *uint64           `json:"matched_bytes"`
	Stamped      *uint64           `json:"stamped"`
	NotStamped   map[string]uint64 `json:"not_stamped"`
	SYNs         map[string]uint64 `json:"syns,omitempty"` // only for a session with clamp-mss
}

// reasonsNotStamped is the number of reasons why a packet is not stamped.
const reasonsNotStamped = 4

// A Problem is a configured object that is not active.
type Problem struct {
	Object string `json:"object"` // TABLE|key as in CONFIG_DB
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// JSON returns the text of report.json.
func (r *Report) JSON() ([]byte, error) { return json.MarshalIndent(r, "", "  ") }

// PortNames returns the ports ordered by number.
func (r *Report) PortNames() []string { return byNumber(SortedKeys(r.Ports)) }

// SessionNames returns the sorted names of the sessions.
func (r *Report) SessionNames() []string { return SortedKeys(r.TailStamping) }

// Report gathers the measurements of the switch so far. Counters are those of the last poll; see [Sim.Poll].
func (s *Sim) Report(ctx context.Context) (*Report, error) {
	r := &Report{
		Start: s.Chip.TrueTime(0), End: s.Now(), Cycles: uint64(s.Chip.Now()), ClockHz: s.Chip.Profile().ClockHz,
		Ports: map[string]PortReport{}, TailStamping: map[string]SessionReport{}, Problems: []Problem{},
	}
	t := s.Redis.Reading(ctx)
	for _, name := range s.portNames(t) {
		if id, ok := s.Chip.PortByName(name); ok {
			r.Ports[name] = s.portReport(id)
		}
	}
	counts := s.Chip.FrameCounts()
	r.CPU.Sent, r.Accounts = counts.ToCPU, accountsReport(counts)
	r.SwitchID = t.Row(swss.ApplDB, schema.AppTAMSwitch, schema.TAMGlobalKey)["op-switch-id"]
	for _, part := range []func(*swss.Reading) error{r.sessions, r.tasks, r.recordings} {
		wrong := part(t)
		if err := cmp.Or(t.Err(), wrong); err != nil { // a failed read does not mean a wrong value
			return nil, err
		}
	}
	var err error
	r.Problems, err = Problems(ctx, s.Redis)
	return r, err
}

func (s *Sim) portReport(id saisim.PortID) PortReport {
	c, _ := s.Chip.PortCounters(id)
	early := c.Dropped[drop.PortDown] + c.Dropped[drop.Runt] + c.Dropped[drop.Oversize]
	p := PortReport{
		Received: c.Received, ReceivedBytes: c.ReceivedBytes, IntoPipe: c.Entered, Sent: c.Sent, SentBytes: c.SentBytes,
		Dropped:  map[string]uint64{},
		Balanced: c.Received == c.Entered+early,
	}
	for i, n := range c.Dropped {
		if n > 0 {
			p.Dropped[drop.Reason(i).String()] = n
		}
	}
	p.Queues = queueReports(s.Chip, id)
	return p
}

// portNames returns the configured names of the ports that the chip has.
func (s *Sim) portNames(t *swss.Reading) []string {
	return byNumber(slices.DeleteFunc(t.Keys(swss.ApplDB, schema.AppPort), func(k string) bool {
		_, ok := s.Chip.PortByName(k)
		return !ok
	}))
}

// aliases returns the ports' names by their aliases.
func aliases(t *swss.Reading) map[string]string {
	rows, names := t.Dump(swss.ApplDB, schema.AppPort), map[string]string{}
	for _, name := range byNumber(SortedKeys(rows)) {
		if a := rows[name]["alias"]; a != "" && names[a] == "" {
			names[a] = name
		}
	}
	return names
}

func (r *Report) sessions(t *swss.Reading) error {
	state, counters := t.Dump(swss.StateDB, schema.StateTAMTailStamp), t.Dump(swss.CountersDB, schema.CountersTailStamp)
	for name, row := range t.Dump(swss.ConfigDB, schema.CfgTAMTailStamp) {
		c, err := schema.ParseCounters(schema.CountersTailStamp, name, counters[name])
		if err != nil {
			return err
		}
		report := SessionReport{
			FlowGroup: row["flowgroup"], Status: state[name]["status"], Reason: state[name]["reason"],
			Matched: c.Of("MATCHED_PACKETS"), MatchedBytes: c.Of("MATCHED_BYTES"), Stamped: c.Of("STAMPED_PACKETS"),
			NotStamped: c.Below("not-stamped"),
		}
		if syns := c.Below("syns"); len(syns) > 0 {
			report.SYNs = syns
		}
		r.TailStamping[name] = report
	}
	return nil
}

// Problems lists the configured objects that are not active according to STATE_DB.
func Problems(ctx context.Context, r *swss.Redis) ([]Problem, error) {
	all, err := fetch.NotInForce(ctx, r)
	list := []Problem{}
	for _, o := range all {
		if o.Word != "" {
			list = append(list, Problem{Object: o.Name, Status: o.Word, Reason: o.Reason})
		}
	}
	return list, err
}

// byNumber sorts names such as Ethernet4 and Ethernet16 by their numbers.
func byNumber(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		if d := len(a) - len(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// String returns the problem as text for messages.
func (p Problem) String() string { return fmt.Sprintf("%s: %s: %s", p.Object, p.Status, p.Reason) }
