package schema

import (
	"strconv"
	"strings"
)

// BufferPool is a row of BUFFER_POOL and BUFFER_POOL_TABLE.
type BufferPool struct {
	Name    string
	Both    bool     // for ingress and egress
	Dynamic bool     // thresholds are shares of what is free; true if not given
	Size    uint64   // bytes, 1..2^40
	Ignored []string // fields that have no effect, sorted
}

// ParseBufferPool reads BUFFER_POOL. Pools of ingress are refused: the buffer of
// this switch is shared by the queues of its egress ports.
func ParseBufferPool(key string, fields map[string]string) (BufferPool, error) {
	r := newReader(CfgBufferPool, key, fields)
	r.named(key)
	p := BufferPool{
		Name:    key,
		Dynamic: r.flag("mode", true, "dynamic", "static"),
		Size:    r.number("size", 1, 1<<40, 0),
		Ignored: r.ignore("xoff", "percentage"),
	}
	switch r.word("type", "", "egress", "both", "ingress") {
	case "both":
		p.Both = true
	case "ingress":
		r.bad("type", "ingress", "egress or both: packets are held at egress")
	case "":
		if _, present := r.fields["type"]; !present {
			r.bad("type", "", "egress or both")
		}
	}
	if _, present := r.fields["size"]; !present {
		r.bad("size", "", "the size in bytes")
	}
	r.unknown()
	return p, r.err()
}

// Fields formats the row.
func (p BufferPool) Fields() map[string]string {
	f := map[string]string{"type": "egress", "mode": "static", "size": utoa(p.Size)}
	if p.Both {
		f["type"] = "both"
	}
	if p.Dynamic {
		f["mode"] = "dynamic"
	}
	put(f, FieldIgnored, strings.Join(p.Ignored, ","))
	return f
}

// BufferProfile is a row of BUFFER_PROFILE and BUFFER_PROFILE_TABLE: how much of
// a pool a queue may take.
type BufferProfile struct {
	Name     string
	Pool     string // name of a BufferPool
	Reserved uint64 // bytes, 0..2^40
	// Dynamic says that a queue may hold 2^Alpha times what is free, and not
	// Static bytes.
	Dynamic bool
	Alpha   int8     // -8..8
	Static  uint64   // bytes, 0..2^40
	Ignored []string // fields that have no effect, sorted
}

// ParseBufferProfile reads BUFFER_PROFILE.
func ParseBufferProfile(key string, fields map[string]string) (BufferProfile, error) {
	r := newReader(CfgBufferProfile, key, fields)
	r.named(key)
	p := BufferProfile{
		Name:     key,
		Pool:     r.ref("pool", CfgBufferPool),
		Reserved: r.number("size", 0, 1<<40, 0),
		Ignored:  r.ignore("xon", "xoff", "xon_offset", "packet_discard_action"),
	}
	if p.Pool == "" {
		r.bad("pool", "", "the name of a row of "+CfgBufferPool)
	}
	dynamic, hasDynamic := r.take("dynamic_th")
	_, hasStatic := r.take("static_th")
	p.Dynamic = hasDynamic
	switch {
	case hasDynamic == hasStatic:
		r.bad("dynamic_th", dynamic, "either dynamic_th or static_th")
	case hasDynamic:
		n, err := strconv.ParseInt(dynamic, 10, 8)
		if err != nil || n < -8 || n > 8 {
			r.bad("dynamic_th", dynamic, "a number in -8..8: the power of two that what is free is taken times")
			n = 0
		}
		p.Alpha = int8(n)
	default:
		p.Static = r.number("static_th", 0, 1<<40, 0)
	}
	r.unknown()
	return p, r.err()
}

// Fields formats the row.
func (p BufferProfile) Fields() map[string]string {
	f := map[string]string{"pool": p.Pool, "size": utoa(p.Reserved)}
	if p.Dynamic {
		f["dynamic_th"] = strconv.Itoa(int(p.Alpha))
	} else {
		f["static_th"] = utoa(p.Static)
	}
	put(f, FieldIgnored, strings.Join(p.Ignored, ","))
	return f
}

// BufferQueue is a row of BUFFER_QUEUE and BUFFER_QUEUE_TABLE.
type BufferQueue struct {
	QueueKey
	Profile string // name of a BufferProfile
}

// ParseBufferQueue reads BUFFER_QUEUE.
func ParseBufferQueue(key string, fields map[string]string) (BufferQueue, error) {
	r := newReader(CfgBufferQueue, key, fields)
	q := BufferQueue{QueueKey: r.queueKey(key), Profile: r.ref("profile", CfgBufferProfile)}
	if q.Profile == "" {
		r.bad("profile", "", "the name of a row of "+CfgBufferProfile)
	}
	r.unknown()
	return q, r.err()
}

// Fields formats the row.
func (q BufferQueue) Fields() map[string]string { return map[string]string{"profile": q.Profile} }
