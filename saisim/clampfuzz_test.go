package saisim_test

import (
	"context"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// Any ENTRY results in a clamp within bounds, or in none.
func FuzzClampEntry(f *testing.F) {
	f.Add([]byte(clampEntry("s", 1, "any")))
	f.Add([]byte(clampEntry("s", 8, "src-ip=10.0.0.0/8,dst-port=1-9,protocol=6")))
	f.Add([]byte(`{"attributes":[{"clamp":{"value":null}}, null]}`))
	f.Add([]byte(`{"attributes":[{"clamp":{"value":{"label":"","records":-1,"filter":"ip=5"}}}]}`))
	r := newRig(f, profile.Small())
	f.Fuzz(func(t *testing.T, entry []byte) {
		r.TB = t
		oid, err := r.Create(context.Background(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName,
				sai.Bytes(tailstamp.ObjectClamp), sai.GenericProgrammableAttrEntry, sai.Bytes(entry)))
		rows := r.Tables().MSSClamps
		if err != nil {
			r.wantStatus(err, sai.StatusInvalidParameter)
			if len(rows) != 0 {
				t.Errorf("%+v after %v", rows, err)
			}
			return
		}
		if len(rows) != 1 || rows[0].Label == "" || len(rows[0].Label) > tailstamp.MaxClampLabel || rows[0].Records < 1 ||
			rows[0].Records > tailstamp.MaxRecords {
			t.Errorf("rows %+v", rows)
		}
		r.remove(sai.ObjectTypeGenericProgrammable, oid)
	})
}

// Whatever options a segment has, at most the MSS and the checksum change. The MSS is only lowered, and a wrong
// checksum stays wrong.
func FuzzClampOptions(f *testing.F) {
	for _, o := range [][]byte{mss1460, linux, oddly, {2, 4}, {2, 0}, {1, 2, 4, 5, 180, 0, 2, 4}, nil} {
		f.Add(o, uint8(5+len(o)/4), uint8(2), true)
		f.Add(o, uint8(5+len(o)/4), uint8(18), false)
	}
	r := newRig(f, profile.Small())
	r.SetWire(0, true, 1518)
	r.clamp("s", 2, "any")
	f.Fuzz(func(t *testing.T, o []byte, words, flags uint8, v4 bool) {
		r.TB = t
		segment := append(tcp(1000, 80, flags, 0), o[:min(len(o), 1000)]...)
		segment[12] = words << 4
		frame, l3, l4 := eth(host(2), host(1), ip4(1, 2, 6, 0, segment)), 14, 34
		if !v4 {
			frame, l4 = eth(host(2), host(1), ip6(1, 2, 6, segment)), 54
		}
		before := r.syns()
		out := r.sendAt(0, r.Now(), saisim.Frame{Data: frame})
		if len(out) == 0 || len(out[0].data) != len(frame) {
			t.Fatalf("left: %v, dropped %s", out, r.dropped(0))
		}
		got, changed := out[0].data, 0
		for i := range frame {
			if got[i] != frame[i] && (i < l4+16 || i > l4+17) {
				changed++
			}
		}
		clamped := r.syns()[tailstamp.SYNClamped] != before[tailstamp.SYNClamped]
		if tcpSum(got, l3, l4) != tcpSum(frame, l3, l4) || changed > 2 || (changed > 0) != clamped {
			t.Errorf("%x\nbecame %x, %d bytes other than the checksum, clamped %v", frame, got, changed, clamped)
		}
	})
}
