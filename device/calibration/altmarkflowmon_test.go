package calibration

import (
	"net/netip"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// optionFrame returns an IPv6 frame whose hop-by-hop options contain a FlowMonID.
func optionFrame(id uint32) []byte {
	src, dst := netip.MustParseAddr("2001:db8::1").As16(), netip.MustParseAddr("2001:db8::2").As16()
	b := append(append([]byte{}, devicetest.HostMAC(0x33)...), devicetest.HostMAC(1)...)
	b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 0, 64)
	b = append(append(b, src[:]...), dst[:]...)
	b = append(b, 17, 0, 0x12, 4, byte(id>>12), byte(id>>4), byte(id<<4), 0)
	return append(b, 0, 1, 0, 2, 0, 8, 0, 0)
}

// A session with a FlowMonID counts and marks only packets that have it. After a change of the id it counts packets
// with the new id, from its first whole period on.
func TestAltMarkFlowMonID(t *testing.T) {
	m := newMarked(t, profile.Small(), "DSCP", "0/0x3f", "method", "step", "mark", "ipv6-altmark-l", "role", "initiator",
		"flow-mon-id", "74565")
	rules := swss.NewTable(m.Redis.DB(swss.ConfigDB), schema.CfgACLRule)
	devicetest.NoError(t, rules.Del(m.Context(), "TAM|web"))
	if err := rules.Set(m.Context(), "TAM|web", swss.FieldValues{"PRIORITY": "100",
		"DST_IPV6": "2001:db8::2/128"}); err != nil {
		t.Fatal(err)
	}
	devicetest.RunUntilIdle(t, m.Sim)
	run := func(from, to uint64) {
		for k := from; k < to; k++ {
			for _, id := range []uint32{74565, 9, 74565} {
				devicetest.NoError(t, m.Chip.Receive(0, m.into(k, 0.3), saisim.Frame{Data: optionFrame(id)}))
			}
			m.advance(m.into(k, 0.99))
		}
	}
	run(markPeriod+2, markPeriod+8)
	count := func(k uint64, want uint64) {
		t.Helper()
		if p, ok := m.history()[k]; !ok || p.Packets != want || p.Flags != 0 {
			t.Errorf("period %d: %+v, want %d packets and no flag", k, p, want)
		}
	}
	count(markPeriod+6, 2)
	for _, o := range m.outs {
		id := uint32(o.Data[58])<<12 | uint32(o.Data[59])<<4 | uint32(o.Data[60])>>4
		at := altmark.At(m.Chip.TrueTime(o.At))
		if l := o.Data[60] >> 3 & 1; id == 9 && l != 0 || id != 9 && uint64(l) != markInterval.Period(at)&1 {
			t.Errorf("FlowMonID %d left with L %d in period %d", id, l, markInterval.Period(at))
		}
	}
	sessions := swss.NewTable(m.Redis.DB(swss.ConfigDB), schema.CfgTAMAltMark)
	row := m.row(swss.ConfigDB, schema.CfgTAMAltMark, "m")
	row["flow-mon-id"] = "9"
	devicetest.NoError(t, sessions.Set(m.Context(), "m", row))
	devicetest.RunUntilIdle(t, m.Sim)
	run(markPeriod+8, markPeriod+14)
	count(markPeriod+12, 1)
	row["flow-mon-id"] = "1048576"
	devicetest.NoError(t, sessions.Set(m.Context(), "m", row))
	devicetest.RunUntilIdle(t, m.Sim)
	const want = `flow-mon-id "1048576": want a number in 0..1048575`
	if s := m.row(swss.StateDB, schema.StateTAMAltMark, "m"); s["status"] != "failed" || s["reason"] != want {
		t.Errorf("the session is %v, want failed: %s", s, want)
	}
}
