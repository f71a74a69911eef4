package capture

// An Ahead reads a capture in a goroutine of its own, up to two batches of packets before they are asked for. So a
// consumer that works on the packets does not wait for the file.
type Ahead struct {
	batches chan *batch // filled by the goroutine
	free    chan *batch
	stop    chan struct{}
	current *batch
	at      int // index of the next packet in current
}

// A batch holds packets, whose data lie in one buffer, and the error that followed them, if any.
type batch struct {
	packets []Packet
	data    []byte
	err     error
}

// A batch is full with so many packets, or bytes of packets.
const (
	batchPackets = 512
	batchBytes   = 256 << 10
)

// ReadAhead starts to read the packets of s, which no other may use from then on.
func ReadAhead(s *Sorted) *Ahead {
	a := &Ahead{batches: make(chan *batch, 1), free: make(chan *batch, 3), stop: make(chan struct{}), current: &batch{}}
	for range cap(a.free) {
		a.free <- &batch{}
	}
	go a.run(s)
	return a
}

func (a *Ahead) run(s *Sorted) {
	for more := true; more; {
		var b *batch
		select {
		case b = <-a.free:
		case <-a.stop:
			return
		}
		b.fill(s)
		more = b.err == nil
		select {
		case a.batches <- b:
		case <-a.stop:
			return
		}
	}
}

// fill replaces the packets of a batch with the next ones.
func (b *batch) fill(s *Sorted) {
	b.packets, b.data = b.packets[:0], b.data[:0]
	for len(b.packets) < batchPackets && len(b.data) < batchBytes {
		p, err := s.next()
		if err != nil {
			b.err = err
			break
		}
		b.data = append(b.data, p.Data...)
		b.packets = append(b.packets, *p)
	}
	end := 0 // the buffer may have moved while it grew
	for i := range b.packets {
		p := &b.packets[i]
		begin := end
		end += len(p.Data)
		p.Data = b.data[begin:end:end]
	}
}

// Next does [Sorted.Next]. The packet is valid until the next call.
func (a *Ahead) Next() (*Packet, error) {
	for a.at == len(a.current.packets) {
		if a.current.err != nil {
			return nil, a.current.err
		}
		next := <-a.batches
		if cap(a.current.packets) > 0 {
			a.free <- a.current
		}
		a.current, a.at = next, 0
	}
	a.at++
	return &a.current.packets[a.at-1], nil
}

// Ready reports whether Next returns the next packet without waiting for the file.
func (a *Ahead) Ready() bool { return a.at < len(a.current.packets) }

// Close ends reading, after at most the batch that is being read.
func (a *Ahead) Close() { close(a.stop) }
