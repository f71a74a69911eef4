package recording

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"tamtam/lab"
	"tamtam/lab/chance"
	"tamtam/lab/programs"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/p4graph"
)

// PostcardSettings configure the study of postcards: the traffic, the filter that finds packets of new classes, and the
// data that is sent of a packet.
type PostcardSettings struct {
	Packets int `yaml:"packets"`
	// number of flows; each follows one path, drawn by the program's probabilities
	Flows   int             `yaml:"flows"`
	Zipf    lab.Thousandths `yaml:"zipf"` // exponent of the flows' sizes
	Window  int             `yaml:"window"`
	Windows int             `yaml:"windows"`
	Arrays  int             `yaml:"arrays"`
	Memory  []int           `yaml:"memory"` // KiB of the whole filter
	Frame   int             `yaml:"frame"`  // bytes of a packet
	Keep    int             `yaml:"keep"`   // bytes of the packet in a copy
	Tunnel  int             `yaml:"tunnel"` // bytes around a copy
	Fields  int             `yaml:"fields"` // bytes of a class in a postcard
}

const maxPackets, maxFlows, maxKiB, maxRoomKiB = 1 << 30, 1 << 20, 1 << 16, 1 << 20

func (p *PostcardSettings) validate(v *lab.Validator) {
	between := func(name string, n, least, most int) {
		v.Want(n >= least && n <= most, "tablerecord.postcards."+name, n, "%d to %d", least, most)
	}
	between("packets", p.Packets, 1, maxPackets)
	between("flows", p.Flows, 1, maxFlows)
	v.Want(p.Zipf <= 10_000, "tablerecord.postcards.zipf", p.Zipf, "0 to 10")
	between("window", p.Window, 1, maxPackets)
	between("windows", p.Windows, 2, maxWindows)
	between("arrays", p.Arrays, 1, maxArrays)
	v.Want(len(p.Memory) >= 1 && len(p.Memory) <= maxCurves, "tablerecord.postcards.memory", len(p.Memory),
		"1 to %d sizes", maxCurves)
	room := 0
	for _, n := range p.Memory {
		between("memory", n, 1, maxKiB)
		room += 2 * 64 * n / max(1, p.Windows) // two filters, in which each bit of a window uses a word
	}
	v.Want(room <= maxRoomKiB, "tablerecord.postcards.memory", p.Memory,
		"sizes that take at most %d KiB here, or more windows: these take %d", maxRoomKiB, room)
	between("frame", p.Frame, 64, 65535)
	between("keep", p.Keep, 1, max(1, p.Frame))
	between("tunnel", p.Tunnel, 0, 255)
	between("fields", p.Fields, 0, 255)
}

// sent returns how many bytes leave the switch for a copy with own bytes of its own.
func (p *PostcardSettings) sent(own int) float64 {
	return float64(p.Tunnel + p.Keep + record.Len(own))
}

// pathsOfFlows draws the path of each flow through all pipelines of a program. Flows that ran the same tables have the
// same number; paths is the number of different ones.
func (s *run) pathsOfFlows(p *programs.Program, seed uint64) (flows []int, paths int, err error) {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	keys := make([][]byte, s.Postcards.Flows)
	for _, g := range p.Pipelines {
		packets, err := recordplan.NewPackets(g, p4graph.Random(g, seed))
		if err != nil {
			return nil, 0, err
		}
		for i := range keys {
			keys[i] = append(append(keys[i], packets.Next(r)...), 0xff, 0xff, 0xff, 0xff)
		}
	}
	numbers := map[string]int{}
	for _, k := range keys {
		n, ok := numbers[string(k)]
		if !ok {
			n = len(numbers)
			numbers[string(k)] = n
		}
		flows = append(flows, n)
	}
	return flows, len(numbers), nil
}

// A mailbox compares the postcards that KeySight sent with those that were due.
type mailbox struct {
	of        *pecFilter
	last      []int32 // by class, the window in which it was last seen, from 1; 0 means never
	packets   []int32 // number of packets, by class
	mailed    []bool  // true if a postcard was sent, by class
	postcards int     // number of sent postcards
	due       int     // number of postcards that a filter without errors would send
	missed    int     // number of postcards that were due, but not sent
}

func newMailbox(classes int, f *pecFilter) *mailbox {
	return &mailbox{
		of: f, last: make([]int32, classes), packets: make([]int32, classes), mailed: make([]bool, classes),
	}
}

// count counts a packet of a class.
func (m *mailbox) count(class int) {
	known := m.of.see(uint64(class))
	window := int32(m.of.window) + 1
	due := m.last[class] == 0 || window-m.last[class] >= int32(m.of.windows)
	m.last[class] = window
	m.packets[class]++
	if !known {
		m.postcards++
		m.mailed[class] = true
	}
	if due {
		m.due++
		if known {
			m.missed++
		}
	}
}

// silent returns the number of classes that occurred, of those without a postcard, and of the packets of the latter.
func (m *mailbox) silent() (classes, silent, packets int) {
	for i, n := range m.packets {
		if n == 0 {
			continue
		}
		classes++
		if !m.mailed[i] {
			silent++
			packets += int(n)
		}
	}
	return classes, silent, packets
}

// Classes of packets that KeySight may treat as equivalent.
const (
	// packets that ran the same tables: the smallest number of classes that a record distinguishes
	byPath = "keysight-paths"
	byFlow = "keysight-flows" // packets of one flow: tables read fields of the flow
)

// mailOf runs the traffic of a seed through filters of all sizes.
func (s *run) mailOf(p *programs.Program, seed uint64) (map[string][]*mailbox, error) {
	c := s.Postcards
	flows, paths, err := s.pathsOfFlows(p, seed)
	if err != nil {
		return nil, err
	}
	mail := map[string][]*mailbox{}
	for _, kib := range c.Memory {
		f := newPECFilter(kib<<10, c.Arrays, c.Windows, c.Window, seed)
		g := *f
		g.cells = make([]uint64, len(f.cells))
		mail[byPath] = append(mail[byPath], newMailbox(paths, f))
		mail[byFlow] = append(mail[byFlow], newMailbox(len(flows), &g))
	}
	shares := chance.Zipf(c.Flows, uint64(c.Zipf))
	r := chance.New(seed, "postcards")
	for range c.Packets {
		flow := r.Pick(shares)
		for i := range c.Memory {
			mail[byPath][i].count(flows[flow])
			mail[byFlow][i].count(flow)
		}
	}
	return mail, nil
}

// recordOf returns the smallest number of bits of a plan that distinguishes all paths, and the bytes of their
// containers.
func (s *run) recordOf(ctx context.Context, p *programs.Program) (bits, bytes int, err error) {
	for _, g := range p.Pipelines {
		c, err := s.pathsOf(ctx, g, s.Work.Seeds[0])
		if err != nil {
			return 0, 0, err
		}
		n := c.full()
		if n < 0 {
			return 0, 0, fmt.Errorf("program %s, %s: no plan tells all paths apart", p.Name, g.Pipeline)
		}
		bits += n
		bytes += (n + 7) / 8
	}
	return bits, bytes, nil
}

// postcards compares the data that leaves the switch. NetSight sends a postcard for every packet, KeySight one for each
// class of packets, and table recording copies of every packet.
func (s *run) postcards(ctx context.Context) error {
	s.results.X = "KiB"
	s.results.Notes = []string{
		"keysight-paths: packets that ran the same tables are equivalent; keysight-flows: those of one flow are",
		"missed: classes of which no postcard was sent, percent of those that were there",
		"bytes: sent for each packet of the traffic, on average",
	}
	for _, name := range s.programNames() {
		p, err := s.load(name)
		if err != nil {
			return err
		}
		bits, bytes, err := s.recordOf(ctx, p)
		if err != nil {
			return err
		}
		list := make([]map[string][]*mailbox, len(s.Work.Seeds))
		s.expect(1)
		err = s.EachSeed(ctx, func(i int, seed uint64) error {
			if list[i], err = s.mailOf(p, seed); err != nil {
				return fmt.Errorf("program %s, seed %d: %w", p.Name, seed, err)
			}
			s.Done(1)
			return nil
		})
		if err != nil {
			return err
		}
		for _, kind := range []string{byPath, byFlow} {
			s.mailCurve(p.Name, kind, list)
		}
		s.constants(p.Name, bits, bytes)
	}
	return nil
}

// mailCurve adds KeySight's curve of a program to the report.
func (s *run) mailCurve(program, kind string, list []map[string][]*mailbox) {
	c := s.Postcards
	for i, kib := range c.Memory {
		values := map[string][]float64{}
		for _, mail := range list {
			m := mail[kind][i]
			classes, silent, packets := m.silent()
			for name, v := range map[string]float64{
				"classes": float64(classes), "postcards": float64(m.postcards), "due": float64(m.due),
				"late":   100 * float64(m.missed) / float64(m.due),
				"missed": 100 * float64(silent) / float64(classes), "missed-packets": 100 * float64(packets) / float64(c.Packets),
				"bytes":         float64(m.postcards) * c.sent(c.Fields) / float64(c.Packets),
				"fewer-percent": 100 * (1 - float64(m.postcards)/float64(c.Packets)),
			} {
				values[name] = append(values[name], v)
			}
		}
		for name, v := range values {
			s.results.add(program+"-"+kind, program, strconv.Itoa(kib), float64(kib), name, v...)
		}
	}
}

// constants adds the values that do not depend on a filter to the report.
func (s *run) constants(program string, bits, bytes int) {
	c := s.Postcards
	for _, kib := range c.Memory {
		at, x := strconv.Itoa(kib), float64(kib)
		s.results.add(program+"-each-packet", program, at, x, "bytes", c.sent(0))
		s.results.add(program+"-records", program, at, x, "bytes", c.sent(bytes))
	}
	for name, v := range map[string]float64{
		"record-bits":             float64(bits),
		"fewer-than-frame":        100 * (1 - float64(bits)/float64(8*c.Frame)),
		"fewer-than-copy":         100 * (1 - float64(bits)/(8*c.sent(c.Fields))),
		"fewer-by-copies-percent": 100 * (1 - c.sent(bytes)/c.sent(c.Fields)),
	} {
		s.results.add(program+"-bits", "", "all", 0, name, v)
	}
}
