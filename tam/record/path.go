package record

// A Step is a table that a packet ran.
type Step struct {
	Table string `json:"table"`
	Hit   bool   `json:"hit,omitempty"`
	// Action is that of the entry that was hit, where it is known; counted paths have none.
	Action string `json:"action,omitempty"`
}

// A PathCount says how many packets took a path. Conditions are invisible: a path is
// the tables that ran, in order.
type PathCount struct {
	Path    []Step `json:"path"`
	Packets uint64 `json:"packets"`
}
