package export

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"tamtam/collector"
	"tamtam/collector/marks"
	"tamtam/tam/ipfix"
)

// Options configure an Exporter.
type Options struct {
	To         []string // HOST:PORT of each collector
	Enterprise uint32   // enterprise number of tamtam's elements; zero means [ipfix.DefaultEnterprise]
	Domain     uint32   // observation domain, 1 or more
	MTU        int      // MTU of the path to the collectors in bytes
	// Refresh and RefreshMessages are the time and the number of messages after which templates are sent again. Refresh
	// also applies to the export counters.
	Refresh         time.Duration
	RefreshMessages int
}

// Limits of the MTU, and the size of the IPv6 and UDP headers, in bytes.
const (
	MinMTU  = ipfix.MinSize + headers
	MaxMTU  = ipfix.MaxSize
	headers = 48
)

// An Exporter sends collected data over UDP to each collector separately, with its own sequence numbers and counters.
// It must be used by one goroutine only.
type Exporter struct {
	to                []*destination
	hop, period, sent *ipfix.Record
	maxReasons        int
}

// destination is a collector. Data about the exporter itself, not about observations, are in domain 0 (RFC 7011,
// section 3.1), with their own sequence numbers.
type destination struct {
	conn     net.Conn
	enc      *ipfix.Encoder
	about    *ipfix.Encoder
	counts   Sent
	reported time.Time // time when the counters were last sent
	every    time.Duration
}

// Sent counts the records for one collector. A record that was sent may still be lost, which the collector detects by
// sequence numbers.
type Sent struct {
	To       string
	Records  uint64 // number of data records, including options records
	Messages uint64
	NotSent  uint64 // number of records that were not sent
	Why      string // reason why the first such record was not sent
	Refused  uint64 // number of messages refused because no process listened; earlier messages are lost
}

// String returns the counters in one line.
func (s Sent) String() string {
	text := fmt.Sprintf("IPFIX to %s: %d records in %d messages sent", s.To, s.Records, s.Messages)
	if s.NotSent > 0 {
		text += fmt.Sprintf(", %d records not sent: %s", s.NotSent, s.Why)
	}
	if s.Refused > 0 {
		text += fmt.Sprintf(", refused %d times: no process listened", s.Refused)
	}
	return text
}

// Dial returns an exporter. An error names the invalid option, or the collector whose address cannot be resolved.
func Dial(ctx context.Context, opts Options) (*Exporter, error) {
	if opts.MTU < MinMTU || opts.MTU > MaxMTU {
		return nil, fmt.Errorf("MTU %d, want %d to %d", opts.MTU, MinMTU, MaxMTU)
	}
	if len(opts.To) == 0 {
		return nil, errors.New("no collector, want HOST:PORT")
	}
	if opts.Domain == 0 {
		return nil, errors.New("observation domain 0, want 1 or more: 0 is for the exporter's data about itself")
	}
	kinds, sent := []*ipfix.Kind{kindHop: hopKind(), kindPeriod: periodKind()}, sentKind()
	x := &Exporter{hop: kinds[kindHop].NewRecord(), period: kinds[kindPeriod].NewRecord(), sent: sent.NewRecord(),
		maxReasons: opts.MTU - headers - notReasons}
	data := ipfix.Config{Domain: opts.Domain, Enterprise: opts.Enterprise, Size: opts.MTU - headers,
		Refresh: opts.Refresh, RefreshMessages: opts.RefreshMessages, Kinds: kinds}
	about := data
	about.Domain, about.Kinds, about.Describe = 0, []*ipfix.Kind{sent}, kinds
	for _, to := range opts.To {
		if err := x.dial(ctx, to, data, about); err != nil {
			x.close()
			return nil, err
		}
	}
	return x, nil
}

func (x *Exporter) dial(ctx context.Context, to string, data, about ipfix.Config) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", to)
	if err != nil {
		return fmt.Errorf("collector %q: %w; want HOST:PORT", to, err)
	}
	d := &destination{conn: conn, every: data.Refresh, counts: Sent{To: to}}
	if d.enc, err = ipfix.NewEncoder(data, d.send); err == nil {
		d.about, err = ipfix.NewEncoder(about, d.send)
	}
	if err != nil {
		conn.Close()
		return err
	}
	x.to = append(x.to, d)
	return nil
}

// send writes a message to the socket. If the socket reports a refusal, this concerns an earlier message, so the
// message is sent again. The templates are then sent again too, because a new listener may be another collector.
func (d *destination) send(m ipfix.Message) {
	_, err := d.conn.Write(m.Bytes)
	if errors.Is(err, syscall.ECONNREFUSED) {
		d.counts.Refused++
		d.enc.Refresh()
		d.about.Refresh()
		_, err = d.conn.Write(m.Bytes)
	}
	if err != nil {
		d.lose(uint64(m.Records), err)
		return
	}
	d.counts.Records += uint64(m.Records)
	d.counts.Messages++
}

func (d *destination) lose(records uint64, err error) {
	if d.counts.NotSent == 0 {
		d.counts.Why = err.Error()
	}
	d.counts.NotSent += records
}

// add adds a record to the messages for all collectors.
func (x *Exporter) add(now time.Time, kind int, r *ipfix.Record) {
	for _, d := range x.to {
		if err := d.enc.Add(now, kind, r); err != nil {
			d.lose(1, err)
		}
	}
}

// TailStamp exports the hops of a stamped frame.
func (x *Exporter) TailStamp(now time.Time, f collector.StampedFrame) {
	for i := range f.Records {
		fillHop(x.hop, &f, i)
		x.add(now, kindHop, x.hop)
	}
}

// AltMark exports results of alternate marking.
func (x *Exporter) AltMark(now time.Time, results []marks.Result) {
	for i := range results {
		fillPeriod(x.period, &results[i], x.maxReasons)
		x.add(now, kindPeriod, x.period)
	}
}

// Flush sends pending records, and templates and counters if they are due.
func (x *Exporter) Flush(now time.Time) {
	for _, d := range x.to {
		d.enc.Step(now)
		if now.Sub(d.reported) >= d.every || now.Before(d.reported) {
			d.reported = now
			x.sent.Clear()
			x.sent.Set(0, ipfix.Uint(1))
			for i, n := range [...]uint64{d.counts.Messages, d.counts.Records, d.counts.NotSent} {
				x.sent.Set(1+i, ipfix.Uint(n))
			}
			if err := d.about.Add(now, 0, x.sent); err != nil {
				d.lose(1, err)
			}
		}
		d.about.Step(now)
		d.about.Flush()
		d.enc.Flush()
	}
}

// Sent returns the counters of each collector.
func (x *Exporter) Sent() (all []Sent) {
	for _, d := range x.to {
		all = append(all, d.counts)
	}
	return all
}

// Close sends pending records, closes the sockets, and returns the counters.
func (x *Exporter) Close(now time.Time) []Sent {
	x.Flush(now)
	x.close()
	return x.Sent()
}

func (x *Exporter) close() {
	for _, d := range x.to {
		d.conn.Close()
	}
}

// Split splits a list of collectors, HOST:PORT[,HOST:PORT...].
func Split(list string) (to []string, err error) {
	for _, one := range strings.Split(list, ",") {
		host, port, err := net.SplitHostPort(one)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("%q: want HOST:PORT[,HOST:PORT...]", one)
		}
		to = append(to, one)
	}
	return to, nil
}
