package pipe

import "testing"

// Lookups of one packet are never mistaken for lookups of the next packet, even after many packets.
func TestLooksAreOfOnePacket(t *testing.T) {
	hit, miss := row{look: 7 | lookHit}, row{}
	for _, begun := range []uint64{0, lookPacket, ^uint64(0) - lookPacket + 1, ^uint64(0) - 2*lookPacket + 1} {
		l := Looks{packet: begun}
		l.Begin()
		l.note(2, &hit)
		l.note(3, &miss)
		l.note(NotedTables, &hit)
		for range 3 {
			for place := range NotedTables {
				entry, isHit, ran := l.At(place)
				wantEntry, wantHit, wantRan := uint32(0), place == 2, place == 2 || place == 3
				if place == 2 {
					wantEntry = 7
				}
				if ran != wantRan || ran && (entry != wantEntry || isHit != wantHit) {
					t.Errorf("begun at %#x: place %d has %d, hit %v, ran %v", begun, place, entry, isHit, ran)
				}
			}
			if !l.More() {
				t.Errorf("begun at %#x: no more looks", begun)
			}
		}
		for range 3 {
			l.Begin()
			for place := range lookPlaces {
				if _, _, ran := l.At(place); ran {
					t.Errorf("begun at %#x: the next packet has a look at place %d", begun, place)
				}
			}
		}
	}
}
