package cli

import (
	"context"
	"errors"
)

// tailStamping stamps packets with a time at the end of frames.
func tailStamping() feature {
	return feature{
		ref: "TAILSTAMPING", word: "tail-stamping", help: "Timestamps at the end of frames",
		about: "Timestamps at the end of frames", prompt: "ts", objects: []object{stampSession},
		shows: func(add addShow) {
			add(showTailStamping)
			add(showSessions, kw("sessions", "Flow groups that are stamped"), only(stampSessions.names()))
		},
		others: func(f feature) []*command {
			return []*command{{
				modes: inExec, form: seq("clear tam", f.keyword(), "counters"), do: clearTailStampCounters,
			}}
		},
	}
}

var stampSessions = tamList{"tail-stamping session", "tailstamping-sessions", "tailstamping-session"}

var stampSession = object{
	tamList: stampSessions, table: "TAM_TAILSTAMPING_TABLE", word: "session", help: "A flow group that is stamped",
	replace: true, tally: "Sessions", title: "Session", width: flowWidth, head: column{"Name", 11, 4},
	leaves: []leaf{
		{
			word: "flowgroup", help: "The flow group to stamp", kind: groupName, value: "Name of the flow group",
			need: true, label: "Flow Group Name", cell: column{"Flow Group", 16, 0},
		},
		clampMSS,
	},
}

var clampMSS = leaf{
	word: "clamp-mss", from: "tamtam-tailstamp", kind: number(1, 8), value: "Records, one of each switch that stamps",
	help: "Have full segments of TCP keep room for records", label: "Clamp MSS",
}

func clearTailStampCounters(context.Context, *call) error {
	return errors.New("not supported: the switch's tree offers no way to clear counters")
}
