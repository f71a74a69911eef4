package device

import (
	"context"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// A TaskReport is what a task of FlyMon has measured, as COUNTERS_DB has it: its last
// epoch, or without epochs all.
type TaskReport struct {
	Status    string `json:"status"`
	Reason    string `json:"reason,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Units     string `json:"units,omitempty"` // group.cmu:base+size
	// Epoch is nil if none was read.
	Epoch *EpochReport `json:"epoch,omitempty"`
	// Flows are those that are heavy and those that were asked for, Sizes the flows by the
	// least size of their class.
	Flows map[string]flymon.Estimate `json:"flows,omitempty"`
	Sizes map[string]flymon.Estimate `json:"sizes,omitempty"`
	// Changes are those of the heavy changers.
	Changes map[string]flymon.Change `json:"changes,omitempty"`
}

// An EpochReport is what an epoch's registers say as a whole.
type EpochReport struct {
	Number  uint64                     `json:"number"`
	StartNS int64                      `json:"start_ns"` // since 1970
	EndNS   int64                      `json:"end_ns"`
	Flags   string                     `json:"flags,omitempty"`
	Load    float64                    `json:"load"`
	Full    float64                    `json:"full"`
	Metrics map[string]flymon.Estimate `json:"metrics"`
	// FlowsCut are flows, the smallest ones, that are missing for room.
	FlowsCut uint64 `json:"flows_cut,omitempty"`
	// ChangesCut are changes, the smallest ones, that are missing for room.
	ChangesCut uint64 `json:"changes_cut,omitempty"`
}

// An AnswerReport is the last answer to a query.
type AnswerReport struct {
	Task     string           `json:"task"`
	Flow     string           `json:"flow"`
	Status   string           `json:"status"`
	Reason   string           `json:"reason,omitempty"`
	Flags    string           `json:"flags,omitempty"`
	Estimate *flymon.Estimate `json:"answer,omitempty"`
}

// dump reads a table whole.
func (s *Sim) dump(ctx context.Context, db swss.DBName, table string) (map[string]swss.FieldValues, error) {
	return swss.NewTable(s.Redis.DB(db), table).Dump(ctx)
}

// tasks reports the tasks of FlyMon, if any are configured.
func (s *Sim) tasks(ctx context.Context, r *Report) error {
	rows := map[string]map[string]swss.FieldValues{}
	for table, db := range map[string]swss.DBName{
		schema.CfgTAMFlyMonTask: swss.ConfigDB, schema.CfgTAMFlyMonQuery: swss.ConfigDB,
		schema.StateTAMFlyMonTask: swss.StateDB, schema.StateTAMFlyMonQuery: swss.StateDB,
		schema.CountersFlyMonPlace: swss.CountersDB, schema.CountersFlyMonResult: swss.CountersDB,
		schema.CountersFlyMonFlows: swss.CountersDB, schema.CountersFlyMonSizes: swss.CountersDB,
		schema.CountersFlyMonAnswer: swss.CountersDB, schema.CountersFlyMonChange: swss.CountersDB,
	} {
		var err error
		if rows[table], err = s.dump(ctx, db, table); err != nil {
			return err
		}
	}
	for name := range rows[schema.CfgTAMFlyMonTask] {
		state, place := rows[schema.StateTAMFlyMonTask][name], rows[schema.CountersFlyMonPlace][name]
		t := TaskReport{
			Status: state["status"], Reason: state["reason"], Algorithm: place["ALGORITHM"], Units: place["UNITS"],
		}
		if fields := rows[schema.CountersFlyMonResult][name]; fields != nil {
			e, err := schema.ParseFlyMonResult(name, fields)
			if err != nil {
				return err
			}
			t.Epoch = &EpochReport{e.Epoch, e.Start, e.End, e.Flags.String(), e.Load, e.Full, e.Metrics, e.FlowsCut,
				e.ChangesCut}
		}
		var err error
		if t.Flows, err = estimates(schema.ParseFlyMonEstimate, rows[schema.CountersFlyMonFlows][name]); err != nil {
			return err
		}
		if t.Sizes, err = estimates(schema.ParseFlyMonEstimate, rows[schema.CountersFlyMonSizes][name]); err != nil {
			return err
		}
		if t.Changes, err = estimates(schema.ParseFlyMonChange, rows[schema.CountersFlyMonChange][name]); err != nil {
			return err
		}
		if r.FlyMon == nil {
			r.FlyMon = map[string]TaskReport{}
		}
		r.FlyMon[name] = t
	}
	for name, q := range rows[schema.CfgTAMFlyMonQuery] {
		state, row := rows[schema.StateTAMFlyMonQuery][name], rows[schema.CountersFlyMonAnswer][name]
		a := AnswerReport{
			Task: q["task"], Flow: q["flow"], Status: state["status"], Reason: state["reason"], Flags: row["FLAGS"],
		}
		if text := row["ESTIMATE"]; text != "" {
			e, err := schema.ParseFlyMonEstimate(text)
			if err != nil {
				return err
			}
			a.Estimate = &e
		}
		if r.Queries == nil {
			r.Queries = map[string]AnswerReport{}
		}
		r.Queries[name] = a
	}
	return nil
}

func estimates[E any](parse func(string) (E, error), fields swss.FieldValues) (map[string]E, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	all := make(map[string]E, len(fields))
	for name, text := range fields {
		e, err := parse(text)
		if err != nil {
			return nil, err
		}
		all[name] = e
	}
	return all, nil
}
