package engine

import (
	"math/bits"
	"slices"

	"tamtam/saisim/config"
)

// An fdb is the table of MAC addresses: open addressing, linear probing.
type fdb struct {
	slots   []fdbEntry // a power of two; a slot with key 0 is free
	n, max  int
	sweepAt Cycle // no entry ages before this cycle; never if none can age
	age     Cycle // ageing time; zero means that entries do not age
}

type fdbEntry struct {
	key    uint64 // made by fdbKey; there is no VLAN 0, so 0 means free
	to     *bridgePort
	seen   Cycle
	static bool
	moves  bool // may move although it is static
	act    actions
}

func fdbKey(vid uint16, mac uint64) uint64 { return uint64(vid)<<48 | mac }

func newFDB(n int) fdb {
	return fdb{slots: make([]fdbEntry, 1<<bits.Len(uint(min(2*n, 1024)))), max: n, sweepAt: never}
}

// grow doubles the table. It is called when the table is half full.
func (f *fdb) grow() {
	old := f.slots
	f.slots = make([]fdbEntry, 2*len(old))
	for _, e := range old {
		if e.key != 0 {
			*f.free(e.key) = e
		}
	}
}

// free returns the slot for a key that is not in the table.
func (f *fdb) free(key uint64) *fdbEntry {
	i := f.home(key)
	for f.slots[i].key != 0 {
		i = (i + 1) & (len(f.slots) - 1)
	}
	return &f.slots[i]
}

func (f *fdb) home(key uint64) int {
	return int((key * 0x9e3779b97f4a7c15) >> 33 & uint64(len(f.slots)-1))
}

func (f *fdb) find(key uint64) *fdbEntry {
	for i := f.home(key); ; i = (i + 1) & (len(f.slots) - 1) {
		switch f.slots[i].key {
		case key:
			return &f.slots[i]
		case 0:
			return nil
		}
	}
}

// insert adds an entry that is not in the table. It returns nil if the table is full.
func (f *fdb) insert(e fdbEntry) *fdbEntry {
	if f.n >= f.max {
		return nil
	}
	if f.n++; 2*f.n > len(f.slots) {
		f.grow()
	}
	at := f.free(e.key)
	*at = e
	return at
}

// remove deletes the entry with the key, if there is one, and closes the gap.
func (f *fdb) remove(key uint64) {
	e := f.find(key)
	if e == nil {
		return
	}
	mask := len(f.slots) - 1
	i := f.home(key)
	for f.slots[i].key != key {
		i = (i + 1) & mask
	}
	f.n--
	for j := i; ; {
		j = (j + 1) & mask
		k := f.slots[j].key
		if k == 0 {
			break
		}
		if home := f.home(k); (j-home)&mask >= (j-i)&mask {
			f.slots[i] = f.slots[j]
			i = j
		}
	}
	f.slots[i] = fdbEntry{}
}

// keys returns the keys of the entries that want selects, sorted.
func (f *fdb) keys(want func(*fdbEntry) bool) []uint64 {
	var keys []uint64
	for i := range f.slots {
		if e := &f.slots[i]; e.key != 0 && want(e) {
			keys = append(keys, e.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// An FDBEvent is a kind of change of an address.
type FDBEvent uint8

// The events.
const (
	FDBLearned FDBEvent = iota
	FDBMoved
	FDBAged
	FDBFlushed
)

// An FDBRow is an address in a VLAN.
type FDBRow struct {
	VLAN       uint16
	MAC        config.MAC
	BridgePort config.ID
	Static     bool
	Drop, Copy bool  // Drop: not forwarded; Copy: a copy to the CPU
	Moves      bool  // static, but may be learned elsewhere like a dynamic address
	Seen       Cycle // cycle at which it was last learned or set
}

func (e *fdbEntry) row() FDBRow {
	return FDBRow{uint16(e.key >> 48), macOf(e.key), e.to.name, e.static, e.act&actDrop != 0, e.act&actCopy != 0,
		e.moves, e.seen}
}

func macOf(m uint64) (b config.MAC) {
	for i := range b {
		b[i] = byte(m >> (40 - 8*i))
	}
	return b
}
