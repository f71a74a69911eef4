package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

// hop returns an exit of a switch at which a packet stayed for a microsecond.
func hop(parent int, sw, in, out string, at int64) result.JourneyHop {
	return result.JourneyHop{Parent: parent, Switch: sw, In: in, Out: out, Arrival: at, Departure: at + 1000, Queue: -1,
		Depth: -1}
}

// packetAt returns the address of a packet's view.
func packetAt(key string, at int64, place string) string {
	return "/packet?" + url.Values{"key": {key}, "time": {strconv.FormatInt(at, 10)}, "at": {place}}.Encode()
}

// says checks that a page contains texts, in this order.
func says(t *testing.T, p *Page, at string, wants ...string) {
	t.Helper()
	r, text := get(t, p, at)
	rest := text
	for _, want := range wants {
		_, behind, ok := strings.Cut(rest, want)
		if r.StatusCode != http.StatusOK || !ok {
			t.Fatalf("%s: %s, and does not say %q, or not behind what is before it:\n%s", at, r.Status, want, text)
		}
		rest = behind
	}
}

// Copies of a packet make a tree: each is shown after its parent, with its port. The ends of all copies are listed.
func TestCopies(t *testing.T) {
	at := testNow.UnixNano() - 1e9
	dropped := hop(1, "spine2", "Ethernet0", "", at+2000)
	dropped.Dropped, dropped.Departure = "acl", 0
	p := put(t, &result.Batch{Journeys: []result.Journey{{Time: at, Key: "k", From: "h1",
		End: "to h2; dropped: acl; to h3", Hops: []result.JourneyHop{
			hop(-1, "leaf1", "Ethernet0", "Ethernet4", at), hop(-1, "leaf1", "Ethernet0", "Ethernet8", at),
			hop(0, "spine1", "Ethernet0", "Ethernet4", at+2000), dropped,
			hop(2, "leaf2", "Ethernet4", "Ethernet0", at+4000), hop(2, "leaf2", "Ethernet4", "Ethernet1", at+4000),
		}}}}, nil)
	const way = "leaf1 (Ethernet4 → spine1 → leaf2 (Ethernet0 | Ethernet1) | Ethernet8 → spine2)"
	says(t, p, "/packets", way, "to h2; dropped: acl; to h3")
	says(t, p, packetAt("k", at, "leaf1:Ethernet0"), "<dt>From</dt><dd>h1<", way, "3 ends", "to h2; dropped: acl; to h3",
		"leaf1 <small>copy 1 of 2", "Ethernet0 → Ethernet4", "went on",
		"leaf1:Ethernet4 →</small> spine1</th>", "went on",
		"spine1 →</small> leaf2 <small>copy 1 of 2", "ended: see the ends above",
		"spine1 →</small> leaf2 <small>copy 2 of 2", "ended: see the ends above",
		"leaf1 <small>copy 2 of 2", "Ethernet0 → Ethernet8", "went on",
		"leaf1:Ethernet8 →</small> spine2</th>", "dropped: acl")
}

// Each of several equal packets has a row of its own, even if they were seen at the same time. It shows the certain
// part of the path, possible continuations and origins, and links to the other packets.
func TestAlike(t *testing.T) {
	at := testNow.UnixNano() - 1e9
	first := hop(-1, "leaf1", "Ethernet0", "Ethernet4", at)
	first.Perhaps = "spine1:Ethernet0 after 700ns, spine1:Ethernet0 after 900ns"
	row := func(from string, at int64, end string, hops ...result.JourneyHop) result.Journey {
		return result.Journey{Time: at, Key: "k", Flow: "UDP a > b", From: from, End: end, Ambiguous: true, Candidate: 1,
			Of: 2, Hops: hops}
	}
	b := &result.Batch{Journeys: []result.Journey{
		row("h1", at, "one of 2 visits that are alike", first),
		row("leaf1:Ethernet4, as one of several packets that are alike", at+1700, "to h2",
			hop(-1, "spine1", "Ethernet0", "Ethernet4", at+1700)),
		row("leaf3:Ethernet4, as one of several packets that are alike", at+1700, "to h3",
			hop(-1, "spine2", "Ethernet0", "Ethernet8", at+1700)),
		{Time: at, Key: "other", End: "to h9", Hops: []result.JourneyHop{hop(-1, "leaf9", "Ethernet0", "Ethernet4", at)}},
	}}
	for i := range mostAlike {
		b.Journeys = append(b.Journeys, row("h1", at+int64(1e6+i), "to h2", hop(-1, "leaf4", "Ethernet0", "Ethernet4", at)))
	}
	p := put(t, b, nil)
	says(t, p, "/packets", "ambiguous: packets are alike")
	says(t, p, packetAt("k", at, "leaf1:Ethernet0"), "<dt>From</dt><dd>h1<", "one of 2 visits that are alike",
		"Packets are alike",
		"at=spine1%3AEthernet0&amp;key=k", "to h2", "at=spine2%3AEthernet0&amp;key=k", "to h3", "And 2 more",
		"perhaps to spine1:Ethernet0 after 700ns, spine1:Ethernet0 after 900ns")
	says(t, p, packetAt("k", at+1700, "spine1:Ethernet0"), "leaf1:Ethernet4, as one of several", "<dt>End</dt><dd>to h2",
		"at=leaf1%3AEthernet0")
	says(t, p, packetAt("k", at+1700, "spine2:Ethernet0"), "leaf3:Ethernet4, as one of several", "<dt>End</dt><dd>to h3")
	if _, text := get(t, p, packetAt("k", at, "leaf1:Ethernet0")); strings.Contains(text, "to h9") {
		t.Error("a packet that is not alike is told of as if it were")
	}
	says(t, p, packetAt("other", at, "leaf9:Ethernet0"), "<dt>End</dt><dd>to h9", "to h9</td>")
}

// Very long paths, copies of copies, and rows that no join makes are bounded.
func TestLongPaths(t *testing.T) {
	at := testNow.UnixNano() - 1e9
	long := result.Journey{Time: at, Key: "loop"}
	for i := range 2 * mostVisits {
		long.Hops = append(long.Hops, hop(i-1, "a", "Ethernet0", "Ethernet4", at+int64(i)))
	}
	odd := result.Journey{Time: at, Key: "odd", Hops: []result.JourneyHop{hop(7, "a", "", "", 0), hop(1, "b", "", "", 0),
		hop(-9, "c", "", "", 0)}}
	none := result.Journey{Time: at, Key: "none"}
	p := put(t, &result.Batch{Journeys: []result.Journey{long, odd, none}}, nil)
	says(t, p, packetAt("loop", at, "a:Ethernet0"), strings.Repeat("a → ", rows.MostWay)+"…<",
		"500 visits more are not shown")
	says(t, p, packetAt("odd", at, "a:"), "a (ended | ended | ended)")
	says(t, p, packetAt("none", at, ""), "<dt>Took</dt>")
	crawl(t, p, 9)
}
