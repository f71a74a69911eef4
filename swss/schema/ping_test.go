package schema

import (
	"testing"
	"time"
)

// Input without options has defaults, and a wrong member is named with its value and what would be right.
func TestParsePing(t *testing.T) {
	p, err := ParsePing(PingAsk, []byte(`{"destination":"10.0.0.5"}`))
	if err != nil || p.Count != 5 || p.Size != 56 || p.TTL != 64 || p.Interval != time.Second ||
		p.Timeout != 2*time.Second || p.Longest() != 6*time.Second {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = ParsePing(TracerouteAsk, []byte(`{"destination":"2001:db8::5","timeout":500,"interface":"Ethernet0"}`))
	if err != nil || !p.Trace || p.Count != 3 || p.TTL != 30 || p.Longest() != 30*540*time.Millisecond {
		t.Errorf("%+v, %v", p, err)
	}
	for _, tt := range []struct{ op, input, want string }{
		{PingAsk, `{}`, `destination is "", want an IPv4 or IPv6 address`},
		{PingAsk, `[]`, "input: array, want an object"},
		{PingAsk, `{"destination":"fe80::1%eth0"}`, `destination is "fe80::1%eth0", want an IPv4 or IPv6 address`},
		{PingAsk, `{"destination":"10.0.0.5","count":0}`, "count is 0, want 1 to 1000"},
		{PingAsk, `{"destination":"10.0.0.5","count":"5"}`, "count: string, want a whole number"},
		{PingAsk, `{"destination":"10.0.0.5","size":9001,"ttl":256}`,
			"size is 9001, want 0 to 9000\nttl is 256, want 1 to 255"},
		{PingAsk, `{"destination":"10.0.0.5","count":1000,"interval":60000}`,
			"count is 1000 and interval 60000, which take 16h39m2s: want at most 1h0m0s"},
		{PingAsk, `{"destination":"10.0.0.5","probes":3}`, `unknown field "probes": ping has none`},
		{TracerouteAsk, `{"destination":"10.0.0.5","count":3}`, `unknown field "count": traceroute has none`},
		{PingAsk, `{"destination":"10.0.0.5","dst":"x"}`, `unknown field "dst"`},
		{PingAsk, `{"destination":"10.0.0.5","source":"2001:db8::1"}`,
			"source is 2001:db8::1, want an address of the same IP version as destination 10.0.0.5"},
	} {
		if _, err := ParsePing(tt.op, []byte(tt.input)); err == nil || err.Error() != tt.want {
			t.Errorf("%s %s: %v\nwant %s", tt.op, tt.input, err, tt.want)
		}
	}
}
