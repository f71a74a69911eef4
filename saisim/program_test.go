package saisim_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

func field(name string) pipe.Operand { return pipe.Operand{Field: name} }
func constant(v uint64) pipe.Operand { return pipe.Operand{Const: v} }
func op(do, to string, operands ...pipe.Operand) pipe.Op {
	o := pipe.Op{Do: do, To: to, A: operands[0]}
	if len(operands) > 1 {
		o.B = operands[1]
	}
	return o
}

// does returns a table that always executes the operations.
func does(name string, stage uint8, ops ...pipe.Op) pipe.Table {
	return pipe.Table{Name: name, Stage: stage, Match: "always", Actions: []pipe.Action{{Name: "do", Ops: ops}},
		Default: pipe.Choice{Action: "do"}}
}

// load loads a program that runs from now on.
func (r *rig) load(p *pipe.Program) {
	r.Helper()
	r.control(r.Now(), pipe.Batch{Program: p})
}

func (r *rig) control(at saisim.Cycle, b pipe.Batch) *saisim.BatchResult {
	r.Helper()
	var res saisim.BatchResult
	if err := r.Control(at, saisim.Batch{Batch: b, Done: func(x saisim.BatchResult) { res = x }}); err != nil {
		r.Fatal(err)
	}
	return &res
}

// sum16 returns 0 for an IPv4 header with a correct checksum.
func sum16(b []byte) uint16 {
	var s uint32
	for i := 0; i < 20; i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return ^uint16(s)
}

func withChecksum(f []byte) []byte {
	binary.BigEndian.PutUint16(f[24:], 0)
	binary.BigEndian.PutUint16(f[24:], sum16(f[14:]))
	return f
}

// A program's writes reach the bytes, from either pipe, and the checksum is updated.
func TestProgramRewrites(t *testing.T) {
	writes := []pipe.Op{
		op("set", "ip.dscp", constant(46)), op("set", "ip.ecn", constant(2)),
		op("sub", "ip.ttl", field("ip.ttl"), constant(3)),
		op("set", "ip.reserved", constant(1)), op("set", "eth.src", constant(0x0200000000ee)),
	}
	for _, tt := range []struct {
		name            string
		ingress, egress []pipe.Table
	}{
		{"ingress", []pipe.Table{does("t", 1, writes...)}, nil},
		{"ingress, last stage", []pipe.Table{does("t", 3, writes...)}, nil},
		{"egress", nil, []pipe.Table{does("t", 0, writes...)}},
		{"egress, last stage", nil, []pipe.Table{does("t", 3, writes...)}},
		{"both", []pipe.Table{does("t", 0, writes[:2]...)}, []pipe.Table{does("t", 3, writes[2:]...)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.load(&pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: tt.ingress}, Egress: pipe.Pipe{Tables: tt.egress}})
			in := withChecksum(udpFrame(1, 2, 60))
			outs := r.send(0, in)
			if len(outs) != 7 {
				t.Fatalf("%d copies", len(outs))
			}
			for _, o := range outs {
				b := o.data
				if b[11] != 0xee || b[15] != 46<<2|2 || b[22] != 61 || b[20] != 0x80 || sum16(b[14:]) != 0 {
					t.Errorf("%x", b)
				}
			}
			b := r.send(0, eth(host(2), host(1), ip6(1, 2, 17, udp(1, 2, 20))))[0].data
			if b[11] != 0xee || b[14] != 0x60|46>>2 || b[15] != (46<<2|2)<<4&0xff || b[21] != 61 {
				t.Errorf("IPv6: %x", b)
			}
			arp := eth(host(2), host(1), u16(0x88b5), make([]byte, 46))
			if b := r.send(0, arp)[0].data; b[11] != 0xee || string(b[14:]) != string(arp[14:]) {
				t.Errorf("not IP: %x", b)
			}
		})
	}
}

// A program decides about a packet.
func TestProgramDecides(t *testing.T) {
	tests := []struct {
		name    string
		ingress []pipe.Table
		egress  []pipe.Table
		want    []saisim.PortID
		drops   string // drops counted at port 0
	}{
		{"nothing", nil, []pipe.Table{does("e", 0, op("set", "ip.ttl", constant(9)))}, []saisim.PortID{1}, ""},
		{"drop", []pipe.Table{does("t", 0, op("set", "ctl.drop", constant(1)))}, nil, []saisim.PortID{}, "program=1 "},
		{"drop, last stage", []pipe.Table{does("t", 3, op("set", "ctl.drop", constant(1)))}, nil, []saisim.PortID{},
			"program=1 "},
		{"drop and punt", []pipe.Table{does("t", 2, op("set", "ctl.drop", constant(1)), op("set", "ctl.punt", constant(1)))},
			nil, []saisim.PortID{saisim.CPUPort}, ""},
		{"no stage after a drop", []pipe.Table{does("t", 0, op("set", "ctl.drop", constant(1))),
			does("u", 1, op("set", "ctl.punt", constant(1)))}, nil, []saisim.PortID{}, "program=1 "},
		{"punt", []pipe.Table{does("t", 1, op("set", "ctl.punt", constant(1)))}, nil, []saisim.PortID{saisim.CPUPort, 1}, ""},
		{"port", []pipe.Table{does("t", 1, op("set", "ctl.port", constant(5)))}, nil, []saisim.PortID{5}, ""},
		{"port, last stage", []pipe.Table{does("t", 3, op("set", "ctl.port", constant(5)))}, nil, []saisim.PortID{5}, ""},
		{"no such port", []pipe.Table{does("t", 1, op("set", "ctl.port", constant(77)))}, nil, []saisim.PortID{},
			"no-destination=1 "},
		{"address before forwarding", []pipe.Table{does("t", 2, op("set", "eth.dst", constant(0x020000000003)))}, nil,
			[]saisim.PortID{2}, ""},
		{"egress drop", nil, []pipe.Table{does("t", 1, op("set", "ctl.drop", constant(1)))}, []saisim.PortID{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			for i := range byte(3) {
				r.send(saisim.PortID(i), udpFrame(i+1, 9, 60)) // host n is at port n-1
			}
			r.load(&pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: tt.ingress}, Egress: pipe.Pipe{Tables: tt.egress}})
			if got := portsOf(r.send(0, udpFrame(1, 2, 60))); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("left by %v, want %v", got, tt.want)
			}
			if got := r.dropped(0); got != tt.drops {
				t.Errorf("drops %q, want %q", got, tt.drops)
			}
			if got := r.dropped(1); tt.name == "egress drop" && got != "egress-program=1 " {
				t.Errorf("drops at port 1 %q", got)
			}
		})
	}
}

// counter returns a pipe that counts in a register, for the ingress or the egress pipe.
func counter(width uint8) pipe.Pipe {
	return pipe.Pipe{
		Registers: []pipe.Register{{Name: "n", Stage: 1, Width: width, Depth: 8, Instructions: []pipe.Instruction{
			{Name: "count", Updates: []pipe.Update{{Do: "add", A: pipe.Source{From: "mem"}, B: pipe.Source{From: "x"}}}},
		}}},
		Tables: []pipe.Table{{Name: "t", Stage: 1, Match: "index", Key: []pipe.Input{{Field: "l4.dst", Mask: 7}}, Size: 8,
			Counters: true,
			Actions: []pipe.Action{{Name: "add", Params: []pipe.Param{{Name: "by", Width: 8}},
				Calls: []pipe.Call{{Register: "n", Instruction: "count", X: pipe.Operand{Param: "by"}}}}},
			Default: pipe.Choice{Action: "add", Args: []uint64{1}}}},
	}
}

// A batch takes effect between two packets. It applies completely to packets that enter the pipe at its cycle or later,
// and not at all to earlier packets.
func TestControlAtACycle(t *testing.T) {
	p := profile.Small() // a byte is a cycle: the frames are complete at 164 and 165
	for _, tt := range []struct {
		at      saisim.Cycle
		ingress uint64 // final value of the register: 1 + 10 for each packet that saw the batch
		entered uint64 // value of the register at the batch's cycle
	}{{100, 21, 0}, {163, 21, 0}, {164, 21, 0}, {165, 11, 1}, {166, 2, 2}} {
		t.Run(fmt.Sprint(tt.at), func(t *testing.T) {
			r := newRig(t, p)
			r.load(&pipe.Program{Name: "p", Ingress: counter(32)})
			for i, at := range []saisim.Cycle{100, 101} {
				if err := r.Receive(saisim.PortID(i), at, saisim.Frame{Data: udpFrame(byte(i+1), 9, 60)}); err != nil {
					t.Fatal(err)
				}
			}
			read := pipe.RegisterRead{Pipe: "ingress", Register: "n", Count: 8}
			entry := pipe.EntryChange{Pipe: "ingress", Table: "t", Do: "add",
				Entry: pipe.Entry{ID: 7, Key: []pipe.Match{{Value: 0}}, Choice: pipe.Choice{Action: "add", Args: []uint64{10}}}}
			one := pipe.RegisterWrite{Pipe: "ingress", Register: "n", From: 0, Values: []uint64{1}}
			then := r.control(tt.at, pipe.Batch{Reads: []pipe.RegisterRead{read}, Entries: []pipe.EntryChange{entry}})
			if tt.ingress%10 == 1 && tt.ingress > 11 {
				r.control(tt.at, pipe.Batch{Writes: []pipe.RegisterWrite{one}})
			}
			r.drain()
			end := r.control(r.Now(), pipe.Batch{Reads: []pipe.RegisterRead{read},
				Counters: []pipe.CounterRead{{Pipe: "ingress", Table: "t", Entry: 7}}})
			if then.At != tt.at || then.Registers[0][0] != tt.entered || end.Registers[0][0] != tt.ingress {
				t.Errorf("at %d the register was %d, at the end %d, want %d and %d", then.At, then.Registers[0][0],
					end.Registers[0][0], tt.entered, tt.ingress)
			}
			if n := end.Counters[0]; n.Packets != tt.ingress/10 || n.Bytes != 60*n.Packets {
				t.Errorf("entry counted %+v", n)
			}
		})
	}
}

// A packet in flight keeps the program of its entry. Registers of the same shape keep their content.
func TestSwap(t *testing.T) {
	r := newRig(t, profile.Small())
	mark := func(dscp uint64) *pipe.Program {
		p := &pipe.Program{Name: "p", Egress: counter(32)}
		p.Egress.Tables = append(p.Egress.Tables, does("mark", 2, op("set", "ip.dscp", constant(dscp))))
		return p
	}
	r.load(mark(1))
	r.send(1, udpFrame(2, 9, 60))
	at := r.Now() + 1000
	if err := r.Receive(0, at, saisim.Frame{Data: udpFrame(1, 2, 60)}); err != nil {
		t.Fatal(err)
	}
	r.control(at+66, pipe.Batch{Program: mark(2)}) // the packet is in the ingress pipe at that cycle
	if outs := r.drain(); len(outs) != 1 || outs[0].data[15] != 1<<2 {
		t.Errorf("in flight: %v", outs)
	}
	if outs := r.send(0, udpFrame(1, 2, 60)); outs[0].data[15] != 2<<2 {
		t.Errorf("afterwards: %v", outs)
	}
	read := pipe.Batch{Reads: []pipe.RegisterRead{{Pipe: "egress", Register: "n", Count: 1}}}
	if n := r.control(r.Now(), read).Registers[0][0]; n != 9 {
		t.Errorf("the register has counted %d, want 9", n)
	}
	other := mark(3)
	other.Egress.Registers[0].Width = 16
	r.load(other)
	if n := r.control(r.Now(), read).Registers[0][0]; n != 0 {
		t.Errorf("a register of another shape begins with %d", n)
	}
	r.control(r.Now(), pipe.Batch{Unload: true})
	if outs := r.send(0, udpFrame(1, 2, 60)); outs[0].data[15] != 0 || r.Program() != nil {
		t.Errorf("after unload: %v", outs)
	}
}

// A wrong batch is refused with an error that names the fault, and has no effect.
func TestControlRefuses(t *testing.T) {
	r := newRig(t, profile.Small())
	r.load(&pipe.Program{Name: "p", Ingress: counter(4)})
	one := func(w pipe.RegisterWrite) pipe.Batch { return pipe.Batch{Writes: []pipe.RegisterWrite{w}} }
	entry := func(do, table string, e pipe.Entry) pipe.Batch {
		return pipe.Batch{Entries: []pipe.EntryChange{{Pipe: "ingress", Table: table, Do: do, Entry: e}}}
	}
	for _, tt := range []struct {
		b    pipe.Batch
		want string
	}{
		{one(pipe.RegisterWrite{Pipe: "ingress", Register: "m", Count: 1}), `write 0: ingress: there is no register "m"`},
		{one(pipe.RegisterWrite{Pipe: "igress", Register: "n", Count: 1}), `pipe is "igress", want ingress or egress`},
		{one(pipe.RegisterWrite{Pipe: "ingress", Register: "n", From: 7, Count: 2}),
			`ingress register "n": 2 words from 7, want 1 or more words below 8`},
		{one(pipe.RegisterWrite{Pipe: "ingress", Register: "n", Values: []uint64{3, 16}}),
			`value 1 is 16, want at most 4 bits`},
		{entry("remove", "t", pipe.Entry{ID: 3}), `ingress table "t": there is no entry 3`},
		{entry("add", "u", pipe.Entry{ID: 3}), `there is no table "u"`},
		{entry("add", "t", pipe.Entry{Key: []pipe.Match{{Value: 8}}}), `l4.dst: value is 0x8, want within the mask 0x7`},
		{entry("replace", "t", pipe.Entry{}), `do is "replace", want add, modify, remove or default`},
		{pipe.Batch{Counters: []pipe.CounterRead{{Pipe: "ingress", Table: "t", Entry: 4}}}, `there is no entry 4`},
		{pipe.Batch{Program: &pipe.Program{Name: "x", Ingress: pipe.Pipe{Tables: []pipe.Table{does("t", 4)}}}},
			"stage is 4, the pipe has 4"},
		{pipe.Batch{Unload: true, Program: &pipe.Program{Name: "x"}}, "unload is given, but a program too"},
		{pipe.Batch{Unload: true, Reads: []pipe.RegisterRead{{Pipe: "ingress", Register: "n", Count: 1}}},
			"there is no program"},
	} {
		tt.b.Writes = append(tt.b.Writes, pipe.RegisterWrite{Pipe: "ingress", Register: "n", Values: []uint64{5}})
		if err := r.Control(r.Now(), saisim.Batch{Batch: tt.b}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	r.Advance(10)
	if err := r.Control(9, saisim.Batch{}); err == nil || !strings.Contains(err.Error(),
		"cycle 9 is past, the chip is at 10") {
		t.Error(err)
	}
	r.control(30, pipe.Batch{Unload: true})
	if err := r.Control(29, saisim.Batch{}); err == nil || !strings.Contains(err.Error(), "before cycle 30") {
		t.Error(err)
	}
	if n := r.control(40, pipe.Batch{Program: &pipe.Program{Name: "p", Ingress: counter(4)},
		Reads: []pipe.RegisterRead{{Pipe: "ingress", Register: "n", Count: 1}}}); n != nil {
		r.Advance(50)
		if n.Registers[0][0] != 0 {
			t.Error("a refused batch has written")
		}
	}
}

// ACL entries match metadata that a program writes, and the program reads metadata that they set. The egress program
// can read the packet's queue.
func TestProgramAndFixedFunctions(t *testing.T) {
	r := newRig(t, profile.Small())
	table := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true))
	r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(9),
		sai.ACLEntryAttrFieldACLUserMeta, sai.Match(sai.Uint(5), sai.Uint(255)), sai.ACLEntryAttrActionSetACLMetaData,
		sai.Do(sai.Uint(33)))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
	p := &pipe.Program{Name: "p", Fields: []pipe.Field{{Name: "meta", Width: 6, Bridged: true}}}
	p.Ingress.Tables = []pipe.Table{does("before", 1, op("set", "acl.meta", constant(5))),
		does("after", 2, op("set", "meta", field("acl.meta")))}
	p.Egress.Tables = []pipe.Table{does("show", 1, op("set", "ip.dscp", field("meta")),
		op("set", "eth.src", field("q.depth")), op("set", "eth.dst", field("q.delay")))}
	r.load(p)
	r.send(1, udpFrame(2, 9, 60)) // host 2 is learned at port 1
	base := r.Now() + 100
	for i, in := range []saisim.PortID{0, 2, 3} {
		if err := r.Receive(in, base, saisim.Frame{Data: udpFrame(byte(i+3), 2, 60)}); err != nil {
			t.Fatal(err)
		}
	}
	outs := r.drain()
	if len(outs) != 3 {
		t.Fatalf("%d frames", len(outs))
	}
	for i, o := range outs {
		if o.data[15] != 33<<2 {
			t.Errorf("frame %d: DSCP is %d, want what the ACL has set, 33", i, o.data[15]>>2)
		}
	}
	// A frame occupies the wire for 84 cycles, and the frames arrive one cycle apart. The second waits alone, the third
	// behind the second.
	depth := func(o sent) uint64 { return uint64(binary.BigEndian.Uint32(o.data[8:])) }
	delay := func(o sent) uint64 { return uint64(binary.BigEndian.Uint32(o.data[2:])) }
	for i, want := range []struct{ depth, delay uint64 }{{0, 0}, {0, 84 - 1}, {60, 2*84 - 2}} {
		if d, q := depth(outs[i]), delay(outs[i]); d != want.depth || q != want.delay {
			t.Errorf("frame %d: found %d bytes in the queue and waited %d cycles, want %d and %d", i, d, q, want.depth,
				want.delay)
		}
	}
}

// newCounting returns a load of packets with a count-min sketch of three rows in one of the pipes, and the
// given number of flows.
func newCounting(t testing.TB, egress bool, flows int) *load {
	l := newLoad(t, 0, false)
	p, err := pipe.CountMin(pipe.CountMinSketch{Key: pipe.FiveTupleIPv4(), Rows: 3, Depth: 1 << 16, Width: 32, Stage: 1,
		Egress: egress})
	if err != nil {
		t.Fatal(err)
	}
	l.load(p)
	for i := range len(l.frames) * (flows/len(l.frames) - 1) {
		f := udpFrame(byte(i%32+1), byte((i+1)%32+1), 60)
		binary.BigEndian.PutUint32(f[34:], uint32(i))
		l.frames = append(l.frames, f)
	}
	return l
}

// counted returns the sum over a row.
func (l *load) counted(egress bool) (sum uint64) {
	name := "ingress"
	if egress {
		name = "egress"
	}
	r := l.control(l.Now(), pipe.Batch{Reads: []pipe.RegisterRead{{Pipe: name, Register: "row1", Count: 1 << 16}}})
	for _, n := range r.Registers[0] {
		sum += n
	}
	return sum
}

func TestProgramDoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for _, egress := range []bool{false, true} {
		l := newCounting(t, egress, 1024)
		l.allocatesNothing(t, 10_000)
		l.drain()
		if n := l.counted(egress); n != 21_000 {
			t.Errorf("%d packets counted, want 21000", n)
		}
	}
}
