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

// A RecordReport is what a session of table recording did, as COUNTERS_DB has it.
type RecordReport struct {
	FlowGroup string `json:"flowgroup"`
	Status    string `json:"status"`
	Reason    string `json:"reason,omitempty"`
	*PlanReport
	*RecordCounts
	// Plans are the files of the plans by which it has recorded, the last one first.
	Plans []string `json:"plans,omitempty"`
}

// A PlanReport is the plan of a session; nil: it has none.
type PlanReport struct {
	Tables   []string `json:"tables,omitempty"` // that the plan records
	PlanID   uint32   `json:"plan_id,omitempty"`
	Entropy  float64  `json:"entropy"`
	Full     float64  `json:"entropy_full"`
	Recovery float64  `json:"recovery"`
}

// RecordCounts are what a session has recorded; nil: that is not counted yet.
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

// planReport reads a row of TAM_TABLERECORD_PLANS; nil: there is none.
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

// RecordPlans are the plans by which sessions of table recording have recorded, in order, by session.
type RecordPlans map[string][]*record.Plan

// CollectPlans notes all plans from now on, until orchagent is started again.
func (s *Sim) CollectPlans() RecordPlans {
	p := RecordPlans{}
	s.Orchagent.Planned().Subscribe(func(_ context.Context, n recordorch.Planned) {
		p[n.Session] = append(p[n.Session], n.Plan)
	})
	return p
}

const planSuffix = ".plan.json"

// fileName is a session's name as a part of a file's: slashes and the like are escaped, and a
// long name is cut and told apart by a checksum.
func fileName(session string) string {
	const most = 200
	name := url.PathEscape(session)
	if len(name) > most {
		name = fmt.Sprintf("%s-%08x", name[:most], crc32.ChecksumIEEE([]byte(session)))
	}
	return name
}

// Files are the plans as files: record-SESSION.plan.json is the last one of a session,
// record-SESSION.N.plan.json the N-th of those before.
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

// names are the files of a session's plans, the last one first.
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

// tell gives a report the names of the plans' files.
func (p RecordPlans) tell(report *Report) {
	for session := range p {
		if r, ok := report.TableRecord[session]; ok {
			r.Plans = p.names(session)
			report.TableRecord[session] = r
		}
	}
}
