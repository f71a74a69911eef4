package recordorch

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tamtam/swss"
	"tamtam/tam/record"
)

// Fields of the row that stores the place of a plan: the parameters of the plan. The key of the row is the offset of
// its bits.
const (
	fieldPHV           = "phv"
	fieldMode          = "mode"
	fieldAlgorithm     = "algorithm"
	fieldMust          = "must-record"
	fieldProbabilities = "probabilities"
	fieldGraph         = "graph" // version of the graph
	fieldPaths         = "paths" // JSON of the counted paths
)

// maxPathsText is the maximum length of stored paths, in bytes.
const maxPathsText = 4 << 20

// A formerScheme contains the data that the previous run stored about a plan in the chip.
type formerScheme struct {
	offset, bits int
	version      uint64
	paths        []record.PathCount // counted paths; nil if the plan was made from uniform probabilities
}

// remember stores the place of a scheme's plan for a later process.
func (o *Orch) remember(c *scheme) {
	k := keyOf(c.settings)
	row := swss.FieldValues{
		fieldPHV: k.phv, fieldMode: k.mode, fieldAlgorithm: k.algorithm, fieldMust: k.must,
		fieldProbabilities: k.probabilities, fieldGraph: strconv.FormatUint(c.version, 10),
	}
	if c.paths != nil {
		text, err := json.Marshal(c.paths)
		if err != nil {
			o.Log.Error("what a plan was made by is not remembered", "err", err)
		}
		row[fieldPaths] = string(text)
	}
	o.places.Put(strconv.Itoa(c.offset), row)
}

// readFormer reads the places of the plans at the end of the previous process. Otherwise the order of the sessions
// would determine the bits of a plan, and a plan with new bits would interrupt its records.
func (o *Orch) readFormer() {
	o.former = map[schemeKey]formerScheme{}
	rows := o.places.AllFormer()
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		k, f, err := parseFormer(key, rows[key])
		if err == nil {
			err = o.conflict(k, f)
		}
		if err != nil {
			o.Log.Warn("a plan does not get the bits that it had", "offset", key, "because", err)
			continue
		}
		o.former[k] = f
	}
}

// conflict returns an error if another former plan has the same settings, or overlapping bits.
func (o *Orch) conflict(k schemeKey, f formerScheme) error {
	if other, ok := o.former[k]; ok {
		return fmt.Errorf("the same plan is at %d", other.offset)
	}
	for _, other := range o.former {
		if f.offset < other.offset+other.bits && other.offset < f.offset+f.bits {
			return fmt.Errorf("%d bits meet those of the plan at %d", f.bits, other.offset)
		}
	}
	return nil
}

func parseFormer(key string, row swss.FieldValues) (k schemeKey, f formerScheme, err error) {
	k = schemeKey{row[fieldPHV], row[fieldMode], row[fieldAlgorithm], row[fieldMust], row[fieldProbabilities]}
	phv, err := record.ParseContainers(k.phv)
	if err != nil {
		return k, f, err
	}
	f.bits = phv.Bits()
	if f.offset, err = strconv.Atoi(key); err != nil || f.offset < 0 || f.offset > recordBits-f.bits {
		return k, f, fmt.Errorf("offset %.40q, want 0 to %d", key, recordBits-f.bits)
	}
	if f.version, err = strconv.ParseUint(row[fieldGraph], 10, 64); err != nil {
		return k, f, fmt.Errorf("graph %.40q, want a number", row[fieldGraph])
	}
	text, ok := row[fieldPaths]
	if !ok {
		return k, f, nil
	}
	if len(text) > maxPathsText {
		return k, f, fmt.Errorf("paths of %d bytes, want at most %d", len(text), maxPathsText)
	}
	if err := json.Unmarshal([]byte(text), &f.paths); err != nil {
		return k, f, fmt.Errorf("paths %.40q: %w", text, err)
	}
	if n := len(f.paths); n == 0 || n > maxPaths {
		return k, f, fmt.Errorf("%d paths, want 1 to %d", n, maxPaths)
	}
	return k, f, nil
}

// ViewApplied frees the unused bits of the previous run after the first view was applied.
func (o *Orch) ViewApplied() {
	o.Feature.ViewApplied()
	o.former = nil
	o.MarkRefused()
}
