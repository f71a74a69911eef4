package tam

import (
	"tamtam/cli/kit"
)

// tailStamping returns the feature that adds a time stamp at the end of frames.
func tailStamping() Feature {
	return Feature{
		Ref: "TAILSTAMPING", Word: "tail-stamping", Help: "Timestamps at the end of frames",
		about: "Timestamps at the end of frames", Prompt: "ts", Objects: []Object{stampSession},
		Shows: func(add addShow) {
			add(showTailStamping)
			add(showSessions, kit.Keyword("sessions", "Flow groups that are stamped"), kit.Only(stampSessions.Names()))
		},
	}
}

var stampSessions = List{"tail-stamping session", "tailstamping-sessions", "tailstamping-session"}

var stampSession = Object{
	List: stampSessions, Table: "TAM_TAILSTAMPING_TABLE", Word: "session", Help: "A flow group that is stamped",
	Replace: true, tally: "Sessions", Title: "Session", Width: flowWidth, head: kit.Col("Name", 11, 4),
	Leaves: stampLeaves,
}

var stampLeaves = declaredIn("TAM_TAILSTAMPING_TABLE", []kit.Leaf{
	{
		Word: "flowgroup", Help: "The flow group to stamp", Kind: GroupName, Value: "Name of the flow group",
		Need: true, Label: "Flow Group Name", Cell: kit.Col("Flow Group", 16, 0),
	},
	{
		Word: "clamp-mss", From: "tamtam-tailstamp", Value: "Records, one of each switch that stamps",
		Help: "Have full segments of TCP keep room for records", Label: "Clamp MSS",
	},
})

var clampMSS = stampLeaves[1]
