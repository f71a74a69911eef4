package device

import (
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// A TaskReport holds the measurements of a FlyMon task, as in COUNTERS_DB. They cover its last epoch, or the whole run
// if it has no epochs.
type TaskReport struct {
	Status    string `json:"status"`
	Reason    string `json:"reason,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Units     string `json:"units,omitempty"` // group.cmu:base+size
	// Epoch is nil if no epoch was read.
	Epoch *EpochReport `json:"epoch,omitempty"`
	// Flows holds the estimates of heavy flows and of queried flows. Sizes holds the number of flows per size class;
	// the key is the smallest size of the class.
	Flows map[string]flymon.Estimate `json:"flows,omitempty"`
	Sizes map[string]flymon.Estimate `json:"sizes,omitempty"`
	// Changes holds the heavy changers.
	Changes map[string]flymon.Change `json:"changes,omitempty"`
}

// An EpochReport describes an epoch's registers as a whole.
type EpochReport struct {
	Number  uint64                     `json:"number"`
	StartNS int64                      `json:"start_ns"` // since 1970
	EndNS   int64                      `json:"end_ns"`
	Flags   string                     `json:"flags,omitempty"`
	Load    float64                    `json:"load"`
	Full    float64                    `json:"full"`
	Metrics map[string]flymon.Estimate `json:"metrics"`
	// FlowsCut is the number of flows that are missing for lack of space. The smallest flows are missing.
	FlowsCut uint64 `json:"flows_cut,omitempty"`
	// ChangesCut is the number of changes that are missing for lack of space. The smallest changes are missing.
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

// tasks reports the tasks of FlyMon, if any are configured.
func (r *Report) tasks(from *swss.Reading) error {
	counted := func(table string) map[string]swss.FieldValues { return from.Dump(swss.CountersDB, table) }
	states, places := from.Dump(swss.StateDB, schema.StateTAMFlyMonTask), counted(schema.CountersFlyMonPlace)
	results, flows := counted(schema.CountersFlyMonResult), counted(schema.CountersFlyMonFlows)
	sizes, changes := counted(schema.CountersFlyMonSizes), counted(schema.CountersFlyMonChange)
	for name := range from.Dump(swss.ConfigDB, schema.CfgTAMFlyMonTask) {
		state, place := states[name], places[name]
		t := TaskReport{
			Status: state["status"], Reason: state["reason"], Algorithm: place["ALGORITHM"], Units: place["UNITS"],
		}
		if fields := results[name]; fields != nil {
			e, err := schema.ParseFlyMonResult(name, fields)
			if err != nil {
				return err
			}
			t.Epoch = &EpochReport{e.Epoch, e.Start, e.End, e.Flags.String(), e.Load, e.Full, e.Metrics, e.FlowsCut,
				e.ChangesCut}
		}
		var err error
		if t.Flows, err = estimates(schema.ParseFlyMonEstimate, flows[name]); err != nil {
			return err
		}
		if t.Sizes, err = estimates(schema.ParseFlyMonEstimate, sizes[name]); err != nil {
			return err
		}
		if t.Changes, err = estimates(schema.ParseFlyMonChange, changes[name]); err != nil {
			return err
		}
		if r.FlyMon == nil {
			r.FlyMon = map[string]TaskReport{}
		}
		r.FlyMon[name] = t
	}
	states = from.Dump(swss.StateDB, schema.StateTAMFlyMonQuery)
	answers := counted(schema.CountersFlyMonAnswer)
	for name, q := range from.Dump(swss.ConfigDB, schema.CfgTAMFlyMonQuery) {
		state, row := states[name], answers[name]
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
