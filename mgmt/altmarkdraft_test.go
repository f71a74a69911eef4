package mgmt

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const draftProfile = "/altmark/altmark-profiles/altmark-profile[altmark-profile-name=m1]"

// The draft's nodes show the same session as tamtam-altmark, as far as the draft has terms for it.
func TestAltMarkDraftRandom(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	randtest.Run(t, randtest.Cases{Seed: 914200000, Count: 200, Short: 40}, func(t *testing.T, seed uint64) {
		s := randomAltMark(rand.New(rand.NewPCG(seed, 0)))
		b.rows(map[string]string{altMarkRow: ""})
		var row []string
		for f, v := range s.Fields() {
			row = append(row, f+"="+v)
		}
		b.rows(map[string]string{altMarkRow: strings.Join(row, " ")})
		if _, err := schema.ParseAltMarkSession("m1", s.Fields()); err != nil {
			t.Fatal(err)
		}
		got, err := b.get(draftProfile)
		if err != nil {
			t.Fatal(err)
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(got, "tamtam-ietf-altmark:", "")), &said); err != nil {
			t.Fatal(err)
		}
		if want := draftOf(s); !reflect.DeepEqual(said, want) {
			t.Errorf("%+v is\n%v\nwant\n%v", s, said, want)
		}
	})
}

// randomAltMark returns a random valid session.
func randomAltMark(rnd *rand.Rand) schema.AltMarkSession {
	marks := [][2]altmark.Mark{{altmark.DSCP0, altmark.DSCP0 + 1}, {altmark.IPv6Loss, altmark.IPv6Delay},
		{altmark.IPv6Delay, altmark.IPv6Loss}, {altmark.IPv4Reserved, altmark.DSCP0}}[rnd.IntN(4)]
	s := schema.AltMarkSession{Name: "m1", FlowGroup: "f1", Session: altmark.Session{
		Role: altmark.Initiator + altmark.Role(rnd.IntN(3)), Method: altmark.Step + altmark.Method(rnd.IntN(4)),
		Mark: marks[0], SlotSync: true,
		Interval: altmark.MinInterval + altmark.Interval(rnd.IntN(int(altmark.MaxInterval-altmark.MinInterval)+1)),
	}}
	s.ClockError, s.MaxDelay = s.Interval.Duration()/64, s.Interval.Duration()/8
	s.Clear = s.Role == altmark.Terminator && rnd.IntN(2) == 0
	s.MeanDelay = s.Method != altmark.Pulse && rnd.IntN(2) == 0
	if s.Method == altmark.Double {
		s.Mark2 = marks[1]
	}
	if s.Mark != altmark.IPv4Reserved && rnd.IntN(2) == 0 {
		s.FlowMonID = altmark.FlowMonID{Given: true, ID: rnd.Uint32N(altmark.MaxFlowMonID + 1)}
	}
	return s
}

// draftOf returns a session in the draft's terms.
func draftOf(s schema.AltMarkSession) map[string]any {
	want := map[string]any{
		"altmark-profile-name": s.Name, "filter": map[string]any{"filter-type": "acl-filter", "ace-name": s.FlowGroup},
		"direction":        []string{"ingress", "transit", "egress"}[s.Role-altmark.Initiator],
		"interface-action": []string{"action-marking", "action-read", "action-read"}[s.Role-altmark.Initiator],
		// 2^n s, expressed by the shortest period
		"measurement-period":       fmt.Sprint(uint64(976_562_500) << (s.Interval - altmark.MinInterval)),
		"enable-loss-measurement":  s.Method != altmark.Pulse,
		"enable-delay-measurement": s.Method != altmark.Step || s.MeanDelay,
	}
	if s.Clear {
		want["interface-action"] = "action-unmarking"
	}
	if s.Mark == altmark.IPv6Loss || s.Mark == altmark.IPv6Delay {
		want["protocol-type"] = "ipv6"
	}
	if s.FlowMonID.Given {
		want["flow-mon-id"] = float64(s.FlowMonID.ID)
	}
	if word := map[altmark.Method]string{altmark.Step: "single-marking",
		altmark.Double: "double-marking"}[s.Method]; word != "" {
		want["method-type"] = word
	}
	return want
}

// Ports and the feature have their nodes, and absent fields are omitted. A refused Set reports the path at which the
// data can be written instead.
func TestAltMarkDraft(t *testing.T) {
	b := newBed(t, nil)
	b.rows(altMarked())
	b.rows(map[string]string{"APPL_DB PORT_TABLE:Ethernet0": "lanes=0 speed=100000",
		"CONFIG_DB TAM_FEATURES_TABLE|ALTMARK": "status=INACTIVE"})
	for path, want := range map[string]string{
		"/altmark/admin-config/enabled": "false",
		"/altmark/available-interfaces": `{"tamtam-ietf-altmark:available-interface":` +
			`[{"if-name":"Ethernet0"}]}`,
		draftProfile + "/measurement-period":             `"1000000000000"`,
		draftProfile + "/interface-action":               `"tamtam-ietf-altmark:action-unmarking"`,
		altMarkM1 + "/config/interval":                   "0",
		"/altmark/altmark-profiles/*/method-type":        "",
		"/altmark/altmark-profiles/altmark-profile[x=y]": "error",
	} {
		got, err := b.get(path)
		if want == "error" {
			wantErr(t, err, "InvalidArgument")
		} else if got != want && want != "" {
			t.Errorf("%s: %s, %v, want %s", path, got, err, want)
		}
	}
	b.rows(map[string]string{"CONFIG_DB TAM_FEATURES_TABLE|ALTMARK": "status=ACTIVE",
		"CONFIG_DB TAM_ALTMARK_TABLE|odd": "flowgroup=f1 role=boss method=x interval=9 mark=ecn0"})
	if got, err := b.get("/altmark/admin-config/enabled"); err != nil || got != "true" {
		t.Errorf("enabled: %s, %v", got, err)
	}
	got, err := b.get(strings.Replace(draftProfile, "m1", "odd", 1))
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, strings.ReplaceAll(got, "tamtam-ietf-altmark:", ""),
		`{"altmark-profile-name":"odd","filter":{"filter-type":"acl-filter","ace-name":"f1"}}`)
	for _, set := range []*gpb.SetRequest{
		updating(update(draftProfile+"/measurement-period", `"1"`)), {Delete: []*gpb.Path{path(draftProfile)}},
		updating(update("/altmark/altmark-profiles", `{"altmark-profile":[{"altmark-profile-name":"m9"}]}`)),
	} {
		_, err := b.client.Set(b.ctx, set)
		wantErr(t, err, "InvalidArgument", "read-only", "/tam/alt-mark-sessions")
	}
	_, err = b.client.Set(b.ctx, updating(update("/altmark/admin-config/enabled", "true")))
	wantErr(t, err, "InvalidArgument", "read-only")
}

// A subscriber to the draft's nodes is notified of a change under the names of tamtam-altmark.
func TestAltMarkDraftOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(altMarked())
	s := b.subscribe(
		streamOf(subOf(onChange,
			"/altmark/altmark-profiles/altmark-profile[altmark-profile-name=*]/enable-delay-measurement")))
	s.want("U "+draftProfile+"/enable-delay-measurement true", "S")
	b.mustSet(updating(update(altMarkM1+"/config/method", `"step"`)))
	s.want("U " + draftProfile + "/enable-delay-measurement false")
	b.rows(map[string]string{altMarkRow: ""})
	s.want("D " + draftProfile + "/enable-delay-measurement")
}
