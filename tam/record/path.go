package record

// A Step is a table that a packet ran.
type Step struct {
	Table string `json:"table"`
	Hit   bool   `json:"hit,omitempty"`
	// Action is the action of the entry that was hit, if it is known. Counted paths have no actions.
	Action string `json:"action,omitempty"`
}

// A PathCount is the number of packets of a path. A path is the list of tables that ran, in order, without conditions.
type PathCount struct {
	Path    []Step `json:"path"`
	Packets uint64 `json:"packets"`
}
