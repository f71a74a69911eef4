package portsorch

import (
	"context"
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// portInitDone is the key of PORT_TABLE that says that all ports are in the
// ASIC.
const portInitDone = "PortInitDone"

// An operWriter keeps oper_status of ports and LAGs in APPL_DB and STATE_DB.
type operWriter struct {
	appl, state       *swss.Table
	applLAG, stateLAG *swss.Table
	touched           map[string]bool // ports and LAGs to be written
	initDone          bool            // PortInitDone was written
}

func (w *operWriter) open(ctx context.Context, r *swss.Redis) error {
	w.appl = swss.NewTable(r.DB(swss.ApplDB), schema.AppPort)
	w.state = swss.NewTable(r.DB(swss.StateDB), schema.StatePort)
	w.applLAG = swss.NewTable(r.DB(swss.ApplDB), schema.AppLAG)
	w.stateLAG = swss.NewTable(r.DB(swss.StateDB), schema.StateLAG)
	w.touched = map[string]bool{}
	return w.appl.Del(ctx, portInitDone)
}

func (w *operWriter) touch(name string) { w.touched[name] = true }

// operChanged tells a port's host interface and marks the port, and the LAG it
// is in, to be written.
func (o *Orch) operChanged(ctx context.Context, name string) {
	p := o.ports[name]
	up := sai.Bool(p.oper == sai.PortOperStatusUp)
	if p.hostif != 0 {
		if err := o.set(ctx, sai.ObjectTypeHostif, p.hostif, sai.HostifAttrOperStatus, up); err != nil {
			o.log.Warn("the host interface does not show the port's state", "port", name, "err", err)
		}
	}
	o.oper.touch(name)
	if p.lag != "" {
		o.oper.touch(p.lag)
	}
	o.log.Info("port state", "port", name, "up", bool(up))
}

// flush writes what changed, and PortInitDone once.
func (w *operWriter) flush(ctx context.Context, o *Orch) error {
	for _, name := range slices.SortedFunc(maps.Keys(w.touched), schema.CompareNames) {
		appl, state, up := w.appl, w.state, false
		if p := o.ports[name]; p != nil {
			up = p.oper == sai.PortOperStatusUp
		} else if o.lags[name] != nil {
			appl, state, up = w.applLAG, w.stateLAG, o.lagUp(name)
		} else {
			delete(w.touched, name)
			continue
		}
		word := swss.FieldValues{"oper_status": "down"}
		if up {
			word["oper_status"] = "up"
		}
		if err := appl.Set(ctx, name, word); err != nil {
			return err
		}
		if err := state.Set(ctx, name, word); err != nil {
			return err
		}
		delete(w.touched, name)
	}
	if !w.initDone && o.ready {
		if err := w.appl.Set(ctx, portInitDone, swss.FieldValues{"lanes": "0"}); err != nil {
			return err
		}
		w.initDone = true
	}
	return nil
}
