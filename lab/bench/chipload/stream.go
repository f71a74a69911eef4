package chipload

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// Statistics is the number of statistics of each port that a load with Streamed has.
const Statistics = 30

// WithPorts returns a profile with another number of ports of the first kind.
func WithPorts(p profile.Profile, n int) profile.Profile {
	p.Default = slices.Clone(p.Default)
	d := &p.Default[0]
	d.Count = uint32(n)
	p.Lanes = d.First + d.Count*d.Lanes - p.FirstLane
	return p
}

// PauseFor returns the Pause of a load of some ports, each with a part of its rate, in frames of 64 bytes.
func PauseFor(ports int, part float64) int {
	p := profile.Default()
	const wire = (64 + 8 + 12) * 8 // bits of a frame, with preamble and gap
	rate := float64(p.Default[0].Mbps) * 1e6 * part / wire * float64(ports)
	return max(int(float64(p.ClockHz)/rate)-1, 0)
}

// Within returns the number of packets that a load sends within a time.
func (l Load) Within(d time.Duration) int {
	return int(profile.Default().ClockHz) / int(time.Second/d) / (1 + l.Pause)
}

// Streamed returns the statistics of a port that a load with Streamed has.
func Streamed(ctx context.Context) ([]sai.StatID, error) {
	chip, err := saisim.New(saisim.Config{Profile: profile.Default(), Start: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	s := calls{ctx: ctx, chip: chip}
	s.create(sai.ObjectTypeSwitch, sai.Attr{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)})
	return s.streamed(), s.err
}

// streamed returns the first statistics of a port that the chip can stream.
func (s *calls) streamed() (ids []sai.StatID) {
	if s.err != nil {
		return nil
	}
	can, err := s.chip.StreamCapability(s.ctx, sai.ObjectTypePort)
	if s.err = err; err != nil {
		return nil
	}
	for _, c := range can[:Statistics] {
		ids = append(ids, c.ID)
	}
	return ids
}

// stream makes the chip stream statistics of all ports.
func (s *calls) stream(sw sai.Key, ports []sai.OID, every time.Duration) {
	transport := s.create(sai.ObjectTypeTAMTransport,
		sai.Attr{ID: sai.TAMTransportAttrTransportType, Value: sai.TAMTransportTypeNone})
	none, err := sai.ParseValue(sai.TAMCollectorAttrSrcIP, "0.0.0.0")
	if s.err == nil {
		s.err = err
	}
	collector := s.create(sai.ObjectTypeTAMCollector, sai.Attr{ID: sai.TAMCollectorAttrSrcIP, Value: none},
		sai.Attr{ID: sai.TAMCollectorAttrDstIP, Value: none},
		sai.Attr{ID: sai.TAMCollectorAttrLocalhost, Value: sai.Bool(true)},
		sai.Attr{ID: sai.TAMCollectorAttrTransport, Value: transport})
	report := s.create(sai.ObjectTypeTAMReport, sai.Attr{ID: sai.TAMReportAttrType, Value: sai.TAMReportTypeIPFIX},
		sai.Attr{ID: sai.TAMReportAttrReportMode, Value: sai.TAMReportModeBulk},
		sai.Attr{ID: sai.TAMReportAttrReportInterval, Value: sai.Uint(every / time.Microsecond)})
	telType := s.create(sai.ObjectTypeTAMTelType,
		sai.Attr{ID: sai.TAMTelTypeAttrTAMTelemetryType, Value: sai.TAMTelemetryTypeCounterSubscription},
		sai.Attr{ID: sai.TAMTelTypeAttrMode, Value: sai.TAMTelTypeModeSingleType},
		sai.Attr{ID: sai.TAMTelTypeAttrReportID, Value: report},
		sai.Attr{ID: sai.TAMTelTypeAttrSwitchEnablePortStats, Value: sai.Bool(true)})
	telemetry := s.create(sai.ObjectTypeTAMTelemetry,
		sai.Attr{ID: sai.TAMTelemetryAttrCollectorList, Value: sai.OIDs{collector}},
		sai.Attr{ID: sai.TAMTelemetryAttrTAMTypeList, Value: sai.OIDs{telType}})
	tam := s.create(sai.ObjectTypeTAM,
		sai.Attr{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}},
		sai.Attr{ID: sai.TAMAttrTelemetryObjectsList, Value: sai.OIDs{telemetry}})
	s.set(sw, sai.SwitchAttrTAMObjectID, sai.OIDs{tam})
	if s.err != nil {
		return
	}
	stats := s.streamed()
	for i, port := range ports {
		for _, id := range stats {
			s.create(sai.ObjectTypeTAMCounterSubscription,
				sai.Attr{ID: sai.TAMCounterSubscriptionAttrTelType, Value: telType},
				sai.Attr{ID: sai.TAMCounterSubscriptionAttrObjectID, Value: port},
				sai.Attr{ID: sai.TAMCounterSubscriptionAttrStatID, Value: sai.Uint(uint32(id))},
				sai.Attr{ID: sai.TAMCounterSubscriptionAttrLabel, Value: sai.Uint(1 + i)})
		}
	}
	for _, state := range []sai.Enum{sai.TAMTelTypeStateCreateConfig, sai.TAMTelTypeStateStartStream} {
		s.set(sai.Obj(sai.ObjectTypeTAMTelType, telType), sai.TAMTelTypeAttrState, state)
	}
}

// mostStreamed is the longest time for which records wait in the chip, which has room for more.
const mostStreamed = 200 * time.Microsecond

// collect takes the records from the chip, as syncd does: once in each interval.
func (t *Feed) collect() {
	if t.load.Streamed == 0 || t.chip.Now() < t.collectAt {
		return
	}
	t.collectAt = t.chip.Now() + t.chip.CycleAt(max(t.load.Streamed, mostStreamed))
	for _, m := range t.chip.StreamMessages() {
		t.records += uint64(m.Records)
	}
}

// checkRecords returns an error unless the chip has streamed a record in each interval.
func (t *Feed) checkRecords() error {
	if t.load.Streamed == 0 {
		return nil
	}
	t.collectAt = 0
	t.collect()
	want := uint64((t.chip.Now() - t.streamsFrom) / t.chip.CycleAt(t.load.Streamed))
	for _, c := range t.chip.StreamCounts() {
		if t.records != want || c.Read != want {
			return fmt.Errorf("%+v: %d records, counts %+v; want %d", t.load, t.records, c, want)
		}
	}
	return nil
}

// A streamed is what a feed knows about the stream of its chip.
type streamed struct {
	streamsFrom, collectAt saisim.Cycle // when the stream began, and when records are collected
	records                uint64       // that were collected
}
