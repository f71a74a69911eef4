package pipe

// NotedTables is the maximum number of tables with a key whose lookups are noted for a packet, in each pipe. The first
// ones are noted.
const NotedTables = 15

// Each noted table has a place. All other tables share the last place. A table without a key has no place.
const (
	lookPlaces = NotedTables + 1
	noPlace    = 255
)

// Looks holds the results of a packet's lookups in the tables of one pipe, by place: see [PHV].
type Looks struct {
	packet uint64 // number of the packet, shifted as in a look
	of     [lookPlaces]uint64
}

// A look is one word of Looks: the entry's number, whether it hit, and the packet. So looks of earlier packets need not
// be cleared.
const (
	lookHit    = 1 << 32
	lookPacket = 1 << 33
)

// Begin starts the notes of a packet. It must be called before each packet runs.
func (l *Looks) Begin() {
	if l.packet += lookPacket; l.packet == 0 {
		*l = Looks{packet: lookPacket}
	}
}

func (l *Looks) note(place uint8, r *row) {
	l.of[place] = l.packet | r.look
}

// At returns the packet's result in the table at a place. entry is the number of the entry, 0 if none hit.
func (l *Looks) At(place int) (entry uint32, hit, ran bool) {
	v := l.of[place]
	return uint32(v), v&lookHit != 0, v&^(lookPacket-1) == l.packet
}

// More reports whether the packet was also looked up in tables that are not noted.
func (l *Looks) More() bool {
	_, _, ran := l.At(NotedTables)
	return ran
}

// A NotedTable is a table whose lookups are noted.
type NotedTable struct {
	Name  string
	Stage uint32
}

// Noted returns the tables of a pipe whose lookups are noted, in the order of places.
func (c *Compiled) Noted(egress bool) []NotedTable {
	all := make([]NotedTable, 0, NotedTables)
	for i := range c.side(egress).tables {
		if t := &c.side(egress).tables[i]; len(t.parts) > 0 && t.place < NotedTables {
			all = append(all, NotedTable{t.name, uint32(t.stage)})
		}
	}
	return all
}

// place returns the place for lookups in the next table. key is the number of fields in its key.
func (c *compiler) place(key int) uint8 {
	switch {
	case key == 0:
		return noPlace
	case c.keyed == NotedTables:
		return NotedTables
	}
	c.keyed++
	return uint8(c.keyed - 1)
}
