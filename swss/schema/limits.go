package schema

import (
	"slices"
	"sync"
)

// MaxRows is how many rows of a table that is [Limited] are taken: more than any chip has room for, and little enough
// to hold in memory. Of more, those first by name are taken.
const MaxRows = 1 << 16

// Limited reports whether of a table of CONFIG_DB only [MaxRows] rows are taken: those of features, and what they name.
func Limited(table string) bool { return slices.Contains(limited(), table) }

// limited are the tables that are, collected once.
var limited = sync.OnceValue(func() []string {
	list := []string{CfgTAMCollector, CfgTAMSampler, CfgACLTableType, CfgTAMDevice, CfgTAMDestination, CfgTAMGroup}
	configured, _ := featureTables()
	for _, t := range configured {
		list = append(list, t.Config)
	}
	return list
})

// CheckSize returns an error if a row of CONFIG_DB is one that no daemon reads: if its key is too long, or it has more
// than most bytes of fields and values. Rows of tables that are not in [Tables] are nobody's, and are never refused.
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
