package pipe

// NotedTables is of how many tables with a key the looks of a packet are noted, in each pipe: of those of the first
// stages.
const NotedTables = 15

// lookPlaces are one for each table that is noted, and the last for all others; a table without a key has none.
const (
	lookPlaces = NotedTables + 1
	noPlace    = 255
)

// Looks are what a packet has found in the tables of one pipe, by their places: see [PHV].
type Looks struct {
	packet uint64 // which one since Looks were made, as it is in a look
	of     [lookPlaces]uint64
}

// A look is the number of the entry, whether it hits, and of which packet it is. So looks of the packet before need not
// be taken away.
const (
	lookHit    = 1 << 32
	lookPacket = 1 << 33
)

// Begin is called for each packet, before it runs.
func (l *Looks) Begin() {
	if l.packet += lookPacket; l.packet == 0 {
		*l = Looks{packet: lookPacket}
	}
}

func (l *Looks) note(place uint8, r *row) {
	l.of[place] = l.packet | r.look
}

// At returns what the packet has found in the table at a place: the number of the entry, 0 if there is none that hits.
func (l *Looks) At(place int) (entry uint32, hit, ran bool) {
	v := l.of[place]
	return uint32(v), v&lookHit != 0, v&^(lookPacket-1) == l.packet
}

// More reports whether the packet was looked up in others, too.
func (l *Looks) More() bool {
	_, _, ran := l.At(NotedTables)
	return ran
}

// A NotedTable is one whose looks are noted.
type NotedTable struct {
	Name  string
	Stage uint32
}

// Noted returns the tables of a pipe whose looks are noted, each at its place.
func (c *Compiled) Noted(egress bool) []NotedTable {
	all := make([]NotedTable, 0, NotedTables)
	for i := range c.side(egress).tables {
		if t := &c.side(egress).tables[i]; len(t.parts) > 0 && t.place < NotedTables {
			all = append(all, NotedTable{t.name, uint32(t.stage)})
		}
	}
	return all
}

// place is where the looks into the next table are noted, which has so many fields in its key.
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
