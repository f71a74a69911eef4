package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector/capture"
	"tamtam/saisim/p4"
	"tamtam/saisim/p4/control"
	"tamtam/saisim/p4/interp"
)

func newP4() *cobra.Command {
	c := &cobra.Command{
		Use:   "p4",
		Short: "Check and run P4 programs that p4c compiled for BMv2 (v1model)",
		Long: `Check and run P4 programs that p4c compiled for BMv2 with the architecture v1model.

Programs run on an interpreter that has no hardware time: a packet passes pipelines and ports in no
time, and waits only in queues that have a rate. docs/reference/p4.md lists what is supported.`,
	}
	c.AddCommand(newP4Check(), newP4Run(), newP4Test())
	return c
}

func newP4Check() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "check PROGRAM",
		Args:  cobra.ExactArgs(1),
		Short: "Read a program and describe its parser, tables and arrays",
		Long: `Read a P4 program and describe it. The exit code is 1 if something in it is not supported; the error
then names the object and, where the file has it, the line of the P4 source.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			asJSON, err := textOrJSON(format)
			if err != nil {
				return err
			}
			p, err := p4.ReadFile(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), p4.Describe(p))
			}
			return printProgram(cmd.OutOrStdout(), p4.Describe(p))
		},
	}
	c.Flags().StringVar(&format, "format", "text", "output: text or json")
	return c
}

// printProgram prints the description of a program.
func printProgram(out io.Writer, d *p4.Description) error {
	w := bufio.NewWriter(out)
	name := d.Program
	if name == "" {
		name = "without a name"
	}
	fmt.Fprintf(w, "program %s, BMv2 JSON %s: supported\n\nheaders\n", name, d.Format)
	for _, h := range d.Headers {
		kind := ""
		if h.Metadata {
			kind = ", metadata"
		}
		if h.Variable {
			kind += ", and a field of variable width"
		}
		if h.In != "" {
			kind += ", in " + h.In
		}
		fmt.Fprintf(w, "  %s: %d bits%s\n", h.Name, h.Bits, kind)
	}
	fmt.Fprintf(w, "\nparser\n")
	for _, s := range d.States {
		fmt.Fprintf(w, "  %s: extracts %s; then %s\n", s.Name, orDash(s.Extract), strings.Join(s.Next, ", "))
	}
	for _, p := range d.Pipelines {
		fmt.Fprintf(w, "\n%s: %d conditions, %d tables, %d inline tables\n", p.Name, p.Conditions, len(p.Tables), p.Inline)
		for _, t := range p.Tables {
			fmt.Fprintf(w, "  %s: %s, size %d\n    key: %s\n    actions: %s\n", t.Name, t.Kind, t.Size,
				strings.Join(t.Key, ", "), strings.Join(t.Actions, ", "))
			for _, more := range [][2]string{
				{"default", t.Default}, {"action profile", t.Profile}, {"direct", strings.Join(t.Direct, ", ")},
			} {
				if more[1] != "" {
					fmt.Fprintf(w, "    %s: %s\n", more[0], more[1])
				}
			}
		}
	}
	for _, a := range d.Arrays {
		fmt.Fprintf(w, "\n%s: %d %s", a.Name, a.Size, a.Kind)
		if a.Bits > 0 {
			fmt.Fprintf(w, " of %d bits", a.Bits)
		}
	}
	fmt.Fprintf(w, "\ncalculations: %s\ndigests: %s\nvalue sets: %s\n", orDash(d.Sums), orDash(d.Digests),
		orDash(d.ValueSets))
	return w.Flush()
}

func orDash(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

// p4Run are the flags of `tamtam p4 run`.
type p4Run struct {
	entries, out, trace string
	in                  []string
	asJSON              bool
}

func newP4Run() *cobra.Command {
	var r p4Run
	var format string
	c := &cobra.Command{
		Use:   "run PROGRAM --in 0=a.pcap [...] --out DIR",
		Args:  cobra.ExactArgs(1),
		Short: "Send captures through a program",
		Long: `Send captures through a P4 program on the interpreter. The interpreter has no hardware time: ports and
pipelines are ideal, and packets wait only in queues with a rate (set_queue_rate).

Packets enter at the times in the captures, relative to the first packet of all inputs. The cycle is one
nanosecond. DIR gets portN.pcap with the packets that each port sent, and report.json. Look for "balanced"
in the output: then every packet is accounted for.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.asJSON, err = textOrJSON(format); err != nil {
				return err
			}
			if len(r.in) == 0 || r.out == "" {
				return usagef("--in and --out are required")
			}
			return r.run(cmd, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&r.entries, "entries", "", "`FILE` with commands of simple_switch_CLI, such as table_add")
	f.StringArrayVar(&r.in, "in", nil, "PORT=FILE: capture that enters at the port (required; may be repeated)")
	f.StringVar(&r.out, "out", "", "directory for the captures and report.json (required)")
	f.StringVar(&r.trace, "trace", "", "`FILE` for the steps of every packet, one JSON object per line; "+
		"- is standard output")
	f.StringVar(&format, "format", "text", "output: text or json")
	return c
}

func (r *p4Run) run(cmd *cobra.Command, program string) (err error) {
	p, err := p4.ReadFile(program)
	if err != nil {
		return err
	}
	var c interp.Config
	closeTrace, err := r.openTrace(cmd.OutOrStdout(), &c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTrace()) }()
	sw, err := interp.New(p, c)
	if err != nil {
		return err
	}
	if r.entries != "" {
		f, err := os.Open(r.entries)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := control.NewCLI(sw).Load(f, r.entries); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	ports := &p4Ports{dir: r.out, writers: map[uint32]*portFile{}}
	err = errors.Join(r.feed(sw, ports), ports.close())
	if err != nil {
		return err
	}
	report := newP4Report(p, sw)
	if err := writeReport(filepath.Join(r.out, "report.json"), report); err != nil {
		return err
	}
	if r.asJSON {
		return printJSON(cmd.OutOrStdout(), report)
	}
	return report.print(cmd.OutOrStdout(), r.out)
}

func writeReport(name string, report *p4Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(printJSON(f, report), f.Close())
}

// openTrace makes the switch write its trace to the file of --trace.
func (r *p4Run) openTrace(out io.Writer, c *interp.Config) (func() error, error) {
	if r.trace == "" {
		return func() error { return nil }, nil
	}
	stop := func() error { return nil }
	if r.trace != "-" {
		f, err := os.Create(r.trace)
		if err != nil {
			return nil, err
		}
		out, stop = f, f.Close
	}
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	var failed error
	c.Trace = func(event interp.Event) {
		if failed == nil {
			failed = e.Encode(event)
		}
	}
	return func() error { return errors.Join(failed, w.Flush(), stop()) }, nil
}

// p4Input is one capture that enters at a port.
type p4Input struct {
	port   uint32
	name   string
	sorted *capture.Sorted
	packet capture.Packet
	atEnd  bool
}

// next reads the next packet of the capture.
func (in *p4Input) next() error {
	p, err := in.sorted.Next()
	switch {
	case err == io.EOF:
		in.atEnd = true
		return nil
	case err != nil:
		return err
	case p.Cut():
		return fmt.Errorf("%s: packet %d has %d of its %d bytes, want a capture of whole packets", in.name, p.Number,
			len(p.Data), p.Len)
	}
	in.packet = p
	return nil
}

// feed sends the packets of all captures through the switch, in the order of their times.
func (r *p4Run) feed(sw *interp.Switch, ports *p4Ports) error {
	var inputs []*p4Input
	for _, text := range r.in {
		port, name, ok := strings.Cut(text, "=")
		n, err := strconv.ParseUint(port, 10, 16)
		if !ok || err != nil {
			return usagef("--in %q: want PORT=FILE with a port from 0 to 65535", text)
		}
		reader, err := capture.Open(name)
		if err != nil {
			return err
		}
		defer reader.Close()
		in := &p4Input{port: uint32(n), name: name, sorted: capture.NewSorted(reader)}
		if err := in.next(); err != nil {
			return err
		}
		inputs = append(inputs, in)
	}
	for {
		inputs = slices.DeleteFunc(inputs, func(in *p4Input) bool { return in.atEnd })
		if len(inputs) == 0 {
			break
		}
		first := slices.MinFunc(inputs, func(a, b *p4Input) int { return a.packet.Time.Compare(b.packet.Time) })
		if ports.start.IsZero() {
			ports.start = first.packet.Time
		}
		at := first.packet.Time.Sub(ports.start)
		if err := sw.Receive(first.port, max(uint64(at), sw.Now()), first.packet.Data); err != nil {
			return err
		}
		if err := errors.Join(ports.write(sw.Sent()), first.next()); err != nil {
			return err
		}
	}
	sw.Drain(1 << 62)
	return ports.write(sw.Sent())
}

// p4Ports writes the packets that leave.
type p4Ports struct {
	dir     string
	start   time.Time
	writers map[uint32]*portFile
}

type portFile struct {
	file *os.File
	*capture.Writer
}

func (p *p4Ports) write(frames []interp.Frame) error {
	for _, f := range frames {
		w := p.writers[f.Port]
		if w == nil {
			name := filepath.Join(p.dir, fmt.Sprintf("port%d.pcap", f.Port))
			file, err := os.Create(name)
			if err != nil {
				return err
			}
			w = &portFile{file, capture.NewWriter(file, name)}
			p.writers[f.Port] = w
		}
		if err := w.Write(p.start.Add(time.Duration(f.Cycle)), f.Data, len(f.Data)); err != nil {
			return err
		}
	}
	return nil
}

func (p *p4Ports) close() (err error) {
	for _, w := range p.writers {
		err = errors.Join(err, w.Flush(), w.file.Close())
	}
	return err
}

// p4Report is the result of a run.
type p4Report struct {
	Program string `json:"program"`
	// Timing is "ideal": there is no hardware time.
	Timing   string `json:"timing"`
	Balanced bool   `json:"balanced"`
	interp.Accounts
	Digests int `json:"digests"`
}

func newP4Report(p *p4.Program, sw *interp.Switch) *p4Report {
	r := &p4Report{Program: p.Name, Timing: "ideal", Accounts: sw.Accounts(), Digests: len(sw.Digests())}
	r.Balanced = r.Accounts.Balanced()
	return r
}

// print prints the report as text.
func (r *p4Report) print(out io.Writer, dir string) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "time is ideal: packets pass ports and pipelines in no time\n")
	for _, port := range slices.Sorted(maps.Keys(r.Received)) {
		fmt.Fprintf(w, "port %d received %d packets, %d bytes\n", port, r.Received[port].Packets, r.Received[port].Bytes)
	}
	for _, port := range slices.Sorted(maps.Keys(r.Sent)) {
		fmt.Fprintf(w, "port %d sent %d packets, %d bytes\n", port, r.Sent[port].Packets, r.Sent[port].Bytes)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Dropped)) {
		fmt.Fprintf(w, "%s: %d packets\n", reason, r.Dropped[reason])
	}
	fmt.Fprintf(w, "copies %d, digests %d, operations without a defined result %d\n", r.Copies, r.Digests, r.Undefined)
	if r.Balanced {
		fmt.Fprintf(w, "balanced: every packet is accounted for\n")
	} else {
		fmt.Fprintf(w, "not balanced: packets are missing\n")
	}
	fmt.Fprintf(w, "captures and report.json are in %s\n", dir)
	return w.Flush()
}

func newP4Test() *cobra.Command {
	return &cobra.Command{
		Use:   "test PROGRAM FILE.stf",
		Args:  cobra.ExactArgs(2),
		Short: "Run a test in the format of p4c's STF files",
		Long: `Run the entries, packets and expected packets of an STF file on the interpreter. Every expectation that
does not hold is printed, and the exit code is 1 then.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := p4.ReadFile(args[0])
			if err != nil {
				return err
			}
			f, err := os.Open(args[1])
			if err != nil {
				return err
			}
			defer f.Close()
			s, err := control.ReadSTF(f, args[1], p)
			if err != nil {
				return err
			}
			sw, err := interp.New(p, interp.Config{})
			if err != nil {
				return err
			}
			failures, err := s.Run(sw)
			if err != nil {
				return err
			}
			for _, text := range failures {
				fmt.Fprintln(cmd.OutOrStdout(), text)
			}
			if len(failures) > 0 {
				return fmt.Errorf("%d expectations of %s do not hold", len(failures), args[1])
			}
			fmt.Fprintf(cmd.OutOrStdout(), "all expectations of %s hold\n", args[1])
			return nil
		},
	}
}
