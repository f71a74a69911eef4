package collector

import (
	"encoding/binary"
	"net/netip"

	"tamtam/tam/libm"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// A packetKind holds the properties of packets that a switch should treat equally: ingress and destination. Their
// senders may differ.
type packetKind struct {
	in        uint16
	mac       [6]byte // destination MAC address
	vlan      uint16  // VLAN of the outermost tag, plus 1
	etherType uint16
	ip        netip.Addr // destination IP address
	protocol  uint8
	port      uint16 // lower of the two ports, which is the port of the service
}

// kind returns the kind of a recorded packet, as far as its frame was kept.
func (p *RecordedPacket) kind() packetKind {
	k := packetKind{in: p.InPort}
	copy(k.mac[:], p.Frame)
	for at, tags := 12, 0; len(p.Frame) >= at+2 && tags <= maxVLANTags; at, tags = at+4, tags+1 {
		k.etherType = binary.BigEndian.Uint16(p.Frame[at:])
		if k.etherType != etherCTag && k.etherType != etherSTag {
			break
		}
		if tags == 0 && len(p.Frame) >= at+4 {
			k.vlan = 1 + binary.BigEndian.Uint16(p.Frame[at+2:])&0xfff // zero means no tag
		}
	}
	if f, ok := p.Flow(); ok {
		k.ip, k.protocol, k.port = f.Destination, f.Protocol, min(f.SourcePort, f.DestPort)
	}
	return k
}

// A recordKey distinguishes records by their bits and by further knowledge about their packets.
type recordKey struct {
	bits     string
	reported recordplan.Knowledge
}

// A kindKey stands for packets of one kind with one record.
type kindKey struct {
	packetKind
	recordKey
}

// maxKinds is the maximum number of kindKeys per plan.
const maxKinds = 1 << 17

// atTable is the number of packets of a kind that reached a table's place, and of those that ran the table.
type atTable struct{ came, ran int64 }

// atTables returns the certain counts for each table of a plan and each kind.
func (c *planRecords) atTables() map[string]map[packetKind]atTable {
	sums := map[string]map[packetKind]atTable{}
	ids := c.decoder.Tables()
	results := map[recordKey][]recordplan.TableSays{}
	for k, n := range c.kinds {
		says, ok := results[k.recordKey]
		if !ok {
			says = c.decoder.TableResults([]byte(k.bits), c.asked(k.reported))
			results[k.recordKey] = says
		}
		last := lastRun(says)
		for i, s := range says {
			if s.Ran == recordplan.Maybe || i > last && k.reported.End != record.EndSent {
				continue
			}
			if sums[ids[i]] == nil {
				sums[ids[i]] = map[packetKind]atTable{}
			}
			a := sums[ids[i]][k.packetKind]
			a.came += n
			if s.Ran == recordplan.Always {
				a.ran += n
			}
			sums[ids[i]][k.packetKind] = a
		}
	}
	return sums
}

// lastRun returns the index of the last table that a packet certainly ran, or -1.
func lastRun(says []recordplan.TableSays) int {
	last := -1
	for i, s := range says {
		if s.Ran == recordplan.Always {
			last = i
		}
	}
	return last
}

// unlike evaluates a table that no packet runs now, while packets of the same kinds ran it before. It returns the
// probability of that, if chance decides which packets of a kind run the table (Fisher's exact test per kind), and the
// expected number of such packets.
func unlike(now, before map[packetKind]atTable) (expected, chance float64) {
	choose := func(n, k int64) float64 { // the logarithm of the binomial coefficient
		return libm.LogFactorial(int(n)) - libm.LogFactorial(int(k)) - libm.LogFactorial(int(n-k))
	}
	log := 0.0
	for k, n := range now {
		was := before[k]
		if was.came == 0 || n.came == 0 {
			continue
		}
		expected += float64(n.came) * float64(was.ran) / float64(was.came)
		all := was.came + n.came
		log += choose(all-was.ran, n.came) - choose(all, n.came)
	}
	return expected, libm.Exp(log)
}
