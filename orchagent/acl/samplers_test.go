package acl

import (
	"testing"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// Rules of one rate share a sampler, which is there while one of them samples by it; their counters have the label that
// samples name them by.
func TestRulesSample(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "SAMPLE", "Ethernet4")
	rule := func(name string, action ...string) {
		b.rule("T:"+name, append([]string{"PRIORITY", "1", "SRC_IP", "1.1.1.1"}, action...)...)
		b.Step()
		b.WantStatus(schema.StateACLRule, "T|"+name, "Active")
	}
	samplers := func(want ...uint64) map[sai.OID]uint64 {
		t.Helper()
		rates := map[sai.OID]uint64{}
		for _, k := range b.Rec.LiveOf(sai.ObjectTypeSamplepacket) {
			v, _ := sai.Find(b.Fake.Attrs(k), sai.SamplepacketAttrSampleRate)
			rates[k.OID] = uint64(v.(sai.Uint))
		}
		if len(rates) != len(want) {
			t.Fatalf("samplers %v, want %v", rates, want)
		}
		return rates
	}
	rule("a", "PACKET_ACTION", "FORWARD")
	samplers()
	rule("a", "PACKET_ACTION", "FORWARD", "SAMPLE_INGRESS_ACTION", "512") // its counter gets a label
	rule("b", "SAMPLE_INGRESS_ACTION", "512")
	rates := samplers(512)
	labels := map[string]bool{}
	for _, k := range b.Rec.LiveOf(sai.ObjectTypeACLEntry) {
		v, _ := sai.Find(b.Fake.Attrs(k), sai.ACLEntryAttrActionIngressSamplepacketEnable)
		if a, _ := v.(sai.Action); !a.Enabled || rates[a.Param.(sai.OID)] != 512 {
			t.Errorf("an entry samples by %v, want one in 512", v)
		}
		v, _ = sai.Find(b.Fake.Attrs(k), sai.ACLEntryAttrActionCounter)
		l, _ := sai.Find(b.Fake.Attrs(sai.Obj(sai.ObjectTypeACLCounter, v.(sai.Action).Param.(sai.OID))),
			sai.ACLCounterAttrLabel)
		labels[string(l.(sai.Text))] = true
	}
	if !labels["T|a"] || !labels["T|b"] {
		t.Errorf("labels %v, want those of both rules", labels)
	}
	rule("b", "SAMPLE_INGRESS_ACTION", "256")
	samplers(256, 512)
	rule("a", "PACKET_ACTION", "FORWARD")
	samplers(256)
	for n := range 3 { // counter, sampler, entry
		b.Rec.FailAt(n+1, sai.StatusInsufficientResources)
		b.rule("T:c", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "SAMPLE_INGRESS_ACTION", "1024")
		b.Step()
		samplers(256)
		b.Del(schema.AppACLRule, "T:c")
		b.Step()
	}
	rule("c", "SAMPLE_INGRESS_ACTION", "1024")
	for _, name := range []string{"a", "b", "c"} {
		b.Del(schema.AppACLRule, "T:"+name)
	}
	b.Step()
	samplers()
}
