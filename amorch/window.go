package amorch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/tam/altmark"
)

// Sizes of a window of flows.
const (
	windowFlows = 128 // at most: more may be longer than a list of SAI on the wire, 65536 bytes
	windowWords = 11  // of each colour of a flow
	timeWords   = 5
	kernelWords = 6
)

// An extensionAttr is one attribute of an ENTRY.
type extensionAttr struct {
	Meta  map[string]string `json:"sai_metadata"`
	Value any               `json:"value"`
}

// A clock is what a window says of the chip's time.
type clock struct {
	at           altmark.Time
	synchronised bool
	steps        uint64               // how often the clock was set
	kernel       *altmark.KernelClock // that it follows; nil: none
	started      uint64               // when the chip started, ns since 1970: another chip has another
}

// A reading is what a window says of a flow.
type reading struct {
	generation uint64 // how often the flow's state was zeroed
	of         [2]counts
}

// counts are those of a colour, cumulative but for the time.
type counts struct {
	packets, bytes, captures uint64
	captured                 altmark.Time // the last
	unsynchronised           bool         // at that time
	outside, pulseBytes      uint64
	foreign, foreignBytes    uint64 // of packets that came with a mark
	digest                   uint32 // of the last captured packet
}

// readFlows reads flows through a window, which exists for that long. All is of
// one instant.
func (o *Orch) readFlows(ctx context.Context, flows []uint32) (t clock, r []reading, err error) {
	request, err := json.Marshal(map[string]any{"attributes": []any{map[string]extensionAttr{"flows": {
		Meta:  map[string]string{"sai_attr_value_type": "SAI_ATTR_VALUE_TYPE_UINT32_LIST"},
		Value: flows,
	}}}})
	if err != nil {
		return t, nil, err
	}
	if err := o.dropWindows(ctx); err != nil {
		return t, nil, err
	}
	oid, err := orch.CreateExtension(ctx, o.api, Window, request)
	if err != nil {
		return t, nil, fmt.Errorf("create the window: %w", err)
	}
	o.windows = append(o.windows, oid)
	defer func() { err = errors.Join(err, o.dropWindows(ctx)) }()
	room := len(request) + 512 + 180*len(flows) // as a first guess
	text, err := orch.ReadExtension(ctx, o.api, oid, room)
	if err != nil {
		return t, nil, fmt.Errorf("read the window: %w", err)
	}
	return parseWindow(text, len(flows))
}

// dropWindows removes windows, also those that could not be removed before.
func (o *Orch) dropWindows(ctx context.Context) error {
	var errs []error
	o.windows = slices.DeleteFunc(o.windows, func(oid sai.OID) bool {
		err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeGenericProgrammable, oid))
		if err != nil && orch.Classify(err) != orch.Benign {
			errs = append(errs, fmt.Errorf("remove the window: %w", err))
			return false
		}
		return true
	})
	return errors.Join(errs...)
}

// parseWindow takes the numbers out of what a window returned.
func parseWindow(text []byte, flows int) (t clock, r []reading, err error) {
	var entry struct {
		Attributes []map[string]struct {
			Value []uint64 `json:"value"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(text, &entry); err != nil {
		return t, nil, fmt.Errorf("what the window returned: %w", err)
	}
	lists := map[string][]uint64{}
	for _, a := range entry.Attributes {
		for name, v := range a {
			lists[name] = v.Value
		}
	}
	for name, want := range map[string]int{"time": timeWords, "generations": flows, "counters": 2 * windowWords * flows} {
		if len(lists[name]) != want {
			return t, nil, fmt.Errorf("the window returned %d numbers as %s, want %d for %d flows", len(lists[name]), name, want, flows)
		}
	}
	w := lists["time"]
	if t, err = clockOf(w); err != nil {
		return t, nil, err
	}
	if t.kernel, err = kernelOf(lists["kernel"]); err != nil {
		return t, nil, err
	}
	r = make([]reading, flows)
	for i := range r {
		r[i].generation = lists["generations"][i]
		for colour := range r[i].of {
			w := lists["counters"][(2*i+colour)*windowWords:]
			at, err := timeOf(w[3], w[4])
			if err != nil {
				return t, nil, err
			}
			r[i].of[colour] = counts{
				packets: w[0], bytes: w[1], captures: w[2], captured: at, unsynchronised: w[5] != 0, outside: w[6], pulseBytes: w[7],
				foreign: w[8], foreignBytes: w[9], digest: uint32(w[10]),
			}
		}
	}
	return t, r, nil
}

func clockOf(w []uint64) (t clock, err error) {
	t.at, err = timeOf(w[0], w[1])
	t.synchronised, t.steps, t.started = w[2] != 0, w[3], w[4]
	return t, err
}

// kernelOf is what the chip says of the kernel whose clock its own follows; nil if it follows none.
func kernelOf(w []uint64) (*altmark.KernelClock, error) {
	switch {
	case w == nil:
		return nil, nil
	case len(w) != kernelWords:
		return nil, fmt.Errorf("the window returned %d numbers as kernel, want %d", len(w), kernelWords)
	case w[4] > 1<<62 || time.Duration(w[5]).Abs() > 1<<62:
		return nil, fmt.Errorf("the window returned a kernel's clock with an error of %d ns, and %d ns off, want at most 2^62", w[4], int64(w[5]))
	}
	return &altmark.KernelClock{
		Boot: [2]uint64{w[0], w[1]}, Known: w[2] != 0, Synchronised: w[3] != 0, MaxError: time.Duration(w[4]), Ahead: time.Duration(w[5]),
	}, nil
}

func timeOf(seconds, nanoseconds uint64) (altmark.Time, error) {
	if seconds >= 1<<48 || nanoseconds >= 1e9 {
		return altmark.Time{}, fmt.Errorf("the window returned the time %d s %d ns, want seconds below 2^48 and nanoseconds below 10^9", seconds, nanoseconds)
	}
	return altmark.Time{Seconds: seconds, Nanoseconds: uint32(nanoseconds)}, nil
}
