package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Pings and traceroutes are requested from the daemon that makes the switch a host, hostd or hostifd, by messages as of
// a packet trace on a channel of their own. The answer has the same table and form. Its row is written again with each
// news, until its member done is true.
const (
	PingChannel = "TAMTAM_PING@hostd"

	PingAsk       = "ping"
	TracerouteAsk = "traceroute"
	PingCancel    = "cancel" // ends the request with the same channel for the answer
)

// A Ping is the input of the operations ping and traceroute, with defaults filled in.
type Ping struct {
	Trace       bool // true for a traceroute
	Destination netip.Addr
	Source      netip.Addr // invalid if the host chooses
	Interface   string     // interface of a link-local destination; empty for others
	Count       int        // echo requests of a ping, or for each hop of a traceroute
	Size        int        // bytes of data in a request
	TTL         int        // TTL or hop limit of a ping, or the last hop of a traceroute
	Interval    time.Duration
	Timeout     time.Duration
}

// maxPing is the longest time that a ping may send.
const maxPing = time.Hour

// traceGap is the time between the requests of one hop.
const traceGap = 20 * time.Millisecond

// Longest returns the longest time that the request can take.
func (p *Ping) Longest() time.Duration {
	n := time.Duration(p.Count - 1)
	if p.Trace {
		return time.Duration(p.TTL) * (n*p.Interval + p.Timeout)
	}
	return n*p.Interval + p.Timeout
}

// A pingInput is the input as RFC 7951 encodes it.
type pingInput struct {
	Destination string `json:"destination"`
	Source      string `json:"source"`
	Interface   string `json:"interface"`
	Count       *int64 `json:"count"`
	Probes      *int64 `json:"probes"`
	Size        *int64 `json:"size"`
	TTL         *int64 `json:"ttl"`
	MaxHops     *int64 `json:"max-hops"`
	Interval    *int64 `json:"interval"`
	Timeout     *int64 `json:"timeout"`
}

// ParsePing parses the input of the operation ping or traceroute. An error names the member, its value, and what is
// valid.
func ParsePing(operation string, input []byte) (p Ping, err error) {
	var in pingInput
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return p, fmt.Errorf("%s: %s, want %s", cmp.Or(wrong.Field, "input"), wrong.Value, pingType(wrong.Type.String()))
		}
		return p, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	number := func(name string, given *int64, low, high, normal int64) int {
		if given == nil {
			return int(normal)
		}
		if *given < low || *given > high {
			err = errors.Join(err, fmt.Errorf("%s is %d, want %d to %d", name, *given, low, high))
		}
		return int(*given)
	}
	address := func(name, text string) netip.Addr {
		a, bad := netip.ParseAddr(text)
		if bad != nil || a.Zone() != "" {
			err = errors.Join(err, fmt.Errorf("%s is %q, want an IPv4 or IPv6 address", name, text))
		}
		return a.Unmap()
	}
	p.Destination, p.Interface = address("destination", in.Destination), in.Interface
	if in.Source != "" {
		p.Source = address("source", in.Source)
	}
	others := []*int64{in.Probes, in.MaxHops}
	names := []string{"probes", "max-hops"}
	p.Size = number("size", in.Size, 0, 9000, 56)
	p.Timeout = time.Duration(number("timeout", in.Timeout, 100, 60_000, 2000)) * time.Millisecond
	if p.Trace = operation == TracerouteAsk; p.Trace {
		others, names = []*int64{in.Count, in.TTL, in.Interval}, []string{"count", "ttl", "interval"}
		p.Count = number("probes", in.Probes, 1, 10, 3)
		p.TTL = number("max-hops", in.MaxHops, 1, 64, 30)
		p.Interval = traceGap
	} else {
		p.Count = number("count", in.Count, 1, 1000, 5)
		p.TTL = number("ttl", in.TTL, 1, 255, 64)
		p.Interval = time.Duration(number("interval", in.Interval, 100, 60_000, 1000)) * time.Millisecond
	}
	for i, given := range others {
		if given != nil {
			err = errors.Join(err, fmt.Errorf("unknown field %q: %s has none", names[i], operation))
		}
	}
	switch {
	case err != nil:
	case p.Source.IsValid() && p.Source.Is4() != p.Destination.Is4():
		err = fmt.Errorf("source is %s, want an address of the same IP version as destination %s", p.Source, p.Destination)
	case !p.Trace && p.Longest() > maxPing:
		err = fmt.Errorf("count is %d and interval %d, which take %s: want at most %s", p.Count,
			p.Interval.Milliseconds(), p.Longest(), maxPing)
	}
	return p, err
}

// pingType returns the JSON that a type of Go has.
func pingType(name string) string {
	switch name {
	case "string":
		return "a string"
	case "int64":
		return "a whole number"
	}
	return "an object"
}
