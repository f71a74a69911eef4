package orch_test

import (
	"testing"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A pass is repeated while the ASIC refuses more. If capacity was freed, it is repeated once more for rows without
// capacity.
func TestPasses(t *testing.T) {
	r := swsstest.Start(t)
	d := orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	t.Cleanup(func() { d.Close() })
	l := orch.NewLedger(d, r.DB(swss.ApplDB), nil, orch.LedgerTable{Name: "T"})
	row, passes := orch.Row("T", "k"), 0
	for range l.Passes {
		switch passes++; passes {
		case 1:
			l.Fail(row, "make k", sai.StatusTableFull)
			l.Why[row] = orch.WaitView()
		case 2:
			if !l.Refused(row) || len(l.Why) > 0 {
				t.Errorf("refused: %v, reasons: %v", l.Failed, l.Why)
			}
			l.Freed()
		case 3:
			if l.Refused(row) {
				t.Error("what had no room is not tried again")
			}
		}
	}
	if passes != 3 {
		t.Errorf("%d passes, want 3", passes)
	}
}
