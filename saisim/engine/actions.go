package engine

import "tamtam/saisim/config"

// actions are effects of packet actions. They combine by or: the stricter wins.
type actions uint8

const (
	actDrop   actions = 1 << iota // the packet is not forwarded
	actCopy                       // the CPU receives a copy
	actCancel                     // the CPU receives no copy
)

// actionsOf returns the effects of a packet action.
func actionsOf(a config.PacketAction) actions {
	switch a {
	case config.Drop:
		return actDrop
	case config.Copy, config.Log:
		return actCopy
	case config.CopyCancel, config.Transit:
		return actCancel
	case config.Punt:
		return actDrop | actCopy
	case config.Deny:
		return actDrop | actCancel
	}
	return 0 // forward and do-not-drop have no effect
}
