package cmu_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

// Layouts with any values in any fields are refused, or run like the interpreter.
func TestHostileLayouts(t *testing.T) {
	fixed, taken, refused := randtest.Cases{Count: 20}, 0, 0
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 11))
		geo := small(pick(r, 8, 16, 32))
		b, in, gen, load := newBench(t, geo), newInterpreter(geo), &layouts{t, r, geo}, newTraffic(seed)
		for i := range 400 {
			l := gen.layout(fmt.Sprintf("t%d", i%9))
			for range 1 + r.IntN(3) {
				corrupt(r, reflect.ValueOf(&l).Elem())
			}
			if b.Apply(l) == nil {
				in.apply(normal(l))
				taken++
			} else {
				refused++
			}
			for _, p := range load.list(3) {
				b.send(p)
				p.Number = b.number
				in.packet(&p)
			}
		}
		compare(b, in)
	})
	if c.Whole(fixed) && (taken < 20*c.Count || refused < 20*c.Count) {
		t.Errorf("%d taken, %d refused: this shows too little", taken, refused)
	}
}

// corrupt changes a part of a value.
func corrupt(r *rand.Rand, v reflect.Value) {
	if f, ok := v.Addr().Interface().(*flymon.Filter); ok {
		corruptFilter(r, f)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		corrupt(r, v.Field(r.IntN(v.NumField())))
	case reflect.Array:
		corrupt(r, v.Index(r.IntN(v.Len())))
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		corrupt(r, v.Elem())
	case reflect.Slice:
		corruptSlice(r, v)
	case reflect.String:
		v.SetString(pick(r, "", "max", "xor-swap", "least", "result", "since", "key", "timestamp", "max(size)",
			"existence(none)", "t1"))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int:
		v.SetInt(pick(r, -1, 0, 1, 2, 3, 8, 9, 11, 12, 1<<31, -1<<63, 1<<63-1, v.Int()+1, v.Int()-1))
	default:
		bits := v.Type().Bits()
		n := pick(r, 0, 1, 2, 31, 32, 33, 64, 255, 1024, r.Uint64(), ^uint64(0), v.Uint()+1, v.Uint()-1, v.Uint()*2,
			1<<(r.IntN(64)))
		v.SetUint(n << (64 - bits) >> (64 - bits))
	}
}

func corruptSlice(r *rand.Rand, v reflect.Value) {
	n := v.Len()
	switch r.IntN(4) {
	case 0:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case 1:
		if n > 0 {
			v.Set(reflect.Append(v, v.Index(r.IntN(n))))
		}
	case 2:
		v.SetLen(r.IntN(n + 1))
	default:
		if n > 0 {
			corrupt(r, v.Index(r.IntN(n)))
		}
	}
}

// corruptFilter changes a random part of a filter. Some of the new values cannot be written as text.
func corruptFilter(r *rand.Rand, f *flymon.Filter) {
	prefix := pick(r, netip.Prefix{}, netip.MustParsePrefix("10.1.2.3/8"), netip.MustParsePrefix("0.0.0.0/0"),
		netip.MustParsePrefix("::/0"),
		netip.MustParsePrefix("2001:db8::5/66"), netip.MustParsePrefix("::ffff:10.0.0.0/104"))
	switch r.IntN(5) {
	case 0:
		f.SrcIP = prefix
	case 1:
		f.DstIP = prefix
	case 2:
		f.SrcPort = flymon.Ports{Lo: uint16(r.IntN(2000)), Hi: uint16(r.IntN(2000)), Has: r.IntN(2) == 0}
	case 3:
		f.DstPort = flymon.Ports{Lo: uint16(r.IntN(100)), Hi: uint16(r.IntN(9000)), Has: r.IntN(2) == 0}
	default:
		f.Version, f.HasProtocol = pick(r, uint8(0), 4, 6, 9), r.IntN(2) == 0
	}
}
