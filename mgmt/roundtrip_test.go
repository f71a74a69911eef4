package mgmt

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// The configuration read from one switch (a Get of type CONFIG at the root) makes the same configuration at another. At
// the first switch it changes nothing. This holds by replace, by union_replace and, on an empty switch, by update.
func TestRoundTrip(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4, Short: 2}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		from, to := newBed(t, nil), newBed(t, nil)
		ports := map[string]string{}
		for i := range 4 {
			ports[fmt.Sprintf("CONFIG_DB PORT|Ethernet%d", 4*i)] = fmt.Sprintf(
				"lanes=%d speed=25000 index=%d mtu=9100 admin_status=down", 4*i, i) // a Get includes defaults
		}
		from.rows(ports)
		to.rows(ports)
		from.rows(randomConfig(rnd))
		all, err := from.client.Get(from.ctx, &gpb.GetRequest{
			Path: []*gpb.Path{{}}, Type: gpb.GetRequest_CONFIG, Encoding: []gpb.Encoding{asJSON, asIETF}[rnd.IntN(2)],
		})
		if err != nil {
			t.Fatal(err)
		}
		whole := []*gpb.Update{{Path: &gpb.Path{}, Val: all.GetNotification()[0].GetUpdate()[0].GetVal()}}
		sets := []*gpb.SetRequest{{Update: whole}, {Replace: whole}, {UnionReplace: whole}}
		rows := func(b *bed) string { return string(turnMark.ReplaceAll([]byte(b.config()), nil)) }
		before := rows(from)
		to.mustSet(sets[rnd.IntN(len(sets))])
		to.wantText(rows(to), before)
		for _, set := range sets {
			from.mustSet(set)
			from.wantText(rows(from), before)
		}
	})
}

// turnMark matches the line that holds the revision of CONFIG_DB.
var turnMark = regexp.MustCompile(swss.KeyMark + ":.*\n")

// randomConfig returns random rows that the modules represent.
func randomConfig(rnd *rand.Rand) map[string]string {
	rows := map[string]string{}
	put := func(key, format string, args ...any) { rows["CONFIG_DB "+key] = fmt.Sprintf(format, args...) }
	of := func(words ...string) string { return words[rnd.IntN(len(words))] }
	put("DEVICE_METADATA|localhost", "hostname=%s", of("leaf1", "a-b"))
	for i := range rnd.IntN(3) {
		put(fmt.Sprintf("PORTCHANNEL|PortChannel%d", i+1), "admin_status=%s mtu=%d%s%s%s", of("up", "down"),
			1500+rnd.IntN(7000),
			of(" static=false", " static=true"), of("", " min_links=2"),
			of("", " fast_rate=true", " fast_rate=false fallback=true"))
		if rnd.IntN(2) == 0 {
			put(fmt.Sprintf("PORTCHANNEL_MEMBER|PortChannel%d|Ethernet%d", i+1, 4*i), "NULL=NULL")
		}
	}
	for i := range rnd.IntN(3) {
		vlan := fmt.Sprintf("Vlan%d", 10+i)
		put("VLAN|"+vlan, "vlanid=%d admin_status=up", 10+i)
		put("VLAN_MEMBER|"+vlan+"|Ethernet8", "tagging_mode=tagged")
		if rnd.IntN(2) == 0 {
			put("VLAN_INTERFACE|"+vlan, "NULL=NULL")
			put(fmt.Sprintf("VLAN_INTERFACE|%s|10.%d.0.1/24", vlan, i), "NULL=NULL")
		}
	}
	put("PORT|Ethernet12", "lanes=12 speed=25000 index=3 mtu=%d admin_status=%s%s", 1500+rnd.IntN(7000), of("up", "down"),
		of("", " description=words"))
	for i := range rnd.IntN(4) {
		put(fmt.Sprintf("TAM_COLLECTORS_TABLE|%s%d", of("c", "c/", "c[]=", "%2F"), i),
			"ipaddress=10.0.%d.%d ipaddress-type=ipv4 port=%d protocol=%s", rnd.IntN(256), rnd.IntN(256), 1+rnd.IntN(65535),
			of("UDP", "TCP"))
		put(fmt.Sprintf("TAM_SAMPLINGRATE_TABLE|r%d", i), "sampling-rate=%d", 1+rnd.IntN(10000))
	}
	for i := range rnd.IntN(4) {
		group := fmt.Sprintf("f%d", i)
		put("TAM_FLOWGROUP_TABLE|"+group, "table-name=TAM id=%d", i+1)
		put("ACL_RULE|TAM|"+group, "PRIORITY=%d SRC_IP=10.1.%d.0/24 IP_PROTOCOL=17%s", 1+rnd.IntN(1000), rnd.IntN(256),
			of("", " L4_DST_PORT=7", " DSCP=8/0x38"))
		if rnd.IntN(2) == 0 {
			put("TAM_TAILSTAMPING_TABLE|s"+group, "flowgroup=%s", group)
		}
	}
	return rows
}
