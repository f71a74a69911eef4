package saisim

import (
	"tamtam/sai"
	"tamtam/tam/record"
)

// A RecordPlanRow is a plan of table recording.
type RecordPlanRow struct {
	OID        sai.OID
	ID, Switch uint32
	PHV        record.Containers
	Offset     int
	Graph      uint64 // version
	Marks      []record.Mark
	Sessions   []RecordSessionRow
}

// A RecordSessionRow is a session of a plan.
type RecordSessionRow struct {
	Label  string
	Sample uint32 // at least 1
	Tunnel *record.ChipTunnel
}
