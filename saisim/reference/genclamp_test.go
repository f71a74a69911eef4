package reference_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"tamtam/sai"
	"tamtam/saisim/tailstamp"
)

// A clamper makes MSS clamps, and TCP options for them. It has its own random numbers, so that cases without clamps do
// not change.
type clamper struct {
	clamping *rand.Rand // nil means that there are no clamps
	clamps   []sai.OID
}

// clampedOf returns random numbers for clamps in one case of three, otherwise nil.
func clampedOf(seed uint64) *rand.Rand {
	if seed%3 == 1 {
		return rand.New(rand.NewPCG(seed, 3))
	}
	return nil
}

// clamped runs do with random numbers for clamps, if there are any.
func (g *gen) clamped(do func()) {
	if g.clamping == nil {
		return
	}
	was := g.Rand
	g.Rand = g.clamping
	do()
	g.Rand = was
}

func (g *gen) furnishClamps() {
	g.clamped(func() {
		for range 1 + g.IntN(4) {
			g.newClamp()
		}
	})
}

// clampEntry returns an ENTRY of a clamp, which the chip may refuse.
func (g *gen) clampEntry() sai.Bytes {
	filter := pick(g, g.filter().String(), "any", "protocol=6", "src-port=443", "dst-port=1000-2000", "src-ip=10.0.0.0/31")
	text, err := entryWith(tailstamp.AttrClamp, tailstamp.Clamp{
		Label: pick(g, "a", "b"), Records: pick(g, 1, 1, 2, 3, 8, g.IntN(10)), Filter: filter,
	})
	if err != nil {
		panic(err) // cannot happen: only text and numbers
	}
	return text
}

func (g *gen) newClamp() {
	oid, err := g.chip.Create(context.Background(), sai.ObjectTypeGenericProgrammable, attrs(
		sai.GenericProgrammableAttrObjectName, sai.Bytes(tailstamp.ObjectClamp), sai.GenericProgrammableAttrEntry,
		g.clampEntry()))
	if err == nil {
		g.clamps = append(g.clamps, oid)
	}
}

// clampOp sometimes changes clamps.
func (g *gen) clampOp() {
	g.clamped(func() {
		n := g.IntN(12)
		if n > 2 {
			return
		}
		if n == 0 || len(g.clamps) == 0 {
			g.newClamp()
			return
		}
		i := g.IntN(len(g.clamps))
		k := sai.Obj(sai.ObjectTypeGenericProgrammable, g.clamps[i])
		if n == 1 {
			_ = g.chip.Set(context.Background(), k, sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: g.clampEntry()})
			return
		}
		if g.chip.Remove(context.Background(), k) == nil {
			g.clamps = append(g.clamps[:i], g.clamps[i+1:]...)
		}
	})
}

// tcpOptions gives a segment's header, which is the end of b, options and a checksum. They are mostly well-formed. Most
// contain an MSS, sometimes at odd offsets.
func (g *gen) tcpOptions(b []byte) []byte {
	at := len(b) - 20
	g.clamped(func() {
		if g.chance(30) {
			b[at+13] = 2
		}
		binary.BigEndian.PutUint16(b[at+16:], uint16(g.Uint32()))
		for n := pick(g, 0, 1, 1, 1, 1, 2, 3); n > 0; n-- {
			switch g.IntN(12) {
			case 0:
				b = append(b, 0)
			case 1, 2:
				b = append(b, 1)
			case 3:
				b = append(b, 3, 3, 7)
			case 4:
				b = append(b, pick[byte](g, 2, 5, 8, 1, 0), pick[byte](g, 0, 1, 2, 4, 10, 40))
			case 5:
				b = g.garbage(b, g.IntN(5))
			default:
				mss := pick(g, 1460, 1460, 8960, 536, 216, 0, 65535, g.IntN(1700))
				b = binary.BigEndian.AppendUint16(append(b, 2, 4), uint16(mss))
			}
		}
		for (len(b)-at)%4 != 0 || len(b)-at < 20 {
			b = append(b, pick[byte](g, 0, 1))
		}
		if len(b) > at+60 {
			b = b[:at+60]
		}
		b[at+12] = byte((len(b)-at)/4) << 4
		if g.chance(3) {
			b[at+12] = byte(g.IntN(16)) << 4
		}
	})
	return b
}

// clampsDiffer returns an error if clamps have counted differently, or if a register read does.
func (p *pair) clampsDiffer() error {
	want, byLabel := p.ref.SYNCounts(), map[string][]uint64{}
	rows := p.chip.Tables().MSSClamps
	for _, r := range rows {
		f, ref := p.chip.State().SYNs[r.ID], want[r.ID]
		if f != ref {
			return fmt.Errorf("clamp %+v:\n     fast %d\nreference %d", r, f, ref)
		}
		if byLabel[r.Label] == nil {
			byLabel[r.Label] = make([]uint64, tailstamp.NumSYNCounts)
		}
		for i, n := range ref {
			byLabel[r.Label][i] += n
			p.saw["clamp: "+[]string{"seen", "clamped", "small", "without", "malformed", "cut", "no room"}[i]] += int(n)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	var got []uint64
	if err := p.window(tailstamp.ObjectSYNs, tailstamp.AttrLabels, []string{rows[0].Label, "c"},
		map[string]any{tailstamp.AttrCounters: &got}); err != nil {
		return err
	}
	if all := append(byLabel[rows[0].Label], make([]uint64, tailstamp.NumSYNCounts)...); fmt.Sprint(got) != fmt.Sprint(
		all) {
		return fmt.Errorf("window of label %s and of none: %d, want %d", rows[0].Label, got, all)
	}
	return nil
}
