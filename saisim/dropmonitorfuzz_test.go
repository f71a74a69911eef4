package saisim_test

import (
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/tam/dropreport"
)

// Whatever ENTRY is, a register read of drop reports has as many counters as its streams have, or is refused. It
// accepts its own output.
func FuzzDropReportWindow(f *testing.F) {
	stream := `"192.0.2.1:50000>192.0.2.9:4739"`
	for _, value := range []string{
		`[` + stream + `]`, `[]`, `null`, `[""]`, `[` + stream + `,` + stream + `]`, `["[2001:db8::1]:1>[2001:db8::2]:2"]`,
		`["192.0.2.1>192.0.2.9"]`, `[7]`, `"` + strings.Repeat("x", 300) + `"`, `["[fe80::1%eth0]:1>192.0.2.9:65536"]`,
		`[` + strings.Repeat(stream+`,`, dropreport.MaxStreams) + stream + `]`,
	} {
		f.Add([]byte(`{"attributes":[{"streams":{"value":` + value + `}}]}`))
	}
	f.Add([]byte(`{"attributes":[{"streams":{"value":[]}},{"counters":{"value":[1]}}]}`))
	r := newRig(f, profile.Small())
	m := r.monitored(r.oid(7))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{m.tam})
	s := sketcher{r}
	f.Fuzz(func(t *testing.T, entry []byte) {
		s.TB = t
		oid, ok := s.fuzzed(dropreport.ObjectReports, entry)
		if !ok {
			return
		}
		if len(s.entryOf(oid)) > 0 {
			var numbers []uint64
			s.answer(oid, dropreport.AttrCounters, &numbers)
			if len(numbers)%int(dropreport.NumWords) != 0 || len(numbers) > dropreport.MaxStreams*int(dropreport.NumWords) {
				t.Errorf("%d counters", len(numbers))
			}
		}
		s.acceptsOwnOutput(oid)
	})
}
