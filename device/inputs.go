package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tamtam/collector/capture"
	"tamtam/saisim"
	"tamtam/swss/schema"
)

// An Input is a capture and the name or alias of the port where it enters. The path may name a pipe; "-" is standard
// input.
type Input struct{ Port, Path string }

// inputs holds the captures of a run, each at its own port.
type inputs []*input

// An input is a capture with its next packet read.
type input struct {
	Input
	reader *capture.Reader
	ahead  *capture.Ahead
	port   saisim.PortID
	head   *capture.Packet // nil after the last packet
	due    saisim.Cycle    // cycle at which the frame's head enters
}

func openInputs(list []Input) (inputs, error) {
	var in inputs
	for _, i := range list {
		r, err := openCapture(i.Path)
		if err != nil {
			in.close()
			return nil, err
		}
		in = append(in, &input{Input: i, reader: r, ahead: capture.ReadAhead(capture.NewSorted(r))})
	}
	return in, nil
}

func openCapture(path string) (*capture.Reader, error) {
	if path == "-" {
		return capture.NewReader(os.Stdin, "standard input")
	}
	return capture.Open(path)
}

func (in inputs) close() {
	for _, i := range in {
		i.ahead.Close()
		i.reader.Close()
	}
}

// first reads the first packet of every input and returns the earliest time. The time is zero if there are no
// packets.
func (in inputs) first() (origin time.Time, err error) {
	for _, i := range in {
		if err := i.read(); err != nil {
			return origin, err
		}
		if i.head != nil && (origin.IsZero() || i.head.Time.Before(origin)) {
			origin = i.head.Time
		}
	}
	return origin, nil
}

func (i *input) read() (err error) {
	i.head, err = i.ahead.Next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// next returns the input whose head enters first, and the cycle. The cycle is that of the head's time, or later if the
// port still receives the previous frame. It returns nil after the last packet. The chip receives a frame only when its
// port is free. So a capture in which all frames have the same time waits in its file.
func (in inputs) next(chip saisim.Intake) (first *input, at saisim.Cycle) {
	for _, i := range in {
		if i.head == nil {
			continue
		}
		if e := max(i.due, chip.Free(i.port)); first == nil || e < at {
			first, at = i, e
		}
	}
	return first, at
}

// bind looks up the port of every input by name or alias.
func (in inputs) bind(chip *saisim.Chip, names []string, aliases map[string]string) error {
	seen := map[saisim.PortID]bool{}
	for _, i := range in {
		p, ok := chip.PortByName(i.Port)
		if !ok {
			p, ok = chip.PortByName(aliases[i.Port])
		}
		if !ok {
			return fmt.Errorf("input %s=%s: the switch has no port %q; it has %s", i.Port, i.Path, i.Port, portList(names))
		}
		if seen[p] {
			return fmt.Errorf("input %s=%s: the port has an input already; merge the captures first", i.Port, i.Path)
		}
		i.port, seen[p] = p, true
	}
	return nil
}

// explain adds the problems of the configured ports to an error.
func (s *Sim) explain(ctx context.Context, err error) error {
	problems, _ := Problems(ctx, s.Redis)
	for _, p := range problems {
		if strings.HasPrefix(p.Object, schema.CfgPort+"|") {
			err = fmt.Errorf("%w; %v", err, p)
		}
	}
	return err
}

func portList(names []string) string {
	const show = 8
	if len(names) == 0 {
		return "no ports"
	}
	if len(names) > show {
		return fmt.Sprintf("%v and %d more", names[:show], len(names)-show)
	}
	return fmt.Sprint(names)
}
