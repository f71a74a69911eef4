package collector

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/journey"
	"tamtam/tam/record"
)

// Journeys gathers the records of several switches for [journey.Join].
type Journeys struct {
	reader *JourneyReader
	flow   string
	most   int

	all []journey.Record
	// left counts the records that could not be used, by reason.
	left    map[string]int64
	unknown map[uint32]bool // switch ids that are named in left
}

// DefaultJourneyRecords is the default maximum number of records in a Journeys.
const DefaultJourneyRecords = 1_000_000

// NewJourneys returns a Journeys. Its parameters include the plans of the records, and the names of switches by switch
// id. flow is a text that the flows must contain, where "" means all. most is the maximum number of records, where zero
// means [DefaultJourneyRecords].
func NewJourneys(plans []*record.Plan, switches map[uint32]string, flow string, most int) (*Journeys, error) {
	reader, err := NewJourneyReader(plans, switches)
	return &Journeys{
		reader: reader, flow: flow, most: cmp.Or(most, DefaultJourneyRecords), left: map[string]int64{},
		unknown: map[uint32]bool{},
	}, err
}

// Read adds the records of a capture. A damaged capture is read up to the damage, and the error contains its position.
func (j *Journeys) Read(ctx context.Context, path string) error {
	in, err := capture.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	join := NewJoiner(CaptureWait)
	add := func(list []Joined) {
		for _, x := range list {
			if r, ok := FindRecord(x.Frame); ok && !x.Incomplete {
				j.add(r)
			}
		}
	}
	defer func() {
		add(join.Flush())
		if n := join.Counts().Unjoined; n > 0 {
			j.left["fragments that could not be joined"] += n
		}
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(p.Data) < p.Len {
			j.left["frames that the capture has cut"]++
			continue
		}
		add(join.Add(p.Data, p.Time))
	}
}

func (j *Journeys) add(p RecordedPacket) {
	c, whole := CopyOf(&p)
	if j.flow != "" && !strings.Contains(c.flowText(), j.flow) {
		return
	}
	if why := j.unusable(&c, whole); why != "" {
		j.left[why]++
		return
	}
	j.all = append(j.all, j.reader.Record(&c))
}

// unusable returns the reason why a record is left out, or "" if it is usable.
func (j *Journeys) unusable(c *RecordCopy, whole bool) string {
	switch {
	case j.reader.Name(c.Switch) == "":
		return j.unnamed(c.Switch)
	case !Timed(&c.Record):
		return "records with times that no clock has: 0, or after the year 2241"
	case !whole:
		return "records with too little of the frame: `truncate` of the session is to be more"
	case len(j.all) == j.most:
		return fmt.Sprintf("records beyond the first %d", j.most)
	}
	return ""
}

// latestSecond is the greatest accepted second, in the year 2242. Nanoseconds since 1970 overflow slightly later.
const latestSecond = 1 << 33

// maxUnnamed is the maximum number of unknown switch ids that are named.
const maxUnnamed = 16

// unnamed returns the reason for leaving out records of an unknown switch id.
func (j *Journeys) unnamed(id uint32) string {
	if len(j.unknown) < maxUnnamed {
		j.unknown[id] = true
	}
	if j.unknown[id] {
		return fmt.Sprintf("records of switch id %d, which the topology does not have", id)
	}
	return "records of still other switch ids, which the topology does not have"
}

// sinceEpoch returns a time of day since 1970.
func sinceEpoch(t record.Time) time.Duration {
	return time.Duration(t.Seconds)*time.Second + time.Duration(t.Nanoseconds)
}

// ttlOf returns the TTL or hop limit of a frame, or -1 if it is not IP.
func ttlOf(frame []byte) int {
	at, ok := networkOf(frame)
	switch {
	case ok && len(frame) > at+8 && frame[at]>>4 == 4:
		return int(frame[at+8])
	case ok && len(frame) > at+7 && frame[at]>>4 == 6:
		return int(frame[at+7])
	}
	return -1
}

// Join returns the journeys of all records, by the wiring of the network.
func (j *Journeys) Join(w journey.Wiring, o journey.Options) []journey.Journey {
	return journey.Join(j.all, w, o)
}

// Print joins the records and prints the number of packets of each path. It also prints each packet if packets or
// asJSON is set.
func (j *Journeys) Print(w io.Writer, wiring journey.Wiring, o journey.Options, packets, asJSON bool) error {
	all, out := j.Join(wiring, o), bufio.NewWriter(w)
	if packets || asJSON {
		enc := json.NewEncoder(out)
		for _, one := range all {
			var err error
			if asJSON {
				err = enc.Encode(one)
			} else {
				err = one.Write(out)
			}
			if err != nil {
				return err
			}
		}
	}
	if asJSON {
		least, most := journey.Packets(all)
		err := json.NewEncoder(out).Encode(struct {
			Least int              `json:"packets_least"`
			Most  int              `json:"packets_most"`
			Paths []journey.Count  `json:"ways"`
			Left  map[string]int64 `json:"left_out,omitempty"`
		}{least, most, journey.CountByPath(all), j.left})
		return errors.Join(err, out.Flush())
	}
	if least, most := journey.Packets(all); least == most {
		fmt.Fprintf(out, "%d packets\n", most)
	} else {
		fmt.Fprintf(out, "%d to %d packets: ways that do not begin at a host may go on with others, for want of a record or "+
			"a wire, or because packets are alike\n", least, most)
	}
	for _, w := range journey.CountByPath(all) {
		fmt.Fprintf(out, "%8d  %s\n", w.Packets, w.Path)
	}
	for _, why := range slices.Sorted(maps.Keys(j.left)) {
		fmt.Fprintf(out, "%8d left out: %s\n", j.left[why], why)
	}
	return out.Flush()
}
