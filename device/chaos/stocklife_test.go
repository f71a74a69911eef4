package chaos

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/redis/sairedistest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// lifeVariable holds the number of minutes of TestStockLife.
const lifeVariable = "TAMTAM_STOCK_LIFE"

// settleTime is the time within which the chip must be as the rows ask.
const settleTime = 3 * time.Minute

// A stockLife is a switch with SONiC's orchagent whose rows change at random, and which suffers faults.
type stockLife struct {
	*foreignSwitch
	stockRows
	proxy *swsstest.Proxy // syncd's connection to Redis
	log   []string        // the events so far
	done  map[string]int  // the number of events by kind
	asked *refusals
}

// refusals collects the refused changes of the chip, and views, from a recording.
type refusals struct {
	mu   sync.Mutex
	list []string
}

// Write receives exchanges, always whole ones.
func (r *refusals) Write(p []byte) (int, error) {
	list, err := protocol.ParseExchanges(string(p))
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range list {
		switch e.Request.Op {
		case "Screate", "Dremove", "Sset", "Sbulkcreate", "Sbulkremove", "Sbulkset", "Snotify":
			if !strings.HasPrefix(e.Answer.Key, sai.StatusSuccess.String()) {
				r.list = append(r.list, e.String())
			}
		}
	}
	return len(p), nil
}

// taken returns the refusals since the last call.
func (r *refusals) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// Random life of SONiC's orchagent on our syncd and chip: rows are added, changed and removed, links are cut, orchagent
// restarts warm and cold, orchagent and syncd are killed, Redis loses its content. After each event the chip equals one
// that was started with the same rows, packets leave as the rows ask, orchagent lives, and syncd has refused nothing.
// TAMTAM_STOCK_LIFE is the duration in minutes; each seed has a share of it.
func TestStockLife(t *testing.T) {
	if os.Getenv(orchagentVariable) == "" || os.Getenv(lifeVariable) == "" {
		t.Skipf("%s names no program that is SONiC's orchagent, or %s no number of minutes", orchagentVariable, lifeVariable)
	}
	minutes, err := strconv.ParseFloat(os.Getenv(lifeVariable), 64)
	if err != nil || minutes <= 0 {
		t.Fatalf("%s is %q, want a number of minutes above 0", lifeVariable, os.Getenv(lifeVariable))
	}
	const share = 20 * time.Minute
	whole := time.Duration(minutes * float64(time.Minute))
	fixed := randtest.Cases{Seed: 1, Count: int((whole + share - 1) / share)}
	randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		end := time.Now().Add(min(whole, share))
		s := startLife(t, rand.New(rand.NewPCG(seed, 43)))
		for n := 1; time.Now().Before(end); n++ {
			s.event()
			s.check(strconv.Itoa(n))
		}
	})
}

func startLife(t *testing.T, rnd *rand.Rand) *stockLife {
	s := &stockLife{done: map[string]int{}, asked: &refusals{}}
	log, err := os.Create(filepath.Join(t.ArtifactDir(), "syncd.log"))
	devicetest.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	common := daemons.Common{Log: slog.New(slog.NewTextHandler(log, nil))}
	s.foreignSwitch = newForeign(t, daemons.ChipConfig{Record: s.asked}, common, "-s")
	s.stockRows = stockRows{Rand: rnd, rows: map[string]*stockRow{}, cut: s.lines.cut, put: func(*stockRow) {},
		drop: func(*stockRow) {}}
	s.ground()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("events:\n%s", strings.Join(s.log, "\n"))
		}
		for _, kind := range slices.Sorted(maps.Keys(s.done)) {
			t.Logf("%d %s", s.done[kind], kind)
		}
	})
	s.startSyncd()
	s.metadata()
	s.foreignSwitch.start()
	s.fill(s.sorted())
	s.put, s.drop = s.foreignSwitch.give, s.foreignSwitch.withdraw
	s.idle()
	s.check("the start")
	return s
}

// startSyncd starts syncd with a connection to Redis that can be cut.
func (s *stockLife) startSyncd() {
	s.proxy = swsstest.StartProxy(s.T, s.server.Addr)
	r, err := swss.Open(s.Context(), s.proxy.Addr)
	devicetest.NoError(s.T, err)
	s.Cleanup(func() { r.Close() })
	s.stops["syncd"] = s.foreignSwitch.syncd(r)
}

// give writes a row, or that of CONFIG_DB from which a manager makes it.
func (s *foreignSwitch) give(r *stockRow) {
	s.Helper()
	s.state(r, true)
	if c := r.configured(); c != nil && len(s.managers) > 0 {
		r = c
	}
	s.writeRow(r)
}

// withdraw removes a row. It waits until a manager has passed that on, so that no other row overtakes it.
func (s *foreignSwitch) withdraw(r *stockRow) {
	s.Helper()
	s.state(r, false)
	c := r.configured()
	if c == nil || len(s.managers) == 0 {
		s.removeRow(r)
		return
	}
	s.removeRow(c)
	s.within(settleTime, "a manager removes "+r.id(), func() bool { s.alive(); return s.given(r) })
}

// writeRow writes a row.
func (s *foreignSwitch) writeRow(r *stockRow) {
	s.Helper()
	if r.db == swss.ApplDB {
		s.writeAppl(r)
		return
	}
	db, key := s.redis.DB(swss.ConfigDB).Client(), r.table+"|"+r.key
	old, err := db.HKeys(s.Context(), key).Result()
	devicetest.NoError(s.T, err)
	devicetest.NoError(s.T, db.HSet(s.Context(), key, map[string]string(r.fields)).Err())
	for _, field := range old {
		if _, kept := r.fields[field]; !kept {
			devicetest.NoError(s.T, db.HDel(s.Context(), key, field).Err())
		}
	}
}

func (s *foreignSwitch) writeAppl(rows ...*stockRow) {
	s.Helper()
	var list []swss.Row
	for _, r := range rows {
		row := swss.Row{Key: r.key}
		for _, field := range slices.Sorted(maps.Keys(r.fields)) {
			row.Fields = append(row.Fields, swss.Pair{Field: field, Value: r.fields[field]})
		}
		list = append(list, row)
	}
	devicetest.NoError(s.T, swss.NewProducerState(s.redis.DB(swss.ApplDB), rows[0].table).SetMany(s.Context(), list))
}

// removeRow removes a row.
func (s *foreignSwitch) removeRow(r *stockRow) {
	s.Helper()
	if r.db == swss.ApplDB {
		devicetest.NoError(s.T, swss.NewProducerState(s.redis.DB(swss.ApplDB), r.table).Del(s.Context(), r.key))
		return
	}
	devicetest.NoError(s.T, s.redis.DB(swss.ConfigDB).Client().Del(s.Context(), r.table+"|"+r.key).Err())
}

// fill writes all rows to a switch whose orchagent has just started.
func (s *foreignSwitch) fill(rows []*stockRow) {
	s.Helper()
	for _, r := range rows {
		if r.db == swss.ConfigDB {
			s.writeRow(r)
		}
	}
	s.within(stockPatience, "the switch exists", func() bool { s.alive(); return len(s.asicKeys("SWITCH:*")) == 1 })
	ports := 0
	for _, r := range rows {
		if r.table == "PORT_TABLE" {
			s.writeRow(r)
			ports++
		}
	}
	s.appl("PORT_TABLE", "PortConfigDone", fmt.Sprint("count=", ports))
	s.within(stockPatience, "host interfaces", func() bool { s.alive(); return len(s.asicKeys("HOSTIF:*")) >= ports })
	s.appl("PORT_TABLE", "PortInitDone", "lanes=0")
	s.startManagers()
	for _, r := range rows {
		if r.db == swss.ApplDB {
			s.give(r)
		}
	}
}

// note logs and counts an event.
func (s *stockLife) note(kind, what string) {
	s.log = append(s.log, time.Now().UTC().Format("15:04:05.000 ")+kind+": "+what)
	s.done[kind]++
}

// event lets one thing happen.
func (s *stockLife) event() {
	s.Helper()
	switch s.IntN(21) {
	case 0:
		s.flaps()
	case 8:
		s.changes(1 + s.IntN(10))
		s.restartManagers()
	case 1:
		s.changes(s.IntN(4)) // while orchagent is down, as its managers go on
		s.warm()
	case 2:
		s.cold("cold restart of orchagent")
	case 3:
		s.changes(1 + s.IntN(10))
		s.cold("kill -9 of orchagent amid changes")
	case 4:
		s.changes(1 + s.IntN(10))
		s.killSyncd("kill of syncd amid changes")
	case 5:
		s.killSyncd("kill of syncd")
	case 6:
		s.killSyncd("kill of both")
		s.cold("kill of both")
	case 7:
		s.empty()
	default:
		s.changes(1 + s.IntN(20))
	}
}

func (s *stockLife) changes(n int) {
	for range n {
		s.note("rows added, changed, removed", s.change())
	}
}

// flaps cuts some links and connects others.
func (s *stockLife) flaps() {
	for range 1 + s.IntN(5) {
		s.lines.mu.Lock()
		what := s.flap()
		s.lines.mu.Unlock()
		s.note("links flapped", what)
	}
}

// restartManagers kills the managers amid their work. They begin again with all rows.
func (s *stockLife) restartManagers() {
	s.Helper()
	if len(s.managers) > 0 {
		s.note("kill -9 of the managers amid changes", "")
		s.killManagers()
		s.startManagers()
	}
}

// warm restarts orchagent warm, once it has done what the rows ask, as SONiC's orchagent_restart_check waits for.
func (s *stockLife) warm() {
	s.Helper()
	s.note("warm restarts of orchagent", "")
	s.idle()
	state := s.redis.DB(swss.StateDB).Client()
	devicetest.NoError(s.T, state.HSet(s.Context(), "WARM_RESTART_ENABLE_TABLE|swss", "enable", "true").Err())
	s.kill()
	// The count of restarts stays in the row: without it orchagent starts cold.
	devicetest.NoError(s.T, state.HDel(s.Context(), "WARM_RESTART_TABLE|orchagent", "state").Err())
	s.foreignSwitch.start()
	s.within(settleTime, "the warm restart is complete", func() bool {
		s.alive()
		return state.HGet(s.Context(), "WARM_RESTART_TABLE|orchagent", "state").Val() == "reconciled"
	})
	devicetest.NoError(s.T, state.Del(s.Context(), "WARM_RESTART_ENABLE_TABLE|swss").Err())
}

// idle waits until orchagent has taken all rows and asks for nothing.
func (s *stockLife) idle() {
	s.Helper()
	last, since := "", time.Now()
	s.within(settleTime, "orchagent is idle", func() bool {
		s.alive()
		view, err := sairedistest.CanonicalView(s.Context(), s.redis)
		if err != nil || view != last || s.pending() {
			last, since = view, time.Now()
		}
		return time.Since(since) > time.Second
	})
}

// pending reports whether a row of APPL_DB waits for orchagent.
func (s *stockLife) pending() bool {
	keys, err := s.redis.DB(swss.ApplDB).Client().Keys(s.Context(), "*_KEY_SET").Result()
	return err != nil || len(keys) > 0
}

// cold kills orchagent and starts it again, as SONiC's service swss does: the managers write their rows again.
func (s *stockLife) cold(kind string) {
	s.Helper()
	s.note(kind, "")
	s.kill()
	s.killManagers()
	for _, db := range []swss.DBName{swss.ApplDB, swss.CountersDB, swss.FlexCounterDB, swss.StateDB} {
		devicetest.NoError(s.T, s.redis.DB(db).Client().FlushDB(s.Context()).Err())
	}
	s.foreignSwitch.start()
	s.fill(s.sorted())
}

// killSyncd ends syncd at once: nothing that it does after the connections are cut reaches Redis, and its chip is gone.
func (s *stockLife) killSyncd(kind string) {
	s.Helper()
	s.note(kind, "")
	s.proxy.Forget()
	s.stops["syncd"]()
	s.startSyncd()
}

// empty empties Redis, in one of several ways, and starts orchagent again, whose memory no longer fits.
func (s *stockLife) empty() {
	s.Helper()
	s.killManagers()
	if s.IntN(2) == 0 {
		s.note("Redis killed and started empty", "")
		s.server.Kill()
		s.server.Start()
	} else {
		s.note("Redis emptied", "")
		devicetest.NoError(s.T, s.redis.DB(swss.ConfigDB).Client().FlushAll(s.Context()).Err())
	}
	s.kill()
	s.metadata()
	s.foreignSwitch.start()
	s.fill(s.sorted())
}

// check compares the chip with one that was started with the same rows, and sends packets.
func (s *stockLife) check(n string) {
	s.Helper()
	before := s.T
	defer func() { s.T = before }()
	if !before.Run(n, func(t *testing.T) {
		fresh := startForeign(t, daemons.ChipConfig{}, daemons.Common{}, "-s")
		fresh.unmanaged = true
		fresh.lines.cut = maps.Clone(s.cut)
		fresh.fill(s.sorted())
		s.T = t
		var diff string
		start := time.Now()
		for since := time.Now(); ; <-time.After(200 * time.Millisecond) {
			s.alive()
			fresh.alive()
			want, err1 := sairedistest.CanonicalView(t.Context(), fresh.redis)
			got, err2 := sairedistest.CanonicalView(t.Context(), s.redis)
			if errors.Join(err1, err2) != nil {
				diff = errors.Join(err1, err2).Error()
			} else {
				diff = cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
			}
			if diff != "" {
				since = time.Now()
			}
			if time.Since(since) > time.Second || time.Since(start) > settleTime {
				break
			}
		}
		if diff != "" {
			t.Errorf("the chip (+) is not as after a start with the same rows (-):\n%s", diff)
		}
		s.chipIsASIC()
		s.traffic()
		if list := s.asked.taken(); len(list) > 0 {
			t.Errorf("refused:\n%s", strings.Join(list, "\n"))
		}
	}) {
		before.FailNow()
	}
}

// chipIsASIC checks that each attribute in ASIC_DB is that of the chip.
func (s *stockLife) chipIsASIC() {
	s.Helper()
	db := s.redis.DB(swss.ASICDB)
	var bad error
	own := func(sai.OID) bool { return false }
	g, err := asicview.ReadView(s.Context(), db, own, func(e error) { bad = errors.Join(bad, e) })
	devicetest.NoError(s.T, errors.Join(err, bad))
	rids, err := db.Client().HGetAll(s.Context(), protocol.KeyVIDToRID).Result()
	devicetest.NoError(s.T, err)
	real := func(o sai.OID) sai.OID {
		if rid, err := sai.ParseOID(rids[o.String()]); err == nil {
			return rid
		}
		return sai.NullOID
	}
	chip, count := s.liveSwitch.chip.Load(), 0
	for _, n := range g.Sorted() {
		k := n.Key
		if k.Entry != nil {
			k.Entry = sai.MapEntry(k.Entry, real)
		} else {
			k.OID = real(k.OID)
		}
		for _, a := range n.SortedAttrs() {
			if sai.Meta(a.ID).Kind == sai.KindPointer {
				continue
			}
			want := sai.MapOIDs(a.Value, real)
			got, err := chip.Get(s.Context(), k, []sai.Attr{{ID: a.ID, Value: want}})
			if err != nil {
				s.Errorf("%s %s: %v", n.Key, a.ID, err)
				continue
			}
			count++
			is, err1 := sai.FormatValue(a.ID, got[0].Value)
			should, err2 := sai.FormatValue(a.ID, want)
			if err := errors.Join(err1, err2); err != nil || is != should {
				s.Errorf("%s %s is %s in the chip, %s in ASIC_DB (%v)", n.Key, a.ID, is, should, err)
			}
		}
	}
	s.done["attributes of the chip compared"] += count
}

// A probe is a frame and its fate.
type probe struct {
	what   string
	to     []string // the addresses of which one gets it; empty if it is dropped or punted
	copied string   // the collector that gets a copy, "" if none
	id     uint64
}

// traffic sends packets and checks where they leave.
func (s *stockLife) traffic() {
	s.Helper()
	for _, e := range s.endpoints() {
		if port, tag, ok := s.host(e); ok {
			s.send(port, stockFrame(e.mac, "ff:ff:ff:ff:ff:ff", tag, e.ip, e.ip), 1) // the VLAN learns where it is
		}
	}
	var probes []probe
	intfs := s.addresses()
	for range 40 {
		at, ok := pick(s.Rand, intfs)
		if !ok {
			return
		}
		name, prefix, _ := strings.Cut(at.key, ":")
		port, tag, ok := s.entry(name)
		if !ok {
			continue
		}
		src := netip.MustParsePrefix(prefix).Addr().Next().Next().Next().Next().Next().Next().Next().Next()
		dst := fmt.Sprintf("20.%d.%d.9", s.IntN(7), s.IntN(4))
		if src.Is6() {
			dst = fmt.Sprintf("2001:db8:%x:%x::9", s.IntN(7), s.IntN(4))
		}
		if e, ok := pick(s.Rand, s.endpoints()); ok && s.IntN(4) == 0 && strings.Contains(e.ip, ":") == src.Is6() {
			dst = e.ip
		}
		p := probe{what: fmt.Sprintf("%s of %s at %s to %s", src, name, port, dst)}
		var known bool
		if p.to, known = s.target(name, port, dst); !known {
			continue
		}
		p.copied = s.collector(s.bound(port), netip.MustParseAddr(dst))
		p.id = s.send(port, stockFrame("02:00:00:00:ff:09", stockMAC, tag, src.String(), dst), 1)
		probes = append(probes, p)
	}
	s.lines.mu.Lock()
	from := s.lines.rounds
	s.lines.mu.Unlock()
	start := time.Now()
	s.within(settleTime, "the chip has sent what it received", func() bool {
		s.lines.mu.Lock()
		defer s.lines.mu.Unlock()
		return len(s.lines.toSend) == 0 && s.lines.rounds > from+20 && time.Since(start) > 100*time.Millisecond
	})
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	for _, p := range probes {
		s.arrivedAsAsked(p, strings.Fields(strings.ReplaceAll(s.lines.sent[p.id], "to ", "")))
	}
}

// arrivedAsAsked checks the addresses to which a probe and its copies have left.
func (s *stockLife) arrivedAsAsked(p probe, got []string) {
	s.Helper()
	if i := slices.Index(got, p.copied); i >= 0 {
		got = slices.Delete(got, i, i+1)
		s.done["packets mirrored as the rows ask"]++
	} else if p.copied != "" {
		s.Errorf("a packet from %s left to %q, want a copy to %s", p.what, got, p.copied)
	}
	switch {
	case len(p.to) == 0 && len(got) > 0, len(p.to) > 0 && (len(got) != 1 || !slices.Contains(p.to, got[0])):
		s.Errorf("a packet from %s left to %q, want one of %v", p.what, got, p.to)
	case len(got) == 0:
		s.done["packets dropped or punted as the rows ask"]++
	default:
		s.done["packets forwarded as the rows ask"]++
	}
}

// entry returns a port, and the VLAN tag, by which a packet reaches a router interface.
func (s *stockLife) entry(intf string) (port string, tag uint16, ok bool) {
	switch {
	case strings.HasPrefix(intf, "Ethernet"):
		return intf, 0, s.up(intf)
	case strings.HasPrefix(intf, "PortChannel"):
		for _, m := range s.of("LAG_MEMBER_TABLE") {
			if lag, member, _ := strings.Cut(m.key, ":"); lag == intf && m.fields["status"] == "enabled" {
				return member, 0, true
			}
		}
		return "", 0, false
	}
	vid, _ := strconv.ParseUint(strings.TrimPrefix(intf, "Vlan"), 10, 16)
	for _, m := range s.of("VLAN_MEMBER_TABLE") {
		vlan, member, _ := strings.Cut(m.key, ":")
		if vlan != intf {
			continue
		}
		if port, _, ok := s.entry(member); ok {
			if m.fields["tagging_mode"] == "tagged" {
				return port, uint16(vid), true
			}
			return port, 0, true
		}
	}
	return "", 0, false
}

// host returns where a neighbour is in its VLAN; false if it is at no VLAN or cannot be reached.
func (s *stockLife) host(e endpoint) (port string, tag uint16, ok bool) {
	if !strings.HasPrefix(e.intf, "Vlan") {
		return "", 0, false
	}
	return s.entry(e.intf)
}

// target returns the addresses of which one gets a packet to dst that enters a router interface by a port, and none if
// it is dropped. It returns false if the rows do not determine the fate.
func (s *stockLife) target(intf, port, dst string) (macs []string, known bool) {
	addr := netip.MustParseAddr(dst)
	if rule := s.rule(s.bound(port), addr, "PACKET_ACTION"); rule != nil && rule.fields["PACKET_ACTION"] == "DROP" {
		return nil, true
	}
	vrf := s.vrf(intf)
	var hops []endpoint
	best := -1
	for _, r := range s.of("ROUTE_TABLE") {
		at, prefix, named := strings.Cut(r.key, ":")
		if !named || !strings.HasPrefix(at, "Vrf") {
			at, prefix = "", r.key
		}
		p := netip.MustParsePrefix(prefix)
		if at != vrf || !p.Contains(addr) || p.Bits() < best {
			continue
		}
		best, hops = p.Bits(), nil
		for _, e := range s.endpoints() {
			if slices.Contains(r.needs, e.id) {
				hops = append(hops, e)
			}
		}
	}
	for _, r := range s.addresses() {
		name, prefix, _ := strings.Cut(r.key, ":")
		if s.vrf(name) != vrf || !netip.MustParsePrefix(prefix).Contains(addr) {
			continue
		}
		hops = nil
		for _, e := range s.endpoints() {
			if e.ip == dst {
				hops = append(hops, e)
			}
		}
	}
	for _, e := range hops {
		if _, _, ok := s.entry(e.intf); ok {
			macs = append(macs, e.mac)
		} else if !strings.HasPrefix(e.intf, "Ethernet") && len(hops) > 1 {
			return nil, false // an ECMP group keeps a member whose VLAN or LAG has no port
		}
		if e.intf == intf && strings.HasPrefix(intf, "Vlan") {
			return nil, false // back to where it came from
		}
	}
	return macs, true
}

// bound returns the LAG of a port, or the port if it has none.
func (s *stockLife) bound(port string) string {
	for _, m := range s.of("LAG_MEMBER_TABLE") {
		if lag, member, _ := strings.Cut(m.key, ":"); member == port {
			return lag
		}
	}
	return port
}

// rule returns the rule with an action that packets from a port or LAG to an address match; nil if there is none.
func (s *stockLife) rule(bound string, dst netip.Addr, action string) (best *stockRow) {
	for _, table := range s.of("ACL_TABLE") {
		if !slices.Contains(strings.Split(table.fields["ports@"], ","), bound) {
			continue
		}
		for _, r := range s.of("ACL_RULE") {
			if !strings.HasPrefix(r.key, table.key+"|") || r.fields[action] == "" ||
				!netip.MustParsePrefix(r.fields[dstField(table)]).Contains(dst) {
				continue
			}
			if best == nil || r.fields["PRIORITY"] > best.fields["PRIORITY"] { // all have three digits
				best = r
			}
		}
	}
	return best
}

// collector returns the address that gets a copy of packets from a port or LAG to an address, "" if none does.
func (s *stockLife) collector(bound string, dst netip.Addr) string {
	const action = "MIRROR_INGRESS_ACTION"
	rule := s.rule(bound, dst, action)
	if rule == nil {
		return ""
	}
	host := s.rows["MIRROR_SESSION|"+rule.fields[action]].fields["dst_ip"]
	for _, e := range s.endpoints() {
		if e.ip == host && e.vrf == "" && s.up(e.intf) {
			return e.mac
		}
	}
	return ""
}

// stockFrame returns a frame of UDP, with a VLAN tag unless it is 0.
func stockFrame(src, dst string, tag uint16, from, to string) []byte {
	mac := func(text string) net.HardwareAddr { m, _ := net.ParseMAC(text); return m }
	var ip interface {
		gopacket.NetworkLayer
		gopacket.SerializableLayer
	} = &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.ParseIP(from).To4(),
		DstIP: net.ParseIP(to).To4()}
	kind := layers.EthernetTypeIPv4
	if strings.Contains(to, ":") {
		ip = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: net.ParseIP(from),
			DstIP: net.ParseIP(to)}
		kind = layers.EthernetTypeIPv6
	}
	eth := &layers.Ethernet{SrcMAC: mac(src), DstMAC: mac(dst), EthernetType: kind}
	list := []gopacket.SerializableLayer{eth}
	if tag != 0 {
		eth.EthernetType = layers.EthernetTypeDot1Q
		list = append(list, &layers.Dot1Q{VLANIdentifier: tag, Type: kind})
	}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	_ = udp.SetNetworkLayerForChecksum(ip)
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	list = append(list, ip, udp, gopacket.Payload(make([]byte, 40)))
	if err := gopacket.SerializeLayers(buf, opts, list...); err != nil {
		panic(err) // all inputs are valid
	}
	return buf.Bytes()
}
