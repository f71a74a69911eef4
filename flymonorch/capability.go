package flymonorch

import (
	"context"
	"errors"
	"fmt"

	"tamtam/flymonorch/plan"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

// probe queries whether the ASIC has CMU groups and all extensions that tasks need.
func (o *Orch) probe(ctx context.Context, api sai.API) error {
	for _, x := range []struct{ name, lack string }{
		{flymon.ObjectTask, "the switch has no CMU groups: its SAI has no extension " + flymon.ObjectTask},
		{flymon.ObjectGroups, "the switch does not report its CMU groups: its SAI has no extension " +
			flymon.ObjectGroups},
		{flymon.ObjectStatus, "tasks cannot be read: the switch's SAI has no extension " + flymon.ObjectStatus},
		{flymon.ObjectRegisters, "tasks cannot be read: the switch's SAI has no extension " + flymon.ObjectRegisters},
		{flymon.ObjectClear, "tasks cannot be cleared: the switch's SAI has no extension " + flymon.ObjectClear},
	} {
		n, err := feature.Room(ctx, api, x.name)
		if err != nil {
			return err
		}
		if n == 0 {
			o.Unsupported = x.lack
			return nil
		}
	}
	return nil
}

// learn reads the geometry of the CMU groups. It is unavailable before the first view is applied.
func (o *Orch) learn(ctx context.Context) error {
	g, err := o.geometry(ctx)
	if err != nil {
		if errors.Is(err, swss.ErrUnavailable) {
			return err
		}
		o.Log.Error("CMU groups", "err", err)
		o.unlearned = fmt.Errorf("what the CMU groups are like is not known: %w", err)
		o.askAt = o.Daemon.Now().Add(feature.TryAgain)
		return nil
	}
	o.reader.geo, o.pool, o.unlearned = g, plan.New(g), nil
	return nil
}

func (o *Orch) geometry(ctx context.Context) (g flymon.Geometry, err error) {
	defer o.Windows.Close(ctx)
	values, err := o.Windows.Ask(ctx, flymon.ObjectGroups, flymon.AttrGroups, struct{}{}, 1024)
	if err != nil {
		return g, err
	}
	if g, err = feature.Value[flymon.Geometry](values, flymon.AttrGeometry); err != nil {
		return g, err
	}
	if err := g.Validate(); err != nil {
		return g, fmt.Errorf("the switch's report of its CMU groups: %w", err)
	}
	return g, nil
}
