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

// isStreaming reports whether the chip of a seed streams statistics. No test used seeds between 40,000 and 42,000
// before. From 41,000 on, and from 1,000,000,000 on, chips with ingress buffers stream their statistics, too.
func isStreaming(seed uint64) bool {
	return seed >= 40_000 && seed < 42_000 || seed >= 1_000_000_000 && (seed%6 == 4 || seed%22 == 6)
}

// streamingCases are cases of the gate that stream.
var streamingCases = []randtest.Cases{{Seed: 40_000, Count: 14}, {Seed: 41_000, Count: 14},
	{Seed: 41_470}} // the last removes a port with subscribed priority groups

func streamingOf(seed uint64) *rand.Rand {
	if isStreaming(seed) {
		return rand.New(rand.NewPCG(seed, 9))
	}
	return nil
}

// A streamed is a statistic of a port, of its first queue, of a priority group or of an ingress pool.
type streamed struct {
	port  saisim.PortID
	of    sai.OID
	stat  sai.StatID
	label int
	index int  // of the priority group or the pool
	clear bool // true if the chip clears the statistic after it has read it
}

// Statistics of flow control, priority groups and pools that are streamed, by number.
var (
	pauseStreams = []sai.StatID{
		sai.PortStatPfc2RxPkts, sai.PortStatPfc2TxPkts, sai.PortStatPfc2RxPauseDuration,
		sai.PortStatPfc2TxPauseDuration, sai.PortStatPfc2RxPauseDurationUs, sai.PortStatPfc2TxPauseDurationUs,
		sai.PortStatPfc2On2offRxPkts,
	}
	groupStreams = []sai.StatID{
		sai.IngressPriorityGroupStatPackets, sai.IngressPriorityGroupStatCurrOccupancyBytes,
		sai.IngressPriorityGroupStatWatermarkBytes, sai.IngressPriorityGroupStatSharedWatermarkBytes,
		sai.IngressPriorityGroupStatXoffRoomCurrOccupancyBytes, sai.IngressPriorityGroupStatXoffRoomWatermarkBytes,
		sai.IngressPriorityGroupStatDroppedPackets,
	}
	poolStreams = []sai.StatID{
		sai.BufferPoolStatCurrOccupancyBytes, sai.BufferPoolStatWatermarkBytes,
		sai.BufferPoolStatXoffRoomCurrOccupancyBytes, sai.BufferPoolStatXoffRoomWatermarkBytes,
	}
)

// chooseBuffers adds statistics of priority groups and pools to the choice. Their labels follow those of ports.
func (p *pair) chooseBuffers() {
	s := &p.streams
	add := func(c streamed, stats []sai.StatID) {
		c.label = 1000 + len(s.choice)
		for _, c.stat = range stats {
			c.clear = strings.Contains(c.stat.String(), "WATERMARK") && s.random.IntN(2) == 0
			s.choice = append(s.choice, c)
		}
	}
	for _, r := range p.chip.Tables().Ports {
		if s.random.IntN(3) == 0 {
			add(streamed{port: r.Port, of: sai.OID(r.ID)}, pauseStreams)
		}
		for i, group := range p.list(sai.ObjectTypePort, sai.OID(r.ID), sai.PortAttrIngressPriorityGroupList) {
			if i < 4 && s.random.IntN(3) == 0 { // maps lead to the first four
				add(streamed{port: r.Port, of: group, index: i}, groupStreams)
			}
		}
	}
	for _, pool := range p.gen.pool[sai.ObjectTypeBufferPool] {
		if i := p.poolIndex(pool); i > 0 {
			add(streamed{of: pool, index: i}, poolStreams)
		}
	}
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
			s.choice = append(s.choice, streamed{port: r.Port, of: port, stat: stat, label: 2 * int(r.Port)})
		}
		queue := p.list(sai.ObjectTypePort, port, sai.PortAttrQoSQueueList)[0]
		for _, stat := range []sai.StatID{sai.QueueStatCurrOccupancyBytes, sai.QueueStatWatermarkBytes} {
			s.choice = append(s.choice, streamed{port: r.Port, of: queue, stat: stat, label: 2*int(r.Port) + 1})
		}
	}
	if p.buffers != nil {
		p.chooseBuffers()
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
		sai.TAMTelTypeAttrSwitchEnableOutputQueueStats, sai.Bool(true),
		sai.TAMTelTypeAttrSwitchEnableMmuStats, sai.Bool(true))
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
			c, mode := s.choice[i], sai.StatsModeRead
			if c.clear {
				mode = sai.StatsModeReadAndClear
			}
			oid, err := p.chip.Create(context.Background(), sai.ObjectTypeTAMCounterSubscription, attrs(
				sai.TAMCounterSubscriptionAttrTelType, s.telType, sai.TAMCounterSubscriptionAttrObjectID, c.of,
				sai.TAMCounterSubscriptionAttrStatID, sai.Uint(uint32(c.stat)),
				sai.TAMCounterSubscriptionAttrLabel, sai.Uint(c.label), sai.TAMCounterSubscriptionAttrStatsMode, mode))
			if err == nil { // the port or the pool may be gone
				s.have[i] = oid
			}
		}
	}
	for i := range s.choice { // the port of a subscription may be gone
		oid, there := s.have[i]
		if c := s.choice[i]; there && !p.exists(c) {
			if err := p.chip.Remove(context.Background(), sai.Obj(sai.ObjectTypeTAMCounterSubscription, oid)); err != nil {
				return err
			}
			delete(s.have, i)
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

// exists reports whether the object of a statistic exists.
func (p *pair) exists(c streamed) bool {
	_, err := p.chip.Stats(context.Background(), sai.Obj(sai.ObjectType(c.stat>>32), c.of), []sai.StatID{c.stat})
	return err == nil
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
				if c.clear {
					p.saw["stream: watermarks that a readout clears"]++
				}
			}
			for _, c := range s.columns {
				p.refClear(c)
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
	micros := func(n saisim.PauseCount) uint64 { return n.Cycles * 1_000_000 / p.prof.ClockHz }
	switch n := p.ref.PauseCounts(c.port); c.stat {
	case sai.PortStatPfc2RxPkts:
		return n.Rx[2].Frames
	case sai.PortStatPfc2RxPauseDuration:
		return n.Rx[2].Quanta
	case sai.PortStatPfc2RxPauseDurationUs:
		return micros(n.Rx[2])
	case sai.PortStatPfc2On2offRxPkts:
		return n.Rx[2].Ended
	case sai.PortStatPfc2TxPkts:
		return n.Tx[2].Frames
	case sai.PortStatPfc2TxPauseDuration:
		return n.Tx[2].Quanta
	case sai.PortStatPfc2TxPauseDurationUs:
		return micros(n.Tx[2])
	}
	cell := uint64(p.prof.Buffer.CellBytes)
	switch g := p.ref.GroupState(c.port, c.index); c.stat {
	case sai.IngressPriorityGroupStatPackets:
		return g.Packets
	case sai.IngressPriorityGroupStatDroppedPackets:
		return g.Dropped
	case sai.IngressPriorityGroupStatCurrOccupancyBytes:
		return g.Cells * cell
	case sai.IngressPriorityGroupStatWatermarkBytes:
		return g.MaxCells * cell
	case sai.IngressPriorityGroupStatSharedWatermarkBytes:
		return g.MaxShared * cell
	case sai.IngressPriorityGroupStatXoffRoomCurrOccupancyBytes:
		return g.InHeadroom * cell
	case sai.IngressPriorityGroupStatXoffRoomWatermarkBytes:
		return g.MaxInHeadroom * cell
	}
	switch x := p.ref.PoolState(c.index); c.stat {
	case sai.BufferPoolStatCurrOccupancyBytes:
		return x.Used * cell
	case sai.BufferPoolStatWatermarkBytes:
		return x.MaxUsed * cell
	case sai.BufferPoolStatXoffRoomCurrOccupancyBytes:
		return x.InHeadroom * cell
	case sai.BufferPoolStatXoffRoomWatermarkBytes:
		return x.MaxInHeadroom * cell
	}
	q, _ := p.ref.QueueState(c.port, 0)
	if c.stat == sai.QueueStatWatermarkBytes {
		return q.MaxBytes
	}
	return q.Bytes
}

// refClear clears a statistic of the reference that the chip clears after it has read it.
func (p *pair) refClear(c streamed) {
	if !c.clear {
		return
	}
	switch c.stat {
	case sai.IngressPriorityGroupStatWatermarkBytes:
		p.ref.ClearGroup(c.port, c.index, true, false, false)
	case sai.IngressPriorityGroupStatSharedWatermarkBytes:
		p.ref.ClearGroup(c.port, c.index, false, true, false)
	case sai.IngressPriorityGroupStatXoffRoomWatermarkBytes:
		p.ref.ClearGroup(c.port, c.index, false, false, true)
	case sai.BufferPoolStatWatermarkBytes:
		p.ref.ClearPool(c.index, false)
	case sai.BufferPoolStatXoffRoomWatermarkBytes:
		p.ref.ClearPool(c.index, true)
	}
}
