package web

import (
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/hftrecords/hfttest"
)

// The page draws each record of a group at its time. The same records are data at another address, from a time on.
func TestRecords(t *testing.T) {
	c := hfttest.New(t)
	web := c.Start("web|PORT", "Ethernet0", "Ethernet4")
	c.Start("<db>|PORT", "Ethernet0")
	for i := range int64(5) {
		web.Sample(testNow.UnixNano()+10_000*i, uint64(1250*i), 0, 0, 0)
	}
	p := put(t, &result.Batch{}, func(cfg *Config) { cfg.Records = c.Store })
	if seen := crawl(t, p, 20); seen["/records"] < 5 {
		t.Errorf("%d pages of records, want both groups and each object", seen["/records"])
	}
	_, text := get(t, p, "/records?group=web|PORT&object=Ethernet0")
	for _, want := range []string{"5 records, every 10µs", "Ethernet0 IF_IN_OCTETS; the top is 1,250, counted in 10µs",
		`<path d="M0 100v-100.00h1000v100.00z" class="b-resident"/>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	resp, text := get(t, p, "/records.json?group=web|PORT&after=1772366400000030000")
	if want := `"records":[{"time_ns":1772366400000040000,"values":[5000,0,0,0]}]`; !strings.Contains(text, want) ||
		resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("data: %s, want %s", text, want)
	}
	for at, want := range map[string]string{"/records.json?group=x": "there are <db>|PORT, web|PORT",
		"/records?group=x": "no such group streams"} {
		if resp, text := get(t, p, at); resp.StatusCode != 404 || !strings.Contains(text, strings.ReplaceAll(
			strings.ReplaceAll(want, "<", "&lt;"), ">", "&gt;")) {
			t.Errorf("%s: %d %s, want %s", at, resp.StatusCode, text, want)
		}
	}
	if testNow.Add(40*time.Microsecond).UnixNano() != 1772366400000040000 {
		t.Error("the time of the records")
	}
}
