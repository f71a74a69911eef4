package tammgr

import (
	"testing"

	"tamtam/cfgmgr/forward/forwardtest"
	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

var (
	applTables = []string{
		schema.AppTAMSwitch, schema.AppTAMCollector, schema.AppTAMSampler, schema.AppACLTableType, schema.AppACLTable,
		schema.AppACLRule, schema.AppTAMFeature, schema.AppTAMTailStamp, schema.AppTAMAltMark, schema.AppTAMFlyMonTask, schema.AppTAMFlyMonQuery, schema.AppTAMTableRecord,
	}
	stateTables = []string{
		schema.StateTAMSwitch, schema.StateTAMCollector, schema.StateTAMSampler, schema.StateACLTableType, schema.StateACLTable,
		schema.StateACLRule, schema.StateTAMFlowGroup, schema.StateTAMFeature, schema.StateTAMTailStamp, schema.StateTAMAltMark, schema.StateTAMFlyMonTask, schema.StateTAMFlyMonQuery, schema.StateTAMTableRecord,
	}
)

func newBench(t testing.TB, r *swss.Redis) *forwardtest.Bench {
	return forwardtest.New(t, r, func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

// fresh starts managers on an empty server.
func fresh(t testing.TB) func() *forwardtest.Bench {
	return func() *forwardtest.Bench { return newBench(t, swsstest.Start(t)) }
}
