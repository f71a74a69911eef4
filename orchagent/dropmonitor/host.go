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

// Reports to collectors behind the management interface go to the CPU, and hostd or hostifd sends them. So that they
// leave the CPU to others, there is a limit to how many do: as many a second as packets to the switch itself.
const (
	hostRate  = 6000
	hostBurst = 512 // of the frames that wait for the host
	hostQueue = 1
)

// A hostTrap is the trap of reports that the host sends, with its group and policer: one for all sessions.
type hostTrap struct {
	made  feature.Steps
	oid   sai.OID
	users int
}

// take makes the trap, unless it is there, as a step of a session.
func (o *Orch) take(ctx context.Context, steps *feature.Steps) (sai.OID, error) {
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

// leaveTrap takes a user of the trap away, and the trap with the last.
func (o *Orch) leaveTrap(ctx context.Context) error {
	x := &o.trap
	if x.users > 1 {
		x.users--
		return nil
	}
	x.oid = sai.NullOID // from here on it is not whole
	if err := x.made.Undo(ctx); err != nil {
		return err
	}
	x.users = 0
	return nil
}

// handed is a stream that the host sends.
type handed struct {
	chip, host uint64    // messages that the chip has handed over, and that the host knows of, when last asked
	waits      time.Time // since when the host does not take what there is; zero: it does
	wrong      string    // "": nothing
	// gap says that the host began anew, or took nothing for a while: how many messages were lost then nobody knows.
	gap bool
}

// hostTime is how long the host may take to tell of a message.
const hostTime = 3 * time.Second

// wrong says of which collectors the host sends nothing, and why.
func (b *binding) wrong() (all []string) {
	for _, t := range b.plan.targets {
		if text := b.atHost[stream(t, b.plan.port)].wrong; text != "" {
			all = append(all, "collector "+strconv.Quote(t.name)+": "+text)
		}
	}
	return all
}

// gap reports whether the host may have lost messages of the session that nobody counted.
func (b *binding) gap() bool {
	for _, h := range b.atHost {
		if h.gap {
			return true
		}
	}
	return false
}

// askHosts finds out what the host has made of the streams that it sends, and how many messages it could not send.
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

// askHost finds out what the host has made of a stream, and how many messages it could not send.
func (o *Orch) askHost(ctx context.Context, name string, words []uint64, was handed) (
	is handed, errors uint64, err error,
) {
	fields, _, err := o.sent.Get(ctx, name)
	if err != nil {
		return is, 0, err
	}
	row, err := schema.ParseManagementReports(name, fields)
	if err != nil {
		row = schema.ManagementReports{} // there is none, or it is somebody else's
	}
	is = handed{
		chip: words[dropreport.WordSent] + words[dropreport.WordTemplates] - words[dropreport.WordLost],
		host: row.Messages + row.Errors,
	}
	is.judge(was, o.Daemon.Now(), row.LastError)
	return is, row.Errors, nil
}

// judge finds out what is wrong with a stream, by what it was when last asked.
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
