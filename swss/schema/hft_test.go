package schema

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A profile streams only if it is enabled. Its interval is in microseconds.
func TestHFTProfile(t *testing.T) {
	for _, c := range []struct {
		fields string
		want   HFTProfile
		bad    string
	}{
		{"stream_state=enabled poll_interval=10", HFTProfile{"p", true, 10}, ""},
		{"stream_state=DISABLED", HFTProfile{"p", false, 0}, ""},
		{"", HFTProfile{"p", false, 0}, ""},
		{"otel_endpoint=here otel_certs=there", HFTProfile{"p", false, 0}, ""},
		{"stream_state=on", HFTProfile{}, `HIGH_FREQUENCY_TELEMETRY_PROFILE|p: stream_state "on": want enabled or disabled`},
		{"poll_interval=1ms", HFTProfile{}, `poll_interval "1ms": want `},
		{"poll_interval=4294967296", HFTProfile{}, `poll_interval "4294967296": want `},
		{"chunk_size=5", HFTProfile{}, "chunk_size"},
	} {
		got, err := ParseHFTProfile("p", fieldsOf(c.fields))
		if (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s: %v, want %s", c.fields, err, c.bad)
		}
		if again, _ := ParseHFTProfile("p", got.Fields()); err == nil && (got != c.want || again != got) {
			t.Errorf("%s: %+v, then %+v, want %+v", c.fields, got, again, c.want)
		}
	}
}

// A group names objects of one type, in the form of that type, and statistics.
func TestHFTGroup(t *testing.T) {
	for _, c := range []struct {
		key, objects, counters string
		want                   string // objects and counters, or
		bad                    string
	}{
		{"p|PORT", "Ethernet8,Ethernet0", "IF_OUT_OCTETS,IF_IN_OCTETS", "Ethernet0 Ethernet8 IF_IN_OCTETS IF_OUT_OCTETS", ""},
		{"p|QUEUE", "Ethernet0|3,Ethernet0|15", "PACKETS", "Ethernet0|3 Ethernet0|15 PACKETS", ""},
		{"p|INGRESS_PRIORITY_GROUP", "Ethernet0|7", "PACKETS", "Ethernet0|7 PACKETS", ""},
		{"p|BUFFER_POOL", "egress_lossless_pool", "WATERMARK_BYTES", "egress_lossless_pool WATERMARK_BYTES", ""},
		{"p|PORT", "", "", "", ""},
		{"p", "Ethernet0", "", "", `key "p": want profile|group, the group being BUFFER_POOL, INGRESS_PRIORITY_GROUP, ` +
			`PORT or QUEUE`},
		{"p|port", "Ethernet0", "", "", `key "p|port": want profile|group`},
		{"p|a|PORT", "Ethernet0", "", "", `key "p|a|PORT": want profile|group`},
		{"|PORT", "Ethernet0", "", "", `key "|PORT": want profile|group`},
		{"p|PORT", "Ethernet0|3", "", "", `object_names "Ethernet0|3": want EthernetN`},
		{"p|PORT", "eth0", "", "", `object_names "eth0": want EthernetN`},
		{"p|QUEUE", "Ethernet0", "", "", `object_names "Ethernet0": want EthernetN|queue, such as Ethernet0|3`},
		{"p|QUEUE", "Ethernet0|16", "", "", `object_names "Ethernet0|16": want EthernetN|queue`},
		{"p|QUEUE", "Ethernet0|03", "", "", `object_names "Ethernet0|03": want EthernetN|queue`},
		{"p|QUEUE", "Ethernet0|0x3", "", "", `object_names "Ethernet0|0x3": want EthernetN|queue`},
		{"p|INGRESS_PRIORITY_GROUP", "Ethernet0|8", "", "", `object_names "Ethernet0|8": want EthernetN|priority group`},
		{"p|BUFFER_POOL", "a:b", "", "", `object_names "a:b": want the name of a buffer pool`},
		{"p|PORT", "Ethernet0", "octets", "", `object_counters "octets": want SAI's names of statistics`},
	} {
		g, err := ParseHFTGroup(c.key, map[string]string{"object_names": c.objects, "object_counters": c.counters})
		if (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s %s %s: %v, want %s", c.key, c.objects, c.counters, err, c.bad)
		}
		if got := strings.Join(slices.Concat(g.Objects, g.Counters), " "); err == nil && got != c.want {
			t.Errorf("%s: %s, want %s", c.key, got, c.want)
		}
		again, _ := ParseHFTGroup(c.key, g.Fields())
		if err == nil && !maps.Equal(again.Fields(), g.Fields()) {
			t.Errorf("%s: %v, then %v", c.key, g.Fields(), again.Fields())
		}
	}
}

// A session holds templates as bytes, and a label for each object.
func TestHFTSession(t *testing.T) {
	s := HFTSession{Enabled: true, Objects: []string{"Ethernet0", "Ethernet0|3"}, Labels: []uint16{1, 32767},
		Templates: []byte("\x00\x0a\xff ")}
	got, err := ParseHFTSession("p|PORT", s.Fields())
	if err != nil || !maps.Equal(got.Fields(), s.Fields()) || string(got.Templates) != string(s.Templates) {
		t.Errorf("%+v, want %+v: %v", got, s, err)
	}
	for _, c := range []struct{ fields, bad string }{
		{"stream_status=on", `stream_status "on": want enabled or disabled`},
		{"session_type=csv", `session_type "csv": want ipfix`},
		{"object_names=a object_ids=32768", `object_ids "32768": want numbers up to 32767, separated by commas`},
		{"object_names=a,b object_ids=1", `object_ids "1": want as many numbers as object_names has names`},
	} {
		if _, err := ParseHFTSession("p|PORT", fieldsOf(c.fields)); err == nil || !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s: %v, want %s", c.fields, err, c.bad)
		}
	}
}
