package device

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"

	"tamtam/recordorch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// A RecordReport describes a session of table recording, as COUNTERS_DB does.
type RecordReport struct {
	FlowGroup string `json:"flowgroup"`
	Status    string `json:"status"`
	Reason    string `json:"reason,omitempty"`
	*PlanReport
	*RecordCounts
	// Plans lists the files of the session's recording plans, the newest first.
	Plans []string `json:"plans,omitempty"`
}

// A PlanReport describes the recording plan of a session; nil means that it has none.
type PlanReport struct {
	Tables   []string `json:"tables,omitempty"` // tables that the plan records
	PlanID   uint32   `json:"plan_id,omitempty"`
	Entropy  float64  `json:"entropy"`
	Full     float64  `json:"entropy_full"`
	Recovery float64  `json:"recovery"`
}

// RecordCounts holds the counters of a session; nil means that they were not read yet.
type RecordCounts struct {
	Matched    uint64 `json:"matched"`
	NotSampled uint64 `json:"not_sampled"`
	Recorded   uint64 `json:"recorded"`
	Lost       uint64 `json:"lost"`
}

// recordings reports the sessions of table recording, if any are configured.
func (r *Report) recordings(t *swss.Reading) error {
	rows, state := t.Dump(swss.ConfigDB, schema.CfgTAMTableRecord), t.Dump(swss.StateDB, schema.StateTAMTableRecord)
	plans, counters := t.Dump(swss.CountersDB, schema.CountersRecordPlan), t.Dump(swss.CountersDB, schema.CountersRecord)
	if len(rows) > 0 {
		r.TableRecord = map[string]RecordReport{}
	}
	for name, row := range rows {
		rec := RecordReport{FlowGroup: row["flowgroup"], Status: state[name]["status"], Reason: state[name]["reason"]}
		if fields := counters[name]; fields != nil {
			c, err := schema.ParseCounters(schema.CountersRecord, name, fields)
			if err != nil {
				return err
			}
			rec.RecordCounts = &RecordCounts{Matched: c.Counts["MATCHED"], NotSampled: c.Counts["NOT_SAMPLED"],
				Recorded: c.Counts["RECORDED"], Lost: c.Counts["LOST"]}
		}
		var err error
		if rec.PlanReport, err = planReport(plans[name]); err != nil {
			return fmt.Errorf("the plan of session %q: %w", name, err)
		}
		r.TableRecord[name] = rec
	}
	return nil
}

// planReport reads a row of TAM_TABLERECORD_PLANS. It returns nil if the row is empty.
func planReport(row swss.FieldValues) (*PlanReport, error) {
	if len(row) == 0 {
		return nil, nil
	}
	var p PlanReport
	for field, to := range map[string]*float64{"ENTROPY": &p.Entropy, "ENTROPY_FULL": &p.Full, "RECOVERY": &p.Recovery} {
		var err error
		if *to, err = strconv.ParseFloat(row[field], 64); err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
	}
	id, err := strconv.ParseUint(row["ID"], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("ID: %w", err)
	}
	if p.PlanID = uint32(id); row["TABLES"] != "" {
		p.Tables = strings.Split(row["TABLES"], ",")
	}
	return &p, nil
}

// RecordPlans holds the recording plans of each session in order of time, by session.
type RecordPlans map[string][]*record.Plan

// CollectPlans collects all recording plans from now on, until orchagent is restarted.
func (s *Sim) CollectPlans() RecordPlans {
	p := RecordPlans{}
	s.Orchagent.Planned().Subscribe(func(_ context.Context, n recordorch.Planned) {
		p[n.Session] = append(p[n.Session], n.Plan)
	})
	return p
}

const planSuffix = ".plan.json"

// fileName returns a session's name as a part of a file name. Slashes and the like are escaped. A long name is
// truncated and gets a checksum, which keeps it unique.
func fileName(session string) string {
	const most = 200
	name := url.PathEscape(session)
	if len(name) > most {
		name = fmt.Sprintf("%s-%08x", name[:most], crc32.ChecksumIEEE([]byte(session)))
	}
	return name
}

// Files returns the recording plans as files. record-SESSION.plan.json contains the last plan of a session, and
// record-SESSION.N.plan.json its N-th earlier plan.
func (p RecordPlans) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for session, list := range p {
		for i, name := range p.names(session) {
			text, err := json.MarshalIndent(list[len(list)-1-i], "", " ")
			if err != nil {
				return nil, err
			}
			files[name] = append(text, '\n')
		}
	}
	return files, nil
}

// names returns the file names of a session's recording plans, the newest first.
func (p RecordPlans) names(session string) (names []string) {
	n := len(p[session])
	for i := n; i > 0; i-- {
		name := "record-" + fileName(session) + planSuffix
		if i < n {
			name = fmt.Sprintf("record-%s.%d%s", fileName(session), i, planSuffix)
		}
		names = append(names, name)
	}
	return names
}

// report adds the file names of the recording plans to a report.
func (p RecordPlans) report(report *Report) {
	for session := range p {
		if r, ok := report.TableRecord[session]; ok {
			r.Plans = p.names(session)
			report.TableRecord[session] = r
		}
	}
}
