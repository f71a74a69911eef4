package schema

import "strconv"

// BufferPool is a row of BUFFER_POOL and BUFFER_POOL_TABLE.
type BufferPool struct {
	Name    string
	Both    bool   // true if the pool is for ingress and egress
	Ingress bool   // true if the pool is only for ingress, which has no effect in this switch
	Dynamic bool   // true if thresholds are fractions of the free memory
	Size    uint64 // size of the pool in bytes
}

const maxBuffer = 1 << 40 // bytes

// layout returns the layout of the row.
func (p *BufferPool) layout() layout {
	return layout{
		table: CfgBufferPool,
		key:   named(&p.Name),
		fields: []field{
			flag("mode", "dynamic", "static", true, &p.Dynamic,
				"Whether the thresholds of queues are shares of what is free, or bytes."),
			number("size", 1, maxBuffer, 0, &p.Size, "In bytes.").must("the size in bytes"),
			ignored("xoff", "percentage"),
			own("type", "egress, both or ingress",
				"Which packets it holds. They are held at egress, so that a pool for ingress has no effect.", p.readType,
				func() string {
					switch {
					case p.Ingress:
						return "ingress"
					case p.Both:
						return "both"
					}
					return "egress"
				}).must(""),
		},
	}
}

func (p *BufferPool) readType(r *reader) {
	switch r.word("type", "", "egress", "both", "ingress") {
	case "both":
		p.Both = true
	case "ingress":
		p.Ingress = true
	case "":
		if r.fields["type"] == "" {
			r.bad("type", "", "egress, both or ingress")
		}
	}
}

// BufferProfile is a row of BUFFER_PROFILE and BUFFER_PROFILE_TABLE: how much of a pool a queue may use.
type BufferProfile struct {
	Name     string
	Pool     string // name of a BufferPool
	Reserved uint64 // memory reserved for the queue, in bytes
	// Dynamic means that a queue may hold 2^Alpha times the free memory. Otherwise it may hold Static bytes.
	Dynamic bool
	Alpha   int8   // exponent of the threshold, -8..8
	Static  uint64 // threshold in bytes
}

func (p *BufferProfile) layout() layout {
	return layout{
		table: CfgBufferProfile,
		key:   named(&p.Name),
		fields: []field{
			ref("pool", CfgBufferPool, &p.Pool, "The pool that the queues share.").
				must("the name of a row of " + CfgBufferPool),
			number("size", 0, maxBuffer, 0, &p.Reserved, "Bytes that are kept for each queue."),
			ignored("xon", "xoff", "xon_offset", "packet_discard_action=drop", "headroom_type"),
			own("dynamic_th", "-8..8", "A queue may hold this power of two times what is free. Either this or static_th.",
				p.readThreshold, func() string {
					if !p.Dynamic {
						return ""
					}
					return strconv.Itoa(int(p.Alpha))
				}),
			within("static_th", 0, maxBuffer, "Bytes that a queue may hold.", nil, func() string {
				if p.Dynamic {
					return ""
				}
				return utoa(p.Static)
			}),
		},
	}
}

// readThreshold reads the threshold, which is in one of two fields. It is an error if both fields are given, or none.
func (p *BufferProfile) readThreshold(r *reader) {
	dynamic, hasDynamic := r.value("dynamic_th")
	_, hasStatic := r.value("static_th")
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
		p.Static = r.number("static_th", 0, maxBuffer, 0)
	}
}

// BufferQueue is a row of BUFFER_QUEUE and BUFFER_QUEUE_TABLE.
type BufferQueue struct {
	QueueKey
	Profile string // name of a BufferProfile
}

func (q *BufferQueue) layout() layout {
	return layout{
		table: CfgBufferQueue,
		key:   queuesKey(&q.QueueKey),
		fields: []field{
			ref("profile", CfgBufferProfile, &q.Profile, "How much each queue may hold.").
				must("the name of a row of " + CfgBufferProfile),
		},
	}
}
