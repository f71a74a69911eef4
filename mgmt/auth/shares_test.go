package auth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"tamtam/internal/randtest"
)

// While a client waits, no client with more places gets a place, and each client with as many places gets at most one.
// No place is lost, and none stays free while a client waits.
func TestRandomShares(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 50}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		most := 1 + rng.IntN(4)
		s := NewShares(most)
		type wait struct {
			client string
			end    context.CancelFunc
			done   chan error
			passed map[string]int // places given meanwhile to clients with as many places
		}
		var waiting []*wait
		held := map[string]int{}
		total := func() (n int) {
			for _, h := range held {
				n += h
			}
			return n
		}
		given := func() { // records which clients were given a place
			for i := 0; i < len(waiting); i++ {
				w := waiting[i]
				select {
				case err := <-w.done:
					if err != nil {
						t.Fatal(err)
					}
				default:
					continue
				}
				waiting = append(waiting[:i], waiting[i+1:]...)
				i--
				for _, o := range waiting {
					if o.client == w.client {
						clear(o.passed)
						continue
					}
					if held[w.client] > held[o.client] {
						t.Fatalf("%s has %d places and gets one, while %s waits with %d", w.client, held[w.client], o.client,
							held[o.client])
					}
					if held[w.client] < held[o.client] {
						continue
					}
					if o.passed[w.client]++; o.passed[w.client] > 1 {
						t.Fatalf("%s gets a second place while %s waits with as many", w.client, o.client)
					}
				}
				held[w.client]++
			}
		}
		settled := func() {
			for {
				given()
				s.mu.Lock()
				taken, queued := most-s.free, 0
				for _, c := range s.clients {
					queued += len(c.waiting)
				}
				s.mu.Unlock()
				if taken == total() && queued == len(waiting) {
					if queued > 0 && taken < most {
						t.Fatalf("%d wait while %d of %d places are taken", queued, taken, most)
					}
					return
				}
				runtime.Gosched()
			}
		}
		for range 60 {
			switch client := fmt.Sprint("c", rng.IntN(3)); {
			case rng.IntN(2) == 0:
				ctx, end := context.WithCancel(t.Context())
				w := &wait{client, end, make(chan error, 1), map[string]int{}}
				waiting = append(waiting, w)
				go func() { w.done <- s.Enter(ctx, client) }()
			case held[client] > 0:
				held[client]--
				s.Leave(client)
			case len(waiting) > 0 && rng.IntN(4) == 0:
				i := rng.IntN(len(waiting))
				w := waiting[i]
				w.end()
				if err := <-w.done; err == nil {
					t.Fatal("who went away got a place")
				}
				waiting = append(waiting[:i], waiting[i+1:]...)
			}
			settled()
		}
	})
}
