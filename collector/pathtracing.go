package collector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tamtam/collector/capture"
	"tamtam/tam/pathtracing"
)

// PathTracingOptions are the options of [DecodePathTracing].
type PathTracingOptions struct {
	JSON  bool
	Names map[uint16]string // names of interfaces, by their ids in hops
}

// tracedPacket is a packet with a list of hops, as JSON. Unknown values are absent.
type tracedPacket struct {
	Packet int64       `json:"packet"`
	Time   string      `json:"time,omitempty"`
	Src    netip.Addr  `json:"src"`
	Dst    netip.Addr  `json:"dst"`
	Hops   []tracedHop `json:"hops"`
	Places int         `json:"places"`
	Full   bool        `json:"full,omitempty"`
	Error  string      `json:"error,omitempty"`
}

type tracedHop struct {
	Interface uint16 `json:"interface"`
	Name      string `json:"name,omitempty"`
	Load      uint8  `json:"load"`
	Time      uint8  `json:"time"`
}

// tracedTotals are the numbers of packets of a capture.
type tracedTotals struct {
	Packets int64  `json:"packets"`
	Traced  int64  `json:"traced"`
	Damaged int64  `json:"damaged"`
	Error   string `json:"error,omitempty"`
}

// DecodePathTracing prints the hops of each packet with the option of path tracing, in the order of the path, and then
// how many packets there were. A damaged list is printed as its fault.
func DecodePathTracing(ctx context.Context, out io.Writer, path string, opts PathTracingOptions) error {
	in, err := capture.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	bw := bufio.NewWriter(out)
	var total tracedTotals
	var readErr error
	for ctx.Err() == nil {
		p, err := in.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				readErr = err
				total.Error = err.Error()
			}
			break
		}
		total.Packets++
		list, found, err := pathtracing.Decode(p.Data)
		switch {
		case err != nil:
			total.Damaged++
		case found:
			total.Traced++
		default:
			continue
		}
		if err := opts.print(bw, tracedOf(p, list, err, opts.Names)); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(readErr, opts.printTotals(bw, total), bw.Flush())
}

// tracedOf returns what is printed of a packet. Its IPv6 header is intact, because the decoder found what follows it.
func tracedOf(p capture.Packet, list pathtracing.List, err error, names map[uint16]string) tracedPacket {
	t := tracedPacket{Packet: p.Number, Hops: []tracedHop{}, Places: list.Places, Full: err == nil && list.Full()}
	if !p.Time.IsZero() {
		t.Time = p.Time.Format(time.RFC3339Nano)
	}
	t.Src, t.Dst = pathtracing.Addresses(p.Data)
	for _, h := range list.Hops {
		t.Hops = append(t.Hops, tracedHop{h.Interface, names[h.Interface], h.Load, h.Time})
	}
	if err != nil {
		t.Error = err.Error()
	}
	return t
}

func (o PathTracingOptions) print(to io.Writer, t tracedPacket) error {
	if o.JSON {
		return json.NewEncoder(to).Encode(t)
	}
	what := "no hop"
	if len(t.Hops) > 0 {
		var hops []string
		for _, h := range t.Hops {
			name := strconv.Itoa(int(h.Interface))
			if h.Name != "" {
				name += "=" + h.Name
			}
			hops = append(hops, fmt.Sprintf("%s load %d time 0x%02x", name, h.Load, h.Time))
		}
		what = strings.Join(hops, ", ")
	}
	switch {
	case t.Error != "":
		what = "damaged: " + t.Error
	case t.Full:
		what += " (full: older hops may be missing)"
	}
	_, err := fmt.Fprintf(to, "%d %s %s -> %s: %s\n", t.Packet, orDash(t.Time), t.Src, t.Dst, what)
	return err
}

func (o PathTracingOptions) printTotals(to io.Writer, total tracedTotals) error {
	if o.JSON {
		return json.NewEncoder(to).Encode(total)
	}
	_, err := fmt.Fprintf(to, "%d packets, %d with a list of hops, %d with a damaged one\n", total.Packets, total.Traced,
		total.Damaged)
	return err
}
