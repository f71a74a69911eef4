package amorch

import (
	"context"
	"fmt"
	"slices"

	"tamtam/orch/feature"
	"tamtam/tam/altmark"
)

// readFlows reads flows with a read object that exists only during the call. All values are from the same instant.
func (o *Orch) readFlows(ctx context.Context, flows []uint32) (altmark.ChipClock, []altmark.ChipFlow, error) {
	defer o.Windows.Close(ctx)
	room := 1024 + 192*len(flows) // initial estimate in bytes
	values, err := o.Windows.Ask(ctx, altmark.ObjectFlows, altmark.AttrFlows, flows, room)
	if err != nil {
		return altmark.ChipClock{}, nil, err
	}
	return parseFlows(values, len(flows))
}

// parseFlows extracts the numbers from the values of a register read.
func parseFlows(values feature.Values, flows int) (clock altmark.ChipClock, list []altmark.ChipFlow, err error) {
	numbers := map[string][]uint64{}
	names := []string{
		altmark.AttrTime, altmark.AttrGenerations, altmark.AttrCounters, altmark.AttrLate, altmark.AttrOuter,
		altmark.AttrArrivals, altmark.AttrKernel, altmark.AttrProgram,
	}
	for _, name := range names {
		if _, ok := values[name]; !ok {
			continue
		}
		if numbers[name], err = feature.Value[[]uint64](values, name); err != nil {
			return clock, nil, err
		}
	}
	if clock, err = altmark.ParseChipClock(numbers[altmark.AttrTime]); err == nil {
		list, err = altmark.ParseChipFlows(flows, numbers[altmark.AttrGenerations], numbers[altmark.AttrCounters],
			numbers[altmark.AttrLate], numbers[altmark.AttrOuter])
	}
	if err == nil {
		err = altmark.ParseChipArrivals(list, numbers[altmark.AttrArrivals])
	}
	clock.Programmed = slices.Contains(numbers[altmark.AttrProgram], 1)
	if words := numbers[altmark.AttrKernel]; err == nil && words != nil {
		clock.Kernel = new(altmark.KernelClock)
		*clock.Kernel, err = altmark.ParseKernelClock(words)
	}
	if err != nil {
		return clock, nil, fmt.Errorf("the window returned %w", err)
	}
	return clock, list, nil
}
