package extension

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/tam/dropreport"
)

// A reportWindow reads the counters of streams of reports. It is not configuration.
type reportWindow struct {
	of      *Chip
	entry   map[string]json.RawMessage
	streams [][2]netip.AddrPort
}

// newReportWindow implements [Area.Object] for reportWindow.
func (c *Chip) newReportWindow(name string) Object {
	if name != dropreport.ObjectReports {
		return nil
	}
	return &reportWindow{of: c}
}

func (w *reportWindow) Apply(text []byte) error {
	next := reportWindow{of: w.of}
	var names []string
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, dropreport.AttrStreams, &names); err != nil {
			return err
		}
	}
	if len(names) > dropreport.MaxStreams {
		return fmt.Errorf("streams: %d, want at most %d", len(names), dropreport.MaxStreams)
	}
	for i, name := range names {
		from, to, ok := strings.Cut(name, ">")
		src, err := netip.ParseAddrPort(from)
		dst, err2 := netip.ParseAddrPort(to)
		if !ok || err != nil || err2 != nil {
			return fmt.Errorf("streams: %.120q, the number %d, want SRC:PORT>DST:PORT", name, i+1)
		}
		next.streams = append(next.streams, [2]netip.AddrPort{src, dst})
	}
	*w = next
	return nil
}

func (w *reportWindow) Leave() {}

// Read returns the object's entry with the current counters. Those of a stream that does not exist are zero.
func (w *reportWindow) Read() sai.Value {
	values := []uint64{}
	for _, s := range w.streams {
		n, _ := engine.ReportCounts(w.of.Engine, s[0], s[1])
		values = append(values, n[:]...)
	}
	return writeExtension(w.entry, []string{dropreport.AttrCounters}, [][]uint64{values})
}
