package schema

import (
	"slices"
	"sync"
)

// MaxRows is the maximum number of rows that are read from a [Limited] table. It exceeds the capacity of any chip,
// and still fits in memory. If there are more, the first by name are read.
const MaxRows = 1 << 16

// Limited reports whether only [MaxRows] rows of a table of CONFIG_DB are read. This holds for the tables of features,
// and for the tables that their rows refer to.
func Limited(table string) bool { return slices.Contains(limited(), table) }

// limited returns the limited tables, collected once.
var limited = sync.OnceValue(func() []string {
	list := []string{CfgTAMCollector, CfgTAMSampler, CfgACLTableType, CfgTAMDevice, CfgTAMDestination, CfgTAMGroup}
	configured, _ := featureTables()
	for _, t := range configured {
		list = append(list, t.Config)
	}
	return list
})

// CheckSize returns an error if no daemon reads a row of CONFIG_DB because of its size: its key is too long, or it
// has more than most bytes of fields and values. It accepts all rows of tables that are not in [Tables], which no
// daemon reads.
func CheckSize(table, key string, fields map[string]string, most int64) error {
	if !slices.ContainsFunc(tables(), func(t Table) bool { return t.Config == table }) {
		return nil
	}
	var size int64
	for f, v := range fields {
		size += int64(len(f) + len(v))
	}
	if size > most {
		fields = TooLarge(size, most)
	} else {
		fields = nil
	}
	if r := newReader(table, key, fields, false); r.closed {
		return r.errs[0]
	}
	return nil
}
