package rows

import (
	"context"
	"errors"
	"os"

	"tamtam/lab"
)

// labOracle is the number of flows of each sketch task that a displayed lab also counts exactly.
const labOracle = 1 << 16

// readings is how often the counters of ports are read in a displayed lab.
const readings = 200

// Show runs a lab, and returns the Run. Captures are in a temporary directory, unless the options name one.
func Show(ctx context.Context, t *lab.Topology, opts lab.Options) (shown *Run, err error) {
	if opts.Out == "" {
		if opts.Out, err = os.MkdirTemp("", "tamtam-lab-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(opts.Out)) }()
	}
	opts.Oracle = labOracle
	opts.Counters = max(t.RunTime()/readings, lab.Microsecond)
	l, err := lab.New(ctx, t, opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Run(ctx, t.RunTime()); err != nil {
		return nil, err
	}
	r, err := l.Result(ctx)
	if err != nil {
		return nil, err
	}
	return Read(ctx, l, r, opts.Out)
}
