package dropmonitor

import (
	"context"
	"strconv"
	"time"

	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/dropreport"
)

// Limits of reports to collectors that are reached by the management interface. These reports go to the CPU, and hostd
// or hostifd sends them. The rate equals that of packets to the switch itself, so that other traffic can use the CPU
// too.
const (
	hostRate  = 6000
	hostBurst = 512 // maximum number of frames that wait for the host
	hostQueue = 1
)

// A hostTrap is the trap of reports that the host sends, with its group and policer. All sessions share it.
type hostTrap struct {
	made  feature.Steps
	oid   sai.OID
	users int
}

// acquireTrap adds a user of the trap as a step of a session, and makes the trap if it does not exist.
func (o *Orch) acquireTrap(ctx context.Context, steps *feature.Steps) (sai.OID, error) {
	x := &o.trap
	x.users++
	steps.Add("remove the trap of reports", o.leaveTrap)
	if x.oid != sai.NullOID {
		return x.oid, nil
	}
	policer, err := x.made.Create(ctx, o.SAI, "policer of reports", sai.ObjectTypePolicer,
		sai.Attr{ID: sai.PolicerAttrMeterType, Value: sai.MeterTypePackets},
		sai.Attr{ID: sai.PolicerAttrMode, Value: sai.PolicerModeStormControl},
		sai.Attr{ID: sai.PolicerAttrCir, Value: sai.Uint(hostRate)},
		sai.Attr{ID: sai.PolicerAttrCbs, Value: sai.Uint(hostBurst)},
		sai.Attr{ID: sai.PolicerAttrRedPacketAction, Value: sai.PacketActionDrop})
	if err != nil {
		return 0, err
	}
	group, err := x.made.Create(ctx, o.SAI, "trap group of reports", sai.ObjectTypeHostifTrapGroup,
		sai.Attr{ID: sai.HostifTrapGroupAttrQueue, Value: sai.Uint(hostQueue)},
		sai.Attr{ID: sai.HostifTrapGroupAttrPolicer, Value: policer})
	if err != nil {
		return 0, err
	}
	x.oid, err = x.made.Create(ctx, o.SAI, "trap of reports", sai.ObjectTypeHostifUserDefinedTrap,
		sai.Attr{ID: sai.HostifUserDefinedTrapAttrType, Value: sai.HostifUserDefinedTrapTypeTAM},
		sai.Attr{ID: sai.HostifUserDefinedTrapAttrTrapGroup, Value: group})
	return x.oid, err
}

// leaveTrap removes a user of the trap, and the trap with the last user.
func (o *Orch) leaveTrap(ctx context.Context) error {
	x := &o.trap
	if x.users > 1 {
		x.users--
		return nil
	}
	x.oid = sai.NullOID // from here on the trap is incomplete
	if err := x.made.Undo(ctx); err != nil {
		return err
	}
	x.users = 0
	return nil
}

// handed is a stream that the host sends.
type handed struct {
	chip, host uint64    // messages handed over by the chip, and handled by the host, at the last reading
	waits      time.Time // time since which the host has made no progress; zero if it has
	wrong      string    // the problem; "" if there is none
	// gap is true if an unknown number of messages was lost, because the host restarted or made no progress for a
	// while.
	gap bool
}

// hostTime is the maximum time until the host counts a message.
const hostTime = 3 * time.Second

// wrong returns the collectors to which the host sends nothing, with the reasons.
func (b *binding) wrong() (all []string) {
	for _, t := range b.plan.targets {
		if text := b.atHost[stream(t, b.plan.port)].wrong; text != "" {
			all = append(all, "collector "+strconv.Quote(t.name)+": "+text)
		}
	}
	return all
}

// gap reports whether the host may have lost messages of the session without counting them.
func (b *binding) gap() bool {
	for _, h := range b.atHost {
		if h.gap {
			return true
		}
	}
	return false
}

// askHosts updates the state of the streams that the host sends. It returns how many messages the host could not send.
func (o *Orch) askHosts(ctx context.Context, b *binding, streams []string, words [][]uint64) (
	errors uint64, err error,
) {
	now := map[string]handed{}
	for i, t := range b.plan.targets {
		if !t.host {
			continue
		}
		is, failed, err := o.askHost(ctx, streams[i], words[i], b.atHost[streams[i]])
		if err != nil {
			return errors, err
		}
		now[streams[i]] = is
		errors += failed
	}
	b.atHost = now
	return errors, nil
}

// askHost reads the state of a stream at the host. errors is the number of messages that the host could not send.
func (o *Orch) askHost(ctx context.Context, name string, words []uint64, was handed) (
	is handed, errors uint64, err error,
) {
	fields, _, err := o.sent.Get(ctx, name)
	if err != nil {
		return is, 0, err
	}
	row, err := schema.ParseManagementReports(name, fields)
	if err != nil {
		row = schema.ManagementReports{} // there is no row, or it belongs to another writer
	}
	is = handed{
		chip: words[dropreport.WordSent] + words[dropreport.WordTemplates] - words[dropreport.WordLost],
		host: row.Messages + row.Errors,
	}
	is.judge(was, o.Daemon.Now(), row.LastError)
	return is, row.Errors, nil
}

// judge determines the problem of a stream by comparison with the previous reading.
func (h *handed) judge(was handed, now time.Time, failed string) {
	switch {
	case h.host != was.host || h.chip < was.chip:
	case h.chip > was.chip && was.waits.IsZero():
		h.waits = now
	default:
		h.waits = was.waits
	}
	late := !h.waits.IsZero() && now.Sub(h.waits) >= hostTime
	h.gap = late || h.host < was.host || was.gap && h.chip >= was.chip
	switch {
	case late:
		h.wrong = "the host does not send its reports: hostd or hostifd is to have the switch's CPU port"
	case failed != "":
		h.wrong = "the host could not send the last report: " + failed
	}
}
