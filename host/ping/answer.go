package ping

// An Answer is the answer to a ping or traceroute, so far, as its row in STATE_DB has it. Times are in nanoseconds.
type Answer struct {
	Operation   string `json:"operation"`
	Destination string `json:"destination"`
	Source      string `json:"source"`
	Size        int    `json:"size"`
	Timeout     int64  `json:"timeout-ns"`
	Done        bool   `json:"done"`
	Stopped     bool   `json:"stopped,omitempty"` // true if the client has ended it

	Sent     int `json:"sent"`
	Received int `json:"received"` // requests with an echo reply
	Errors   int `json:"errors"`   // requests with an ICMP error, or whose neighbour did not answer
	NoReply  int `json:"no-reply"` // requests for which nothing came before the timeout
	Waiting  int `json:"waiting"`  // requests whose timeout is not over
	NotSent  int `json:"not-sent"` // requests that the switch could not send
	// Duplicates are further replies to answered requests. Strange are messages that do not fit the requests.
	Duplicates int  `json:"duplicates"`
	Strange    int  `json:"strange"`
	RTT        *RTT `json:"rtt,omitempty"` // nil if there was no reply

	// Events are the last events of a ping; EventsBefore is the number of earlier ones.
	EventsBefore int     `json:"events-before"`
	Events       []Event `json:"events,omitempty"`
	Hops         []Hop   `json:"hops,omitempty"` // hops of a traceroute

	Notes []string `json:"notes,omitempty"` // what may explain missing replies
}

// An RTT holds round-trip times of replies, in nanoseconds.
type RTT struct {
	Min int64 `json:"min-ns"`
	Avg int64 `json:"avg-ns"`
	Max int64 `json:"max-ns"`
}

// An Event is something that came of a request.
type Event struct {
	Number    int    `json:"number"` // number of the event in the run, from 1
	Sequence  int    `json:"sequence"`
	Hop       int    `json:"hop,omitempty"`
	Kind      string `json:"kind"`
	From      string `json:"from,omitempty"`
	TTL       int    `json:"ttl,omitempty"` // TTL of the message
	Bytes     int    `json:"bytes,omitempty"`
	RTT       *int64 `json:"rtt-ns,omitempty"` // nil if nothing came
	Text      string `json:"text,omitempty"`
	Late      bool   `json:"late,omitempty"` // true if it came after the timeout
	Duplicate bool   `json:"duplicate,omitempty"`
}

// A Hop is what came of the requests with one TTL.
type Hop struct {
	Hop      int     `json:"hop"`
	Complete bool    `json:"complete"` // true if nothing more is waited for
	Probes   []Event `json:"probes"`   // one for each request with an outcome
}

// answer returns the run's answer so far.
func (r *run) answer() *Answer {
	a := &Answer{
		Operation: r.operation, Destination: r.Destination.String(), Source: r.source.String(), Size: r.Size,
		Timeout: r.Timeout.Nanoseconds(), Done: r.done, Stopped: r.stopped, Waiting: r.waiting,
		Duplicates: r.duplicate, Strange: r.strange, Notes: r.notes,
	}
	var sum int64
	for i := range r.probes {
		p := &r.probes[i]
		switch p.state {
		case replied:
			a.Received++
			rtt := *p.outcome.RTT
			if sum += rtt; a.RTT == nil {
				a.RTT = &RTT{Min: rtt, Max: rtt}
			}
			a.RTT.Min, a.RTT.Max = min(a.RTT.Min, rtt), max(a.RTT.Max, rtt)
		case failed:
			a.Errors++
		case silent:
			a.NoReply++
		case notSent:
			a.NotSent++
		}
	}
	a.Sent = len(r.probes) - a.NotSent
	if a.RTT != nil {
		a.RTT.Avg = sum / int64(a.Received)
	}
	if !r.Trace {
		a.EventsBefore, a.Events = r.forgotten, r.events
		return a
	}
	for i := range r.probes {
		if i%r.Count == 0 {
			a.Hops = append(a.Hops, Hop{Hop: r.ttl(i), Probes: []Event{}})
		}
		h := &a.Hops[len(a.Hops)-1]
		if r.probes[i].state != waiting {
			h.Probes = append(h.Probes, r.probes[i].outcome)
		}
		h.Complete = len(h.Probes) == r.Count || r.done
	}
	return a
}
