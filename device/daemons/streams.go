package daemons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/host/genl"
	"tamtam/mgmt/hftrecords"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/tick"
)

// StreamReaders are the forms of a [StreamReader], for messages about flags.
const StreamReaders = "netlink, unix:PATH or udp:HOST:PORT"

// A StreamReader is where syncd sends streams of high-frequency telemetry: a group of generic netlink, as the chip is
// configured, a socket of datagrams, or the store of an mgmtd in this process.
type StreamReader struct {
	network, address string
	store            *hftrecords.Store // nil for the others
}

// StoreReader returns the reader that is the store of an mgmtd in this process.
func StoreReader(store *hftrecords.Store) StreamReader {
	return StreamReader{schema.HFTReaderMgmt, "", store}
}

// ParseStreamReader parses a reader, which has one of the forms of [StreamReaders].
func ParseStreamReader(text string) (StreamReader, error) {
	network, address, _ := strings.Cut(text, ":")
	switch {
	case text == "netlink":
		return StreamReader{network: network}, nil
	case network == "unix" && address != "":
		return StreamReader{network: "unixgram", address: address}, nil
	case network == "udp":
		if host, port, err := net.SplitHostPort(address); err == nil && host != "" && port != "" {
			return StreamReader{network: network, address: address}, nil
		}
	}
	return StreamReader{}, fmt.Errorf("%q: want %s", text, StreamReaders)
}

func (r StreamReader) String() string {
	switch r.network {
	case "unixgram":
		return "unix:" + r.address
	case "udp":
		return "udp:" + r.address
	}
	return r.network
}

// Listen receives messages of streams for a store until ctx ends, at a socket that syncd sends to.
func (r StreamReader) Listen(ctx context.Context, store *hftrecords.Store) error {
	var conn net.PacketConn
	var err error
	switch r.network {
	case "unixgram":
		if f, err := os.Lstat(r.address); err == nil && f.Mode()&fs.ModeSocket != 0 { // of an earlier run
			_ = os.Remove(r.address) // otherwise the next call fails
		}
		conn, err = net.ListenUnixgram(r.network, &net.UnixAddr{Name: r.address, Net: r.network})
		if err == nil {
			err = os.Chmod(r.address, 0o666) // syncd may be another user; its folder decides who may send
		}
	case "udp":
		conn, err = net.ListenPacket(r.network, r.address)
	default:
		err = fmt.Errorf("want unix:PATH or udp:HOST:PORT")
	}
	if err != nil {
		return fmt.Errorf("high-frequency telemetry at %s: %w", r, err)
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	for buf := make([]byte, 1<<16); ; {
		n, _, err := conn.ReadFrom(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("high-frequency telemetry at %s: %w", r, err)
		}
		store.Add(ctx, buf[:n])
	}
}

// A streamSink sends messages to one reader. It connects again after an error.
type streamSink struct {
	StreamReader
	conn    net.Conn                              // nil if there is no connection
	groups  map[saisim.StreamChannel]*genl.Sender // of a reader by netlink
	sent    uint64                                // messages
	records uint64
	lost    uint64 // records that could not be sent
	reason  string // why the last message could not be sent
}

// send sends a message, and counts it.
func (s *streamSink) send(ctx context.Context, m *saisim.StreamMessage) {
	if err := s.try(ctx, m); err != nil {
		s.reason, s.lost = err.Error(), s.lost+uint64(m.Records)
		return
	}
	s.reason, s.sent, s.records = "", s.sent+1, s.records+uint64(m.Records)
}

// sendLimit is the longest time that a message waits for a reader at a Unix socket, whose queue is full. The others get
// their messages later by so much.
const sendLimit = 10 * time.Millisecond

func (s *streamSink) try(ctx context.Context, m *saisim.StreamMessage) error {
	switch {
	case s.store != nil:
		s.store.Add(ctx, m.Bytes)
		return nil
	case s.network == "netlink":
		return s.multicast(m)
	}
	if s.conn == nil {
		conn, err := net.Dial(s.network, s.address)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(sendLimit)) // always possible
	_, err := s.conn.Write(m.Bytes)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the reader does not read")
	}
	if err != nil {
		s.conn.Close()
		s.conn = nil
	}
	return err
}

// multicast sends a message to its group of generic netlink.
func (s *streamSink) multicast(m *saisim.StreamMessage) error {
	if m.Channel == (saisim.StreamChannel{}) {
		return errors.New("the stream has no group of generic netlink")
	}
	to := s.groups[m.Channel]
	if to == nil {
		var err error
		if to, err = genl.Dial(m.Channel.Family, m.Channel.Group); err != nil {
			return err
		}
		s.groups[m.Channel] = to
	}
	err := to.Send(m.Bytes)
	if err != nil {
		to.Close()
		delete(s.groups, m.Channel)
	}
	return err
}

func (s *streamSink) close() {
	if s.conn != nil {
		s.conn.Close()
	}
	for _, g := range s.groups {
		g.Close()
	}
}

// streaming sends the streams of a live chip to its readers.
type streaming struct {
	chip    *saisim.Chip
	sinks   []*streamSink
	log     *slog.Logger
	delays  []time.Duration // of the last messages, from the readout of the oldest record to sending
	next    int
	warned  map[StreamReader]bool
	advance func(context.Context) // makes the chip advance to the present; nil means that it does so by itself
}

// idle and fastest are the periods in which syncd looks for records: without a stream, and at most.
const (
	idlePeriod    = 250 * time.Millisecond
	fastestPeriod = time.Millisecond
	keptDelays    = 1024
)

func newStreaming(chip *saisim.Chip, to []StreamReader, log *slog.Logger) *streaming {
	s := &streaming{chip: chip, log: log, warned: map[StreamReader]bool{}}
	for _, r := range to {
		s.sinks = append(s.sinks, &streamSink{StreamReader: r, groups: map[saisim.StreamChannel]*genl.Sender{}})
	}
	return s
}

// lacks returns what is wrong if the chip streams.
func (s *streaming) lacks() string {
	if len(s.sinks) == 0 && s.chip.StreamInterval() > 0 {
		return "high-frequency telemetry has no reader: start syncd with --hft"
	}
	return ""
}

// run sends until ctx ends, and reports to STATE_DB.
func (s *streaming) run(ctx context.Context, r *swss.Redis) error {
	defer func() {
		for _, sink := range s.sinks {
			sink.close()
		}
	}()
	if len(s.sinks) == 0 {
		<-ctx.Done()
		return nil
	}
	rows, reported := swss.NewTable(r.DB(swss.StateDB), schema.StateHFTReader), time.Time{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-timer.C:
			period := idlePeriod
			if every := s.chip.StreamInterval(); every > 0 {
				period = min(max(every, fastestPeriod), idlePeriod)
				if s.advance != nil {
					s.advance(ctx)
				}
			}
			s.send(ctx)
			if now.Sub(reported) >= time.Second {
				reported = now
				s.report(ctx, rows)
			}
			timer.Reset(tick.Until(time.Now(), period))
		}
	}
}

// send sends what the chip has read.
func (s *streaming) send(ctx context.Context) {
	for _, m := range s.chip.StreamMessages() {
		for _, sink := range s.sinks {
			if sink.send(ctx, &m); sink.reason != "" && !s.warned[sink.StreamReader] {
				s.warned[sink.StreamReader] = true
				s.log.Warn("high-frequency telemetry is lost; later losses are only counted", "reader", sink.String(),
					"records", m.Records, "error", sink.reason)
			}
		}
		d := time.Since(time.Unix(0, m.Oldest))
		if len(s.delays) < keptDelays {
			s.delays = append(s.delays, d)
		} else {
			s.delays[s.next%keptDelays] = d
		}
		s.next++
	}
}

// report writes the row of each reader. Rows expire with syncd.
func (s *streaming) report(ctx context.Context, rows *swss.Table) {
	late := ""
	if len(s.delays) > 0 {
		sorted := slices.Sorted(slices.Values(s.delays))
		late = strconv.FormatInt(sorted[(len(sorted)*99+99)/100-1].Microseconds(), 10)
	}
	var read, lost uint64
	var packets streamSink
	for _, c := range s.chip.StreamCounts() {
		read, lost = read+c.Read, lost+c.NoRoom+c.Dropped
		packets.sent, packets.records = packets.sent+c.Packets, packets.records+c.Sent
		packets.lost, packets.reason = packets.lost+c.Unsent, cmp.Or(packets.reason, c.Reason)
	}
	all := s.sinks
	if packets.sent+packets.lost > 0 {
		packets.network = schema.HFTReaderPackets
		all = append(slices.Clip(all), &packets)
	}
	for _, sink := range all {
		status := schema.HFTReaderOK
		if sink.reason != "" {
			status = schema.HFTReaderFailed
		}
		err := rows.SetFor(ctx, sink.String(), swss.FieldValues{
			schema.HFTReaderStatus: status, schema.HFTReaderReason: sink.reason,
			schema.HFTReaderRead: strconv.FormatUint(read, 10), schema.HFTReaderUnread: strconv.FormatUint(lost, 10),
			schema.HFTReaderMessages: strconv.FormatUint(sink.sent, 10),
			schema.HFTReaderRecords:  strconv.FormatUint(sink.records, 10),
			schema.HFTReaderLost:     strconv.FormatUint(sink.lost, 10), schema.HFTReaderDelay: late,
		}, wireTTL)
		if err != nil {
			return // Redis is away: syncd's health reports that, and the rows expire
		}
	}
}
