package outputs

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

// After any operations, the messages put equal those waiting, sent and lost by reason. The bounds hold, and messages
// leave in order of arrival.
func TestSpool(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 50}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := Bounds{Bytes: 1000 + r.IntN(3000), Age: time.Duration(1+r.IntN(50)) * time.Second}
		s, now := NewSpool(b), time.Unix(1000, 0)
		var put, sent, refused uint64
		last := byte(0)
		taken := false
		for range 300 {
			now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
			switch k := r.IntN(4); {
			case k < 2:
				put++
				data := make([]byte, 1+r.IntN(300))
				data[0] = byte(put)
				s.Put(now, data)
			case k == 2 && !taken:
				var m Message
				if m, taken = s.Next(now); taken {
					if m.Data[0]-last > 200 && last != 0 {
						t.Fatalf("message %d behind %d", m.Data[0], last)
					}
					last = m.Data[0]
				}
			case taken:
				taken = false
				switch r.IntN(3) {
				case 0:
					s.Back()
					last--
				case 1:
					s.Done(true)
					refused++
				default:
					s.Done(false)
					sent++
				}
			}
			n, bytes, oldest, l := s.Fill(now)
			if put != sent+uint64(n)+l.Total() || l.Refused != refused {
				t.Fatalf("%d put, %d sent, %d wait, lost %+v", put, sent, n, l)
			}
			if bytes+n*overhead > b.Bytes || n > 0 && !taken && now.Sub(oldest) > b.Age {
				t.Fatalf("%d messages of %d bytes since %v at %v in %+v", n, bytes, oldest, now, b)
			}
		}
	})
}

// A message larger than the spool does not displace others.
func TestSpoolTooLarge(t *testing.T) {
	s, now := NewSpool(Bounds{Bytes: 500, Age: time.Hour}), time.Unix(1, 0)
	s.Put(now, []byte("a"))
	s.Put(now, []byte(strings.Repeat("x", 500)))
	if n, _, _, l := s.Fill(now); n != 1 || l != (Losses{TooLarge: 1}) {
		t.Errorf("%d wait, lost %+v", n, l)
	}
}

// The message that is being sent stays, and a new one may not fit beside it.
func TestSpoolBesideWhatIsSent(t *testing.T) {
	s, now := NewSpool(Bounds{Bytes: 200, Age: time.Minute}), time.Unix(1, 0)
	s.Put(now, make([]byte, 100))
	s.Next(now)
	now = now.Add(time.Hour)
	s.Put(now, make([]byte, 100))
	n, _, _, l := s.Fill(now)
	if n != 1 || l != (Losses{Full: 1}) {
		t.Errorf("%d wait, lost %+v", n, l)
	}
	s.Done(false)
	if n, bytes, _, _ := s.Fill(now); n != 0 || bytes != 0 {
		t.Errorf("%d of %d bytes wait", n, bytes)
	}
}

// A message that contains all that the waiting ones do takes their place, and nothing is lost by that. The message that
// is being sent stays.
func TestLatest(t *testing.T) {
	b := DefaultBounds()
	b.Latest = true
	s := NewSpool(b)
	now := time.Unix(0, 0)
	for _, m := range []string{"a", "b"} {
		s.Put(now, []byte(m))
	}
	if m, ok := s.Next(now); !ok || string(m.Data) != "b" {
		t.Errorf("%q, want the latest", m.Data)
	}
	s.Put(now, []byte("c"))
	s.Put(now, []byte("d"))
	s.Back()
	if m, ok := s.Next(now); !ok || string(m.Data) != "b" {
		t.Errorf("%q, want the message that was being sent", m.Data)
	}
	s.Done(false)
	if n, _, _, lost := s.Fill(now); n != 1 || lost.Total() != 0 {
		t.Errorf("%d messages wait, %d are lost", n, lost.Total())
	}
	s.Put(now, []byte("e"))
	if m, ok := s.Next(now); !ok || string(m.Data) != "e" {
		t.Errorf("%q, want the latest", m.Data)
	}
}
