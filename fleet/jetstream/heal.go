package jetstream

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// After one write error NATS writes nothing more to a stream, and removes nothing from it, whatever the error; in a
// cluster it stops the whole node. It continues after a restart. So this process restarts it at once, and then after
// longer and longer pauses while that does not help. Acknowledged messages are purged by then, which frees space. Until
// there is enough space, nothing from this process is appended.
const (
	lookAtServer  = time.Second
	longestBroken = 16 * time.Second
	quiet         = time.Minute // after a run of this length, the pauses begin with the shortest again
	enough        = 4 << 20     // bytes of free space that must exist
)

// Trouble returns the reason why the folder cannot be written, or "" if none is known.
func (s *Server) Trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// Restarts returns the number of restarts of NATS.
func (s *Server) Restarts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restarts
}

// watch supervises the server until it is closed.
func (s *Server) watch() {
	defer close(s.watched)
	tick := time.NewTicker(lookAtServer)
	defer tick.Stop()
	var last time.Time // time of the last start
	var pause time.Duration
	broken := false
	for {
		select {
		case <-s.end:
			return
		case why := <-s.broken:
			broken = true
			if err := s.room(); err != nil { // the error of NATS may be a mere consequence
				why = err.Error()
			}
			s.report(why)
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
			s.report("")
		}
	}
}

// report stores the reason why the folder cannot be written, "" if it can, and logs a change.
func (s *Server) report(trouble string) {
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

// again restarts the server, and reports whether it serves.
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
	case <-s.broken: // discards a message of the old server
	default:
	}
	started, err := s.start()
	if err != nil {
		s.report(err.Error())
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nats = started
	s.restarts++
	return true
}

// room returns an error if the disk is full, or if the folder cannot be written for another reason.
func (s *Server) room() error {
	f, err := os.Create(filepath.Join(s.options.Dir, "room"))
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, enough))
	err = cmp.Or(err, f.Sync())
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
