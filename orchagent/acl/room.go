package acl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/swss/schema"
)

// A slot is a table that the ASIC should have. It belongs to a row of ACL_TABLE, or to a TAM feature for the flow
// groups of a row. A table in the ASIC stays there, even if other tables are configured later, because sessions may use
// it. When a stage has capacity again, waiting tables are created in the order of compare. Tables of rows are first, by
// name. Tables of features follow, in the order of the schema. So filters of the operator precede measurements.
type slot struct{ table, feature string }

func (s slot) compare(o slot) int {
	return cmp.Or(compareFeatures(s.feature, o.feature), schema.CompareNames(s.table, o.table))
}

func (s slot) String() string {
	if s.feature == "" {
		return s.table
	}
	return s.table + " for " + s.feature
}

func (in *instance) seat() slot { return slot{in.table.name, in.feature} }

// seated returns the tables that stay in the ASIC at a stage, in the order of their seats.
func (o *Orch) seated(stage string) (list []*instance) {
	for _, t := range o.tables {
		for _, in := range t.instances {
			if in.def.stage == stage && !in.doomed {
				list = append(list, in)
			}
		}
	}
	slices.SortFunc(list, func(a, b *instance) int { return a.seat().compare(b.seat()) })
	return list
}

// noTable returns the error of a table that the ASIC refused. If the cause is a lack of capacity, the error names the
// tables that occupy it.
func (o *Orch) noTable(name, stage string, err error) error {
	err = fmt.Errorf("create ACL table %s: %w", name, err)
	var names []string
	for _, in := range o.seated(stage) {
		names = append(names, in.seat().String())
	}
	if !orch.Retryable(err) || len(names) == 0 {
		return err
	}
	const most = 8
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%w; the room at %s is taken by %s", err, strings.ToLower(stage), text)
}
