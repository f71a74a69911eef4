package jetstream

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// NATS writes nothing more to a stream that it could not write to once, and takes nothing out of it: not for want of
// room, nor for any other error; of a cluster it stops the whole node. It goes on when it is started again. So it is,
// in this process, at once, and while that does not help after longer and longer pauses. What was acknowledged by then
// makes room, so nothing from this process is appended until there is some.
const (
	lookAtServer  = time.Second
	longestBroken = 16 * time.Second
	quiet         = time.Minute // then the pauses begin anew
	enough        = 4 << 20     // bytes of room
)

// Trouble says why the folder cannot be written; "": it can be, as far as is known.
func (s *Server) Trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// Restarts is how often it was started again.
func (s *Server) Restarts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restarts
}

// watch looks after the server until it is closed.
func (s *Server) watch() {
	defer close(s.watched)
	tick := time.NewTicker(lookAtServer)
	defer tick.Stop()
	var last time.Time // that it was started
	var pause time.Duration
	broken := false
	for {
		select {
		case <-s.end:
			return
		case why := <-s.broken:
			broken = true
			if err := s.room(); err != nil { // NATS may name but what came of it
				why = err.Error()
			}
			s.tell(why)
		case <-tick.C:
		}
		now := time.Now()
		if broken && now.Sub(last) > quiet {
			pause = 0
		}
		if broken && now.Sub(last) >= pause {
			broken = !s.again()
			last, pause = time.Now(), min(max(2*pause, lookAtServer), longestBroken)
		}
		if !broken && s.Trouble() != "" && s.room() == nil {
			s.tell("")
		}
	}
}

// tell notes why the folder cannot be written, or that it can be, and says it when that is new.
func (s *Server) tell(trouble string) {
	s.mu.Lock()
	was := s.trouble
	s.trouble = trouble
	s.mu.Unlock()
	switch {
	case trouble != "" && was == "":
		s.options.Logger.Error("the log cannot be written: sources wait", "log", s.options.Dir, "reason", trouble)
	case trouble == "" && was != "":
		s.options.Logger.Info("the log can be written again", "log", s.options.Dir)
	}
}

// again stops the server and starts it, and reports whether it serves.
func (s *Server) again() bool {
	s.mu.Lock()
	old := s.nats
	s.nats = nil
	s.mu.Unlock()
	if old != nil {
		old.Shutdown()
		old.WaitForShutdown()
	}
	select {
	case <-s.broken: // of the old one
	default:
	}
	started, err := s.start()
	if err != nil {
		s.tell(err.Error())
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nats = started
	s.restarts++
	return true
}

// room fails if there is none, or if the folder cannot be written for another reason.
func (s *Server) room() error {
	f, err := os.Create(filepath.Join(s.options.Dir, "room"))
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, enough))
	err = cmp.Or(err, f.Sync())
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
