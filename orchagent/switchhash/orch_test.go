package switchhash

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A chip is an ASIC that has the hashes of next hops and of LAGs, and may lack a part of them.
type chip struct {
	sai.API
	hashes                         [2]sai.OID
	noFields, noAlgorithms, silent bool // silent: it does not report values
}

func (c *chip) AttrCapability(_ context.Context, id sai.AttrID) (sai.Capability, error) {
	switch id {
	case sai.HashAttrNativeHashFieldList:
		return sai.Capability{Set: !c.noFields, Get: true}, nil
	case sai.SwitchAttrEcmpDefaultHashAlgorithm, sai.SwitchAttrLAGDefaultHashAlgorithm:
		return sai.Capability{Set: !c.noAlgorithms, Get: true}, nil
	}
	return sai.Capability{Get: true}, nil
}

func (c *chip) EnumCapability(_ context.Context, id sai.AttrID) ([]sai.Enum, error) {
	switch {
	case c.silent:
		return nil, sai.StatusNotSupported
	case id == sai.HashAttrNativeHashFieldList:
		return []sai.Enum{sai.NativeHashFieldInPort, sai.NativeHashFieldSrcIP, sai.NativeHashFieldDstIP,
			sai.NativeHashFieldIPProtocol}, nil
	}
	return []sai.Enum{sai.HashAlgorithmXor, sai.HashAlgorithmCrc}, nil
}

func (c *chip) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	switch want[0].ID {
	case sai.SwitchAttrEcmpHash:
		return []sai.Attr{{ID: want[0].ID, Value: c.hashes[0]}}, nil
	case sai.SwitchAttrLAGHash:
		return []sai.Attr{{ID: want[0].ID, Value: c.hashes[1]}}, nil
	}
	return c.API.Get(ctx, k, want)
}

type bench struct {
	*orchtest.Bench
	chip chip
	sw   sai.OID
}

func newBench(t *testing.T, lacks chip) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 1}), chip: lacks}
	b.sw, _ = b.CreateSwitch()
	b.chip.API = b.Rec
	for i := range b.chip.hashes {
		oid, err := b.Fake.Create(b.Ctx, sai.ObjectTypeHash, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.chip.hashes[i] = oid
	}
	_, err := New(b.Ctx, Config{SAI: &b.chip, Daemon: b.Daemon, Redis: b.Redis, Switch: b.sw})
	if err != nil {
		t.Fatal(err)
	}
	b.Step()
	return b
}

// asic returns fields and algorithm of both hashes, such as "DST_IP,SRC_IP CRC; ...".
func (b *bench) asic() string {
	b.T.Helper()
	var texts []string
	for i, k := range kinds() {
		v, _ := sai.Find(b.Fake.Attrs(sai.Obj(sai.ObjectTypeHash, b.chip.hashes[i])), sai.HashAttrNativeHashFieldList)
		list, _ := v.(sai.Enums)
		var names []string
		for _, f := range list {
			names = append(names, strings.TrimPrefix(sai.EnumName(sai.HashAttrNativeHashFieldList, f), fieldPrefix))
		}
		slices.Sort(names)
		text := strings.Join(names, ",")
		if v, ok := sai.Find(b.Fake.Attrs(sai.Obj(sai.ObjectTypeSwitch, b.sw)), k.attr); ok {
			text += " " + strings.TrimPrefix(sai.EnumName(k.attr, v.(sai.Enum)), algorithmPrefix)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// want compares the ASIC, and the status of the row.
func (b *bench) want(asic, status string) {
	b.T.Helper()
	if got := b.asic(); got != asic {
		b.T.Errorf("the ASIC hashes %q, want %q", got, asic)
	}
	if got := b.Status(schema.AppSwitchHash + "|GLOBAL"); got != status {
		b.T.Errorf("status %q, want %q", got, status)
	}
}

// Without a row, hashes cover the default fields that the ASIC has. A row changes them, and they return when it goes.
func TestHashes(t *testing.T) {
	b := newBench(t, chip{})
	const usual = "DST_IP,IP_PROTOCOL,SRC_IP"
	b.want(usual+"; "+usual, "")
	b.Set(schema.AppSwitchHash, "GLOBAL", "ecmp_hash", "SRC_IP,IN_PORT", "lag_hash_algorithm", "XOR")
	b.Step()
	b.want("IN_PORT,SRC_IP; "+usual+" XOR", "active")
	b.Del(schema.AppSwitchHash, "GLOBAL")
	b.Step()
	b.want(usual+"; "+usual+" CRC", "")
}

// What the ASIC cannot do is refused with the field, the value and what it can do. The defaults then hold.
func TestHashRefused(t *testing.T) {
	const usual = "DST_IP,IP_PROTOCOL,SRC_IP; DST_IP,IP_PROTOCOL,SRC_IP"
	for _, c := range []struct {
		chip        chip
		row         []string
		asic, error string
	}{
		{chip{}, []string{"ecmp_hash", "SRC_IP,VLAN_ID", "lag_hash_algorithm", "CRC_32LO", "lag_hash", "SRC_IP"}, usual,
			`failed: ecmp_hash "VLAN_ID": the ASIC does not support it, want SRC_IP, DST_IP, IP_PROTOCOL, IN_PORT; ` +
				`lag_hash_algorithm "CRC_32LO": the ASIC does not support it, want CRC, XOR`},
		{chip{noFields: true}, []string{"lag_hash", "SRC_IP"}, "; ",
			`failed: lag_hash "SRC_IP": the ASIC cannot change it, want no such field`},
		{chip{noFields: true}, []string{"ecmp_hash_algorithm", "XOR"}, " XOR; ", "active"},
		{chip{noAlgorithms: true}, []string{"ecmp_hash_algorithm", "XOR"}, usual,
			`failed: ecmp_hash_algorithm "XOR": the ASIC cannot change it, want no such field`},
	} {
		b := newBench(t, c.chip)
		b.Set(schema.AppSwitchHash, "GLOBAL", c.row...)
		b.Step()
		b.want(c.asic, c.error)
	}
	b := newBench(t, chip{})
	b.Set(schema.AppSwitchHash, "GLOBAL", "ecmp_hash", "SRC_IP")
	b.Step()
	b.Set(schema.AppSwitchHash, "GLOBAL", "ecmp_hash", "SRC_MAC")
	b.Step()
	b.want(usual, `failed: ecmp_hash "SRC_MAC": the ASIC does not support it, want SRC_IP, DST_IP, IP_PROTOCOL, IN_PORT`)
}

// STATE_DB has what the ASIC can do, in SONiC's words.
func TestHashCapabilities(t *testing.T) {
	for _, c := range []struct {
		chip chip
		want swss.FieldValues
	}{
		{chip{}, swss.FieldValues{
			"HASH|NATIVE_HASH_FIELD_LIST": "SRC_IP,DST_IP,IP_PROTOCOL,IN_PORT", "ECMP_HASH_CAPABLE": "true",
			"LAG_HASH_CAPABLE": "true", "ECMP_HASH_ALGORITHM": "CRC,XOR", "ECMP_HASH_ALGORITHM_CAPABLE": "true",
			"LAG_HASH_ALGORITHM": "CRC,XOR", "LAG_HASH_ALGORITHM_CAPABLE": "true",
		}},
		{chip{noFields: true, silent: true}, swss.FieldValues{
			"HASH|NATIVE_HASH_FIELD_LIST": "N/A", "ECMP_HASH_CAPABLE": "false", "LAG_HASH_CAPABLE": "false",
			"ECMP_HASH_ALGORITHM": "N/A", "ECMP_HASH_ALGORITHM_CAPABLE": "true",
		}},
		{chip{noAlgorithms: true}, swss.FieldValues{"ECMP_HASH_ALGORITHM_CAPABLE": "false", "ECMP_HASH_CAPABLE": "true"}},
	} {
		b := newBench(t, c.chip)
		row := b.Row(swss.StateDB, schema.StateSwitchCap, schema.SwitchKey)
		for field, want := range c.want {
			if row[field] != want {
				t.Errorf("%s is %q, want %q", field, row[field], want)
			}
		}
	}
}

// A call that fails leaves the rest as configured, and the row has the error until it changes.
func TestHashesFailing(t *testing.T) {
	const row = "DST_IP,SRC_IP XOR; SRC_IP XOR"
	for n := 1; n <= 4; n++ {
		b := newBench(t, chip{})
		b.Rec.Reset()
		b.Rec.FailAt(n, sai.StatusFailure)
		set := func() {
			b.Set(schema.AppSwitchHash, "GLOBAL", "ecmp_hash", "SRC_IP,DST_IP", "ecmp_hash_algorithm", "XOR",
				"lag_hash", "SRC_IP", "lag_hash_algorithm", "XOR")
			b.Step()
		}
		set()
		if got := b.Status(schema.AppSwitchHash + "|GLOBAL"); !strings.HasPrefix(got, "failed: set ") || b.asic() == row {
			t.Errorf("call %d: %s, %s", n, got, b.asic())
		}
		set()
		b.want(row, "active")
	}
}
