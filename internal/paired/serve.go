package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"tamtam/lab/bench/chipload"
)

// loadOf finds the load of a name: of the list, or PART or "PART, than" of a part.
func loadOf(name string) (chipload.Load, error) {
	for _, n := range chipload.Chip {
		if n.Name == name {
			return n.Load, nil
		}
	}
	for _, p := range chipload.Parts {
		switch name {
		case p.Name:
			return p.Load, nil
		case p.Name + than:
			return p.Than, nil
		}
	}
	return chipload.Load{}, fmt.Errorf("no load %q", name)
}

const than = ", than"

// serve makes a chip, and for each line of in sends so many packets and tells the nanoseconds of processor
// time that they took.
func serve(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	l, err := loadOf(name)
	if err != nil {
		return err
	}
	f, err := chipload.New(ctx, l)
	if err != nil {
		return err
	}
	if err := f.Send(50_000); err != nil { // until nothing grows any more
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		before, err := chipload.ProcessorTime()
		if err != nil {
			return err
		}
		if err := f.Send(n); err != nil {
			return err
		}
		after, err := chipload.ProcessorTime()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, (after - before).Nanoseconds()); err != nil {
			return err
		}
	}
	return f.Check()
}

// A server is a process that serves a load.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err strings.Builder
}

func start(ctx context.Context, program, load string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, program, "-serve", load)}
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	s.cmd.Stderr = &s.err
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return s, s.cmd.Start()
}

// send returns the nanoseconds that a packet takes, of n.
func (s *server) send(n int) (float64, error) {
	if _, err := fmt.Fprintln(s.in, n); err != nil {
		return 0, fmt.Errorf("%w: %s", err, s.err.String())
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, s.err.String())
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return ns / float64(n), err
}

// stop ends the process, which checks where its packets went.
func (s *server) stop() error {
	_ = s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, s.err.String())
	}
	return nil
}
