package web

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tamtam/collector/result"
	"tamtam/mgmt/web/webtest"
	"tamtam/tam/words"
)

// mostBytes bounds the size of any page.
const mostBytes = 1 << 20

// With ten thousand of each kind of object, each page is small enough for a browser, reports the number of omitted
// rows, and links to them.
func TestLarge(t *testing.T) {
	const many = 10_000
	at := testNow.UnixNano() - 1e9
	w := result.Window{Start: at, Length: 1}
	b, f := &result.Batch{}, &fabric{}
	for i := range many {
		name, flow := fmt.Sprintf("s%d", i), fmt.Sprintf("UDP 10.0.0.1:%d > 10.0.0.2:9", i)
		f.network.Nodes = append(f.network.Nodes, Node{Name: name, ID: uint32(i + 1)})
		f.network.Links = append(f.network.Links, Link{A: End{name, "Ethernet0", 0},
			B:  End{fmt.Sprintf("s%d", (i+1)%many), "Ethernet4", 4},
			AB: Traffic{LostKnown: true, Lost: int64(i % 3)}})
		f.switches = append(f.switches, Switch{Name: name, Objects: []Object{
			{Name: "PORT|Ethernet0", Status: words.Failed, Reason: "none"}}})
		b.Hops = append(b.Hops, result.Hop{Window: w, Flow: flow, Path: "x", Switch: uint32(i + 1), Packets: 1})
		b.Drops = append(b.Drops, result.Drop{Window: w, Switch: name, Queue: -1, Reason: fmt.Sprint("reason", i),
			Rule: fmt.Sprint("rule", i), Source: "ipfix"})
		b.Losses = append(b.Losses, result.Loss{Window: w, Flow: flow, From: name, To: "b", Status: "ok", Known: true})
		b.Journeys = append(b.Journeys, result.Journey{Time: at + int64(i), Key: flow, End: fmt.Sprint("end", i),
			Hops: []result.JourneyHop{hop(-1, name, "", "", at)}})
		b.Sketches = append(b.Sketches, result.Sketch{Time: at, Switch: name, Task: fmt.Sprint("task", i), Key: flow})
		b.Sources = append(b.Sources, result.Source{Name: name, Kind: fmt.Sprint("kind", i)})
	}
	for i := range many {
		f.switches[0].Ports = append(f.switches[0].Ports, Port{Name: fmt.Sprintf("Ethernet%d", 4*i), Oper: "up"})
		f.switches[0].Objects = append(f.switches[0].Objects, Object{Name: fmt.Sprintf("ROUTE|%d", i), Status: words.Active})
	}
	p := put(t, b, func(c *Config) { c.Topology, c.Switches = f, f })
	for at, want := range map[string]string{
		"/": "Rows 1 to 50 of 20,000", "/?page=400": "Rows 19,951 to 20,000 of 20,000",
		"/flows":   "5,000 rows of ways of flows left out",
		"/packets": "8,000 rows of packets left out", "/drops": "5,000 rows of drops left out",
		"/marking":  "9,000 rows of series",
		"/sketches": "Rows 1 to 50 of 10,000", "/sources": "8,000 rows of sources left out",
		"/switches":       "Rows 1 to 50 of 10,000",
		"/switch?name=s0": "Objects 1 to 50 of 10,001", "/switch?name=s0&page=2": "8,976 more are not shown",
	} {
		r, text := get(t, p, at)
		if r.StatusCode != http.StatusOK || !strings.Contains(text, want) || len(text) > mostBytes {
			t.Errorf("%s: %s, %d bytes, and does not say %q", at, r.Status, len(text), want)
		}
		for _, why := range webtest.Check(text).Wrong {
			t.Errorf("%s: %s", at, why)
		}
	}
}

// However many requests arrive together, each gets the page or a response with Retry-After. All share the rows that are
// read.
func TestManyAtOnce(t *testing.T) {
	p := put(t, &result.Batch{Journeys: []result.Journey{{Time: testNow.UnixNano(), Key: "k"}}}, nil)
	var all sync.WaitGroup
	codes := make([]int, 200)
	for i := range codes {
		all.Go(func() {
			r, _ := get(t, p, "/packets")
			codes[i] = r.StatusCode
		})
	}
	all.Wait()
	answered := 0
	for _, code := range codes {
		switch code {
		case http.StatusOK:
			answered++
		case http.StatusServiceUnavailable:
		default:
			t.Errorf("answered with %d", code)
		}
	}
	if answered == 0 {
		t.Error("nobody was answered")
	}
	if r, _ := get(t, p, "/packets"); r.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s", r.Status)
	}
}
