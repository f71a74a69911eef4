package reference_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/tam/hft"
)

// isStreaming reports whether the chip of a seed streams statistics. No test used seeds between 40,000 and 41,000
// before.
func isStreaming(seed uint64) bool {
	return seed >= 40_000 && seed < 41_000 || seed >= 1_000_000_000 && seed%6 == 4
}

// streamingCases are cases of the gate that stream.
var streamingCases = []randtest.Cases{{Seed: 40_000, Count: 14}}

func streamingOf(seed uint64) *rand.Rand {
	if isStreaming(seed) {
		return rand.New(rand.NewPCG(seed, 9))
	}
	return nil
}

// A streamed is a statistic of a port, or of its first queue.
type streamed struct {
	port  saisim.PortID
	of    sai.OID
	stat  sai.StatID
	label int
}

// streams are the records that the chip streams, and those that the reference has at the same cycles.
type streams struct {
	random    *rand.Rand // nil means that there is no stream
	telType   sai.OID
	report    sai.OID
	choice    []streamed
	have      map[int]sai.OID // subscriptions, by index in choice
	columns   []streamed      // of the stream that runs
	decoder   *hft.Decoder
	got, want []string
	at        saisim.Cycle // up to which records were compared
	paused    bool
	differs   error
}

// furnishStreams makes the objects between a stream and the switch, and starts one.
func (p *pair) furnishStreams() error {
	s := &p.streams
	if p.prof.ClockHz%1_000_000 != 0 {
		s.random = nil // no number of microseconds is a number of cycles
	}
	if s.random == nil {
		return nil
	}
	make := func(t sai.ObjectType, pairs ...any) (oid sai.OID) {
		oid, err := p.chip.Create(context.Background(), t, attrs(pairs...))
		if err != nil {
			panic(err)
		}
		return oid
	}
	for _, r := range p.chip.Tables().Ports {
		if len(s.choice) == 12 || s.random.IntN(2) == 0 {
			continue
		}
		port := sai.OID(r.ID)
		for _, stat := range []sai.StatID{sai.PortStatIfInUcastPkts, sai.PortStatIfOutMulticastPkts} {
			s.choice = append(s.choice, streamed{r.Port, port, stat, 2 * int(r.Port)})
		}
		queue := p.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList)[0]
		for _, stat := range []sai.StatID{sai.QueueStatCurrOccupancyBytes, sai.QueueStatWatermarkBytes} {
			s.choice = append(s.choice, streamed{r.Port, queue, stat, 2*int(r.Port) + 1})
		}
	}
	if len(s.choice) == 0 {
		s.random = nil
		return nil
	}
	s.have = map[int]sai.OID{}
	transport := make(sai.ObjectTypeTAMTransport, sai.TAMTransportAttrTransportType, sai.TAMTransportTypeNone)
	none, _ := sai.ParseValue(sai.TAMCollectorAttrSrcIP, "0.0.0.0")
	collector := make(sai.ObjectTypeTAMCollector, sai.TAMCollectorAttrSrcIP, none, sai.TAMCollectorAttrDstIP, none,
		sai.TAMCollectorAttrLocalhost, sai.Bool(true), sai.TAMCollectorAttrTransport, transport)
	s.report = make(sai.ObjectTypeTAMReport, sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
		sai.TAMReportAttrReportMode, sai.TAMReportModeBulk, sai.TAMReportAttrReportInterval, sai.Uint(10+s.random.IntN(20)))
	s.telType = make(sai.ObjectTypeTAMTelType, sai.TAMTelTypeAttrTAMTelemetryType,
		sai.TAMTelemetryTypeCounterSubscription, sai.TAMTelTypeAttrMode, sai.TAMTelTypeModeMixedType,
		sai.TAMTelTypeAttrReportID, s.report, sai.TAMTelTypeAttrSwitchEnablePortStats, sai.Bool(true),
		sai.TAMTelTypeAttrSwitchEnableOutputQueueStats, sai.Bool(true))
	telemetry := make(sai.ObjectTypeTAMTelemetry, sai.TAMTelemetryAttrCollectorList, sai.OIDs{collector},
		sai.TAMTelemetryAttrTAMTypeList, sai.OIDs{s.telType})
	tam := make(sai.ObjectTypeTAM, sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypeSwitch},
		sai.TAMAttrTelemetryObjectsList, sai.OIDs{telemetry})
	p.setOf(sai.ObjectTypeSwitch, p.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{tam})
	var err error
	if s.decoder, err = hft.NewDecoder(0, 0, nil); err != nil {
		return err
	}
	return p.restream()
}

// restream gives the stream other columns, and starts it.
func (p *pair) restream() error {
	s := &p.streams
	for range 1 + s.random.IntN(5) {
		i := s.random.IntN(len(s.choice))
		if oid, there := s.have[i]; there && len(s.have) > 1 {
			if err := p.chip.Remove(context.Background(), sai.Obj(sai.ObjectTypeTAMCounterSubscription, oid)); err != nil {
				return err
			}
			delete(s.have, i)
		} else if !there {
			c := s.choice[i]
			oid, err := p.chip.Create(context.Background(), sai.ObjectTypeTAMCounterSubscription, attrs(
				sai.TAMCounterSubscriptionAttrTelType, s.telType, sai.TAMCounterSubscriptionAttrObjectID, c.of,
				sai.TAMCounterSubscriptionAttrStatID, sai.Uint(uint32(c.stat)),
				sai.TAMCounterSubscriptionAttrLabel, sai.Uint(c.label)))
			if err == nil { // the port may be gone
				s.have[i] = oid
			}
		}
	}
	if len(s.have) == 0 {
		return nil
	}
	key := sai.Obj(sai.ObjectTypeTAMTelType, s.telType)
	for _, state := range []sai.Enum{sai.TAMTelTypeStateCreateConfig, sai.TAMTelTypeStateStartStream} {
		a := sai.Attr{ID: sai.TAMTelTypeAttrState, Value: state}
		if err := p.chip.Set(context.Background(), key, a); err != nil {
			return err
		}
		if state == sai.TAMTelTypeStateCreateConfig {
			want := sai.Want(sai.TAMTelTypeAttrIPFIXTemplates, 1<<16)
			got, err := p.chip.Get(context.Background(), key, []sai.Attr{want})
			if err != nil {
				return err
			}
			if err := s.decoder.Session(got[0].Value.(sai.Bytes), nil); err != nil {
				return err
			}
		}
	}
	p.saw["stream: changes of columns"]++
	s.paused = false
	s.columns = s.columns[:0]
	for i, c := range s.choice {
		if _, there := s.have[i]; there {
			s.columns = append(s.columns, c)
		}
	}
	return nil
}

// streamOp changes the columns or the interval of the stream, or pauses it.
func (p *pair) streamOp() {
	s := &p.streams
	if s.random == nil {
		return
	}
	var err error
	key := sai.Obj(sai.ObjectTypeTAMTelType, s.telType)
	switch s.random.IntN(5) {
	case 0, 1:
		err = p.restream()
	case 2:
		p.setOf(sai.ObjectTypeTAMReport, s.report, sai.TAMReportAttrReportInterval, sai.Uint(10+s.random.IntN(20)))
	case 3:
		err = p.chip.Set(context.Background(), key,
			sai.Attr{ID: sai.TAMTelTypeAttrState, Value: sai.TAMTelTypeStateStopStream})
		s.paused = err == nil
	}
	if err != nil && s.differs == nil {
		s.differs = err
	}
}

// streamTo runs the reference to a cycle, and notes its values at each readout on the way.
func (p *pair) streamTo(to saisim.Cycle) error {
	s := &p.streams
	if s.random == nil {
		return nil
	}
	from := s.at
	s.at = to
	for _, r := range p.chip.Tables().Readouts {
		if s.paused {
			continue
		}
		first := saisim.Cycle(r.From + ((uint64(from)-r.From)/r.Every+1)*r.Every)
		for at := first; at <= to; at += saisim.Cycle(r.Every) {
			p.ref.Run(at)
			line := fmt.Sprint(at)
			for _, c := range s.columns {
				line += fmt.Sprintf(" %d:%d=%d", c.label, uint32(c.stat), p.refStat(c))
			}
			s.want = append(s.want, line)
			p.saw["stream: records"]++
		}
	}
	if s.random.IntN(2) == 0 { // records wait in the chip, perhaps until after a change
		return nil
	}
	return p.streamDiffers()
}

// streamDiffers compares the records since the last call.
func (p *pair) streamDiffers() error {
	s := &p.streams
	if s.random == nil {
		return nil
	}
	for _, m := range p.chip.StreamMessages() {
		err := s.decoder.Messages(m.Bytes, func(r *hft.Record) {
			cycle := "?"
			if len(s.got) < len(s.want) { // the clock of the case may go wrong: the cycle is that of the reference
				cycle, _, _ = strings.Cut(s.want[len(s.got)], " ")
			}
			line := cycle
			for i, c := range r.Columns {
				line += fmt.Sprintf(" %d:%d=%d", c.Label, c.ID, r.Values[i])
			}
			s.got = append(s.got, line)
		})
		if err != nil {
			return err
		}
	}
	if !slices.Equal(s.got, s.want) {
		for i := range min(len(s.got), len(s.want)) {
			if s.got[i] != s.want[i] {
				return fmt.Errorf("record %d of the stream:\n     fast %s\nreference %s", i, s.got[i], s.want[i])
			}
		}
		return fmt.Errorf("%d records are streamed, the reference has %d", len(s.got), len(s.want))
	}
	s.got, s.want = s.got[:0], s.want[:0]
	return nil
}

// refStat returns a statistic of the reference.
func (p *pair) refStat(c streamed) uint64 {
	switch c.stat {
	case sai.PortStatIfInUcastPkts:
		in, _, _ := p.ref.Frames(c.port)
		return in.Kinds[0]
	case sai.PortStatIfOutMulticastPkts:
		_, out, _ := p.ref.Frames(c.port)
		return out.Kinds[1]
	}
	q, _ := p.ref.QueueState(c.port, 0)
	if c.stat == sai.QueueStatWatermarkBytes {
		return q.MaxBytes
	}
	return q.Bytes
}
