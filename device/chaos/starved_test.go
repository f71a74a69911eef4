package chaos

import (
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// starved is how long processes get little or no processor time: longer than any beat.
const starved = 7 * time.Second

// Processes that get no processor time for a while are late, but nothing else happens. Afterwards no process starts
// again, and the state is the same as before.
func TestStarvedProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	c := startChaos(t, swsstest.StartServer(t), nil)
	config := devicetest.TwoPorts()
	c.load(config)
	c.until("the session", func() bool { return c.active("s") })
	c.ready()
	claims := c.claims()
	all := func(s syscall.Signal) {
		for _, name := range killable {
			c.signal(name, s)
		}
	}
	for _, tt := range []struct {
		name   string
		starve func()
	}{
		{"all of them", func() {
			all(syscall.SIGSTOP)
			c.pass(starved)
			all(syscall.SIGCONT)
		}},
		{"syncd", func() {
			c.signal("syncd", syscall.SIGSTOP)
			c.awaitUnknown("syncd has not been heard of")
			c.signal("syncd", syscall.SIGCONT)
			c.sure()
		}},
		{"orchagent", func() {
			c.signal("orchagent", syscall.SIGSTOP)
			c.unhealthy("orchagent", "has not been heard of")
			c.signal("orchagent", syscall.SIGCONT)
		}},
		{"Redis", func() {
			c.server.Signal(syscall.SIGSTOP)
			c.pass(starved * 4 / 5) // after the full time, connections would count as dead
			c.server.Signal(syscall.SIGCONT)
		}},
		{"all of them, nearly", func() { // the processes get a twentieth of the processor time
			c.load(more("new"))
			config = devicetest.Merge(config, more("new"))
			for end := time.Now().Add(starved); time.Now().Before(end); {
				all(syscall.SIGSTOP)
				c.pass(190 * time.Millisecond)
				all(syscall.SIGCONT)
				c.pass(10 * time.Millisecond)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.starve()
			c.until("all is in force", func() bool { return len(c.unknown()) == 0 && c.active("s") })
			c.ready()
			c.same(config)
			if n := claims(); n > 0 {
				t.Errorf("daemons have begun anew %d times", n)
			}
		})
	}
}

// claims counts from now on the starts of daemon runs, by the daemons' marks in STATE_DB. It returns a function that
// returns the number of starts since its last call.
func (c *chaos) claims() func() int {
	c.Helper()
	conn := c.redis.DB(swss.StateDB).Subscribe(c.Context(), "__keyspace@6__:"+swss.KeyMark)
	c.Cleanup(func() { conn.Close() })
	if _, err := conn.Receive(c.Context()); err != nil {
		c.Fatal(err)
	}
	return func() (n int) {
		c.Helper()
		devicetest.NoError(c.T, conn.Ping(c.Context(), "end"))
		for {
			msg, err := conn.ReceiveTimeout(c.Context(), patience)
			if err != nil {
				c.Fatal(err)
			}
			if isPong(msg) {
				return n
			}
			n++
		}
	}
}

func isPong(msg any) bool { _, ok := msg.(*redis.Pong); return ok }
