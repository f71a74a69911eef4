package recordview

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/hftrecords/hfttest"
)

// parse returns the parameters of an address.
func parse(text string) url.Values {
	q, err := url.ParseQuery(text)
	if err != nil {
		panic(err)
	}
	return q
}

// serve returns the answer to parameters.
func serve(t *testing.T, c *hfttest.Chip, text string) string {
	t.Helper()
	w := httptest.NewRecorder()
	if err := Serve(w, &http.Request{URL: &url.URL{RawQuery: text}}, c.Store); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

// Each record is a step of its own: what a counter counted since the record before. A burst that lasts one interval is
// as high as it was. A gap has no value, which differs from zero.
func TestNew(t *testing.T) {
	c := hfttest.New(t)
	web := c.Start("web|PORT", "Ethernet0", "Ethernet4")
	octets := uint64(0)
	for i := range int64(100) {
		if i == 50 {
			octets += 12_500
		}
		if i < 70 || i >= 80 { // ten records are missing
			web.Sample(1_000_000+10_000*i, octets, 0, 7, 0)
		}
	}
	v, err := New(c.Store, parse("object=Ethernet0"))
	if err != nil {
		t.Fatal(err)
	}
	if v.Group != "web|PORT" || v.Every != 10*time.Microsecond || v.Gaps != 1 || v.Records != 90 || v.Merged != 1 ||
		fmt.Sprint(v.Objects) != "[Ethernet0 Ethernet4]" || len(v.Charts) != 2 {
		t.Errorf("%+v", v)
	}
	in, out := v.Charts[0], v.Charts[1]
	// The record of 500 us is the 50th of 99 intervals: the columns from 494.9 to 505.05.
	if in.Name != "Ethernet0 IF_IN_OCTETS" || in.Most != 12_500 || in.Path != "M494 100v-100.00h11v100.00z" {
		t.Errorf("%+v", in)
	}
	if out.None || out.Most != 0 || out.Path != "" {
		t.Errorf("%+v, want zeros", out)
	}
	for _, bad := range [][2]string{{"db|PORT", ""}, {"web|PORT", "Ethernet8"}} {
		_, err := New(c.Store, url.Values{"group": {bad[0]}, "object": {bad[1]}})
		if err == nil || !strings.Contains(err.Error(), "there are") {
			t.Errorf("%v: %v, want what there is", bad, err)
		}
	}
}

// Of more records than there are columns, each column has the greatest value, so that no burst disappears. A chosen
// range is at full resolution again.
func TestManyRecords(t *testing.T) {
	c := hfttest.New(t)
	web := c.Start("web|PORT", "Ethernet0")
	for i := range int64(50_001) {
		value := uint64(0)
		if i > 25_000 {
			value = 1250
		}
		web.Sample(10_000*i, value, 0)
	}
	v, err := New(c.Store, parse("after=0&before=500000000"))
	if err != nil {
		t.Fatal(err)
	}
	if in := v.Charts[0]; in.Most != 1250 || in.Path != "M500 100v-100.00h1v100.00z" || v.Merged != 50 {
		t.Errorf("%+v, merged %d", in, v.Merged)
	}
	if v, err = New(c.Store, parse("after=249000000&before=251000000")); err != nil {
		t.Fatal(err)
	}
	if in := v.Charts[0]; in.Most != 1250 || in.Path != "M500 100v-100.00h5v100.00z" || v.Merged != 1 || !v.Chosen {
		t.Errorf("%+v, merged %d", in, v.Merged)
	}
	if v, err = New(c.Store, parse("after=1000000000000000&before=2000000000000000")); err != nil || v.Records != 0 {
		t.Errorf("%+v, %v; want no records", v, err)
	}
}

// Data have all records after a time, each with its time. A column that a record does not have is null.
func TestServe(t *testing.T) {
	c := hfttest.New(t)
	web := c.Start("web|PORT", "Ethernet0")
	web.Sample(10, 1, 2)
	web.Sample(20, 3, 4)
	web.Change("Ethernet4")
	web.Sample(30, 5, 6)
	got := serve(t, c, "after=10&group=web|PORT")
	want := `{"group":"web|PORT","columns":[` +
		`{"object":"Ethernet0","statistic":"IF_IN_OCTETS","kind":"counter"},` +
		`{"object":"Ethernet0","statistic":"IF_OUT_OCTETS","kind":"counter"},` +
		`{"object":"Ethernet4","statistic":"IF_IN_OCTETS","kind":"counter"},` +
		`{"object":"Ethernet4","statistic":"IF_OUT_OCTETS","kind":"counter"}],"records":[` +
		`{"time_ns":20,"values":[3,4,null,null]},{"time_ns":30,"values":[null,null,5,6]}],"more":false}` + "\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, bad := range [][2]string{{"db|PORT", ""}, {"web|PORT", "x"}} {
		if _, err := answer(c.Store, bad[0], bad[1]); err == nil {
			t.Errorf("%v: want an error", bad)
		}
	}
}

// An answer is bounded. The next one goes on after the last record.
func TestServeParts(t *testing.T) {
	c := hfttest.New(t)
	ports := make([]string, 300)
	for i := range ports {
		ports[i] = fmt.Sprint("Ethernet", i)
	}
	web := c.Start("web|PORT", ports...)
	defer c.Store.Follow(true, make(chan struct{}, 1)).Close() // records do not wait for the first answer
	const records = 2000
	for i := range int64(records) {
		web.Sample(i+1, make([]uint64, 600)...)
	}
	n, after := int64(0), "0"
	for more := true; more; {
		var a Answer
		if err := json.Unmarshal([]byte(serve(t, c, "group=web|PORT&after="+after)), &a); err != nil {
			t.Fatal(err)
		}
		for _, r := range a.Records {
			if n++; r.At != n {
				t.Fatalf("record at %d, want %d", r.At, n)
			}
		}
		more, after = a.More, fmt.Sprint(n)
	}
	if n != records {
		t.Errorf("%d records, want %d", n, records)
	}
}
