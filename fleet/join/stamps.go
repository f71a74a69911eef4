package join

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// stamps joins tail-stamps: the times in each hop and on each link, by flow, path and window.
type stamps struct {
	windows   *windows
	paths     map[string]uint32
	pathsByID []framePath
	places    int // number of places on all paths
	open      map[window]*stampWindow
	key       []byte
}

// A framePath is the path of frames: the switches and ports that they passed.
type framePath struct {
	hops []place
	text string
}

type place struct {
	id      uint32
	in, out uint16
}

type stampKey struct {
	flow event.Flow
	path uint32
}

type stampWindow struct {
	rows   map[stampKey]uint32 // index of the first hop
	keys   []stampKey
	first  []uint32 // index of the first hop of each key
	hops   []hopCount
	chunks []chunk // chunks[0] is unused
}

type hopCount struct {
	packets, unknown uint32
	unsynchronised   bool
	searched         bool  // true if a record was found by search
	twice            bool  // in a row's first hop: see sawTwice
	left             int64 // in a row's first hop: time at which the last of its frames left the last hop
	resident, link   spread
}

// A spread is a distribution whose buckets are in chunks.
type spread struct {
	sum, min, max int64
	count, chunk  uint32
}

// A chunk has counts of some buckets. Latencies of one flow at one hop fall into a small number of them.
type chunk struct {
	n      [4]uint32
	next   uint32
	bucket [4]uint8
}

// Bounds of the distinct paths, and of the places on all of them.
const (
	maxPaths  = 1 << 18
	maxPlaces = 8 * maxPaths
)

func newStamps(w *windows) *stamps {
	return &stamps{windows: w, paths: map[string]uint32{}, open: map[window]*stampWindow{}}
}

func (s *stamps) addBatch(r *event.Reader, w *windows) error {
	frames, err := r.Frames()
	if err != nil {
		return err
	}
	for i := range frames {
		if f := &frames[i]; len(f.Hops) > 0 {
			s.frame(f, w)
		}
	}
	return nil
}

func (s *stamps) frame(f *event.Frame, w *windows) {
	o := w.of(f.Time)
	if o == nil {
		return
	}
	id, ok := s.pathID(f.Hops)
	if !ok {
		o.flags |= result.Overflow
		w.leftOut++
		return
	}
	sw := s.open[o.window]
	if sw == nil {
		sw = &stampWindow{rows: map[stampKey]uint32{}, chunks: make([]chunk, 1)}
		s.open[o.window] = sw
	}
	key := stampKey{f.Flow, id}
	at, ok := sw.rows[key]
	if !ok {
		if !w.room(o, len(f.Hops)) {
			return
		}
		at = uint32(len(sw.hops))
		sw.hops = append(sw.hops, make([]hopCount, len(f.Hops))...)
		sw.rows[key] = at
		sw.keys, sw.first = append(sw.keys, key), append(sw.first, at)
		if f.Time-o.start < straddles {
			sw.hops[at].left = s.lastLeft(key, window{o.start - w.length, false})
		}
		if o.start+w.length-f.Time <= straddles {
			next := s.lastLeft(key, window{o.start + w.length, false})
			sw.hops[at].twice = next > 0 && leftAt(&f.Hops[len(f.Hops)-1]) <= next
		}
	}
	sw.hops[at].sawTwice(leftAt(&f.Hops[len(f.Hops)-1]))
	if !sw.count(at, f.Hops) {
		o.flags |= result.Overflow
	}
}

// straddles is the maximum capture delay of a second copy that falls into the next window.
const straddles = int64(time.Second)

// lastLeft returns the time at which the last frame of a flow and path left in a window. It returns 0 if there is none,
// or if the window is not open.
func (s *stamps) lastLeft(key stampKey, in window) int64 {
	if sw := s.open[in]; sw != nil {
		if at, ok := sw.rows[key]; ok {
			return sw.hops[at].left
		}
	}
	return 0
}

// leftAt returns the time at which a frame left its last hop. If that is unknown, it returns the time at which the
// frame arrived there, or 0 if both are unknown.
func leftAt(last *event.Hop) int64 {
	switch {
	case last.Flags&event.NoDeparture == 0:
		return last.Departure
	case last.Flags&event.NoArrival == 0:
		return last.Arrival
	}
	return 0
}

// sawTwice notes whether a frame may have been counted already. Frames of one flow and path leave the last switch on
// one link, one after the other, and each capturing source reports them in that order. So a frame that left no later
// than an earlier one was captured twice, or at another place. A definite answer would require the times of all frames,
// and more CPU time.
func (c *hopCount) sawTwice(left int64) {
	if left > c.left {
		c.left = left
	} else if left > 0 {
		c.twice = true
	}
}

// flagCapturedTwice flags rows whose frames were captured on the way, too: then there is also a row for that part of
// the path.
func (s *stamps) flagCapturedTwice(sw *stampWindow) {
	parts := map[uint32][]uint32{}
	for i, key := range sw.keys {
		paths, known := parts[key.path]
		if !known {
			paths = s.parts(key.path)
			parts[key.path] = paths
		}
		for _, part := range paths {
			if at, ok := sw.rows[stampKey{key.flow, part}]; ok {
				sw.hops[at].twice, sw.hops[sw.first[i]].twice = true, true
			}
		}
	}
}

// parts returns the known paths that are the beginning of a path.
func (s *stamps) parts(path uint32) (list []uint32) {
	s.key = s.key[:0]
	hops := s.pathsByID[path].hops
	for _, h := range hops[:len(hops)-1] {
		s.key = appendPlace(s.key, h)
		if id, ok := s.paths[string(s.key)]; ok {
			list = append(list, id)
		}
	}
	return list
}

// appendPlace appends a place to the key of a path.
func appendPlace(key []byte, at place) []byte {
	return binary.BigEndian.AppendUint64(key, uint64(at.id)<<32|uint64(at.in)<<16|uint64(at.out))
}

// count adds the stamps of a frame to its hops. It returns false if a count is full.
func (sw *stampWindow) count(at uint32, hops []event.Hop) bool {
	ok := true
	for i := range hops {
		h, c := &hops[i], &sw.hops[at+uint32(i)]
		if c.packets == math.MaxUint32 {
			return false
		}
		c.packets++
		c.unsynchronised = c.unsynchronised || h.Flags&event.Unsynchronised != 0 ||
			i > 0 && hops[i-1].Flags&event.Unsynchronised != 0 // the link's delay uses both clocks
		c.searched = c.searched || h.Flags&event.Searched != 0
		resident := h.Departure - h.Arrival
		if h.Flags&(event.NoArrival|event.NoDeparture|event.ClockSet) == 0 && resident >= -longest && resident <= longest {
			ok = sw.add(&c.resident, resident) && ok
		} else {
			c.unknown++
		}
		if i == 0 || h.Flags&(event.NoArrival|event.ClockSet) != 0 ||
			hops[i-1].Flags&(event.NoDeparture|event.ClockSet) != 0 {
			continue
		}
		if link := h.Arrival - hops[i-1].Departure; link >= -longest && link <= longest {
			ok = sw.add(&c.link, link) && ok
		}
	}
	return ok
}

// longest is the maximum latency in nanoseconds, some 18 minutes: larger values come from a wrong clock.
const longest = 1 << 40

// pathID returns the number of the path of these hops, false if there are too many.
func (s *stamps) pathID(hops []event.Hop) (uint32, bool) {
	s.key = s.key[:0]
	for i := range hops {
		h := &hops[i]
		s.key = appendPlace(s.key, place{h.Switch, h.In, h.Out})
	}
	if id, ok := s.paths[string(s.key)]; ok {
		return id, true
	}
	if len(s.pathsByID) == maxPaths || s.places+len(hops) > maxPlaces {
		return 0, false
	}
	return s.keep(newFramePath(hops)), true
}

// keep adds a path to the distinct paths. Its key is in s.key.
func (s *stamps) keep(w framePath) uint32 {
	id := uint32(len(s.pathsByID))
	s.paths[string(s.key)] = id
	s.pathsByID = append(s.pathsByID, w)
	s.places += len(w.hops)
	return id
}

func newFramePath(hops []event.Hop) framePath {
	var w framePath
	var text strings.Builder
	for i := range hops {
		h := &hops[i]
		w.hops = append(w.hops, place{h.Switch, h.In, h.Out})
		if i > 0 {
			text.WriteString(" > ")
		}
		fmt.Fprintf(&text, "%d:%d-%d", h.Switch, h.In, h.Out)
	}
	w.text = text.String()
	return w
}

// add adds a latency. It returns false if the sum would overflow.
func (sw *stampWindow) add(d *spread, v int64) bool {
	if d.sum > math.MaxInt64-longest || d.sum < -(math.MaxInt64-longest) {
		return false
	}
	if d.count == 0 {
		d.min, d.max = v, v
	}
	d.min, d.max = min(d.min, v), max(d.max, v)
	d.sum += v
	d.count++
	bucket := result.Bucket(v)
	for at := d.chunk; at != 0; at = sw.chunks[at].next {
		c := &sw.chunks[at]
		for i := range c.n {
			if c.n[i] == 0 {
				c.bucket[i] = bucket
			}
			if c.bucket[i] == bucket {
				c.n[i]++
				return true
			}
		}
	}
	sw.chunks = append(sw.chunks, chunk{n: [4]uint32{1}, bucket: [4]uint8{bucket}, next: d.chunk})
	d.chunk = uint32(len(sw.chunks) - 1)
	return true
}

func (s *stamps) close(w window, flags result.Flags, b *result.Batch) {
	sw := s.open[w]
	if sw == nil {
		return
	}
	delete(s.open, w)
	s.flagCapturedTwice(sw)
	for i, key := range sw.keys {
		path, flow := &s.pathsByID[key.path], key.flow.String()
		flags := flags
		if sw.hops[sw.first[i]].twice {
			flags |= result.Twice
		}
		for j, at := range path.hops {
			c := &sw.hops[sw.first[i]+uint32(j)]
			row := result.Hop{
				Window: s.windows.span(w), Flow: flow, Path: path.text, Index: j, Switch: at.id, In: at.in, Out: at.out,
				Packets: int64(c.packets), Unknown: int64(c.unknown), Flags: flags,
				Resident: sw.distribution(&c.resident), Link: sw.distribution(&c.link),
			}
			if c.unsynchronised {
				row.Flags |= result.Unsynchronised
			}
			if c.searched {
				row.Flags |= result.Searched
			}
			b.Hops = append(b.Hops, row)
		}
	}
	s.forget()
}

// forget drops the paths that no window uses, when many are known.
func (s *stamps) forget() {
	if len(s.pathsByID) <= maxPaths/2 && s.places <= maxPlaces/2 {
		return
	}
	all, now := s.pathsByID, map[uint32]uint32{}
	clear(s.paths)
	s.pathsByID, s.places = nil, 0
	for _, sw := range s.open {
		clear(sw.rows)
		for i := range sw.keys {
			key := &sw.keys[i]
			id, ok := now[key.path]
			if !ok {
				id = s.again(all[key.path])
				now[key.path] = id
			}
			key.path = id
			sw.rows[*key] = sw.first[i]
		}
	}
}

// again adds a path that is still in use, after forget has removed all paths.
func (s *stamps) again(w framePath) uint32 {
	s.key = s.key[:0]
	for _, at := range w.hops {
		s.key = appendPlace(s.key, at)
	}
	return s.keep(w)
}

func (sw *stampWindow) distribution(d *spread) result.Distribution {
	out := result.Distribution{Count: int64(d.count), Sum: d.sum, Min: d.min, Max: d.max}
	if d.count == 0 {
		return out
	}
	out.First = result.Bucket(d.min)
	out.Buckets = make([]uint32, int(result.Bucket(d.max))-int(out.First)+1)
	for at := d.chunk; at != 0; at = sw.chunks[at].next {
		c := &sw.chunks[at]
		for i, n := range c.n {
			if n > 0 {
				out.Buckets[c.bucket[i]-out.First] += n
			}
		}
	}
	return out
}
