package sweep

import (
	"context"
	"errors"
	"sync"

	"tamtam/fleet/stream"
)

var errDead = errors.New("the process is dead")

// dyingLog is the log as seen by a process that dies before or after a certain operation. The work that it holds then
// becomes free when free is called.
type dyingLog struct {
	stream.Log
	die    context.CancelFunc // cancels what the process waits for
	behind bool               // true if the last operation takes effect, but the process does not learn of it

	mu    sync.Mutex
	left  int // number of operations left; negative means no limit
	dead  bool
	holds []stream.Work
}

// step counts an operation. It returns whether the operation takes place, and whether it is the last.
func (m *dyingLog) step() (takesPlace, last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false, true
	}
	if m.left != 0 {
		m.left--
		return true, false
	}
	m.dead = true
	m.die()
	return m.behind, true
}

func (m *dyingLog) do(op func() error) error {
	takesPlace, last := m.step()
	var err error
	if takesPlace {
		err = op()
	}
	if last {
		return errDead
	}
	return err
}

func (m *dyingLog) Append(ctx context.Context, topic, id string, data []byte) (seq uint64, err error) {
	err = m.do(func() (err error) { seq, err = m.Log.Append(context.WithoutCancel(ctx), topic, id, data); return err })
	return seq, err
}

func (m *dyingLog) Read(ctx context.Context, topic string, from uint64, most int) (all []stream.Entry, err error) {
	err = m.do(func() (err error) { all, err = m.Log.Read(ctx, topic, from, most); return err })
	return all, err
}

func (m *dyingLog) Acknowledge(ctx context.Context, topic string, upTo uint64) error {
	return m.do(func() error { return m.Log.Acknowledge(ctx, topic, upTo) })
}

func (m *dyingLog) Claim(ctx context.Context, topic string) (w stream.Work, err error) {
	err = m.do(func() error {
		taken, err := m.Log.Claim(ctx, topic)
		if err == nil {
			m.mu.Lock()
			m.holds = append(m.holds, taken)
			m.mu.Unlock()
			w = &dyingWork{taken, m}
		}
		return err
	})
	return w, err
}

// free releases what the dead process held.
func (m *dyingLog) free() (dead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.holds {
		_ = w.Return(context.Background()) // work that is done needs no release
	}
	return m.dead
}

type dyingWork struct {
	stream.Work
	m *dyingLog
}

func (w *dyingWork) Hold(ctx context.Context) error {
	return w.m.do(func() error { return w.Work.Hold(ctx) })
}

func (w *dyingWork) Done(ctx context.Context) error {
	return w.m.do(func() error { return w.Work.Done(ctx) })
}

func (w *dyingWork) Return(ctx context.Context) error {
	return w.m.do(func() error { return w.Work.Return(ctx) })
}
