package flymonorch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

// probe asks the ASIC whether it has CMU groups, and all that is needed to use them.
func (o *Orch) probe(ctx context.Context) error {
	for _, x := range []struct{ name, lack string }{
		{ObjectTask, "the switch has no CMU groups: its SAI has no extension " + ObjectTask},
		{ObjectGroups, "the switch does not say what its CMU groups are like: its SAI has no extension " + ObjectGroups},
		{ObjectStatus, "tasks cannot be read: the switch's SAI has no extension " + ObjectStatus},
		{ObjectRegisters, "tasks cannot be read: the switch's SAI has no extension " + ObjectRegisters},
		{ObjectClear, "tasks cannot be cleared: the switch's SAI has no extension " + ObjectClear},
	} {
		n, err := orch.ExtensionRoom(ctx, o.api, x.name)
		if err != nil {
			return err
		}
		if n == 0 {
			o.unsupported = x.lack
			return nil
		}
	}
	return nil
}

// tryAgain is how long after a failure the chip is asked again what it is like, and
// windows that stay are tried again to be removed.
const tryAgain = time.Second

// learn asks what the CMU groups are like. Before the first view is applied there is
// nothing to ask.
func (o *Orch) learn(ctx context.Context) error {
	g, err := o.geometry(ctx)
	if err != nil {
		if errors.Is(err, swss.ErrUnavailable) {
			return err
		}
		o.log.Error("CMU groups", "err", err)
		o.unlearned = fmt.Errorf("what the CMU groups are like is not known: %w", err)
		o.askAt = o.daemon.Now().Add(tryAgain)
		return nil
	}
	o.geo, o.pool, o.unlearned = g, plan.New(g), nil
	return nil
}

func (o *Orch) geometry(ctx context.Context) (g flymon.Geometry, err error) {
	r := o.round(ctx)
	defer func() { err = errors.Join(err, r.close()) }()
	values, err := r.ask(ObjectGroups, "groups", struct{}{}, 1024)
	if err != nil {
		return g, err
	}
	if g, err = orch.ExtensionValue[flymon.Geometry](values, "geometry"); err != nil {
		return g, err
	}
	if err := g.Validate(); err != nil {
		return g, fmt.Errorf("what the switch says of its CMU groups: %w", err)
	}
	return g, nil
}
