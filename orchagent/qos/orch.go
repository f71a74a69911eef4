// Package qos makes the QoS and buffer tables of APPL_DB into SAI objects: maps, schedulers, WRED profiles, buffer
// pools and buffer profiles. It sets the attributes of ports, queues and priority groups that refer to them. It also
// makes syncd poll the counters of queues, priority groups and pools into COUNTERS_DB, and clears their watermarks.
//
// What the ASIC holds is a function of the rows and of the existing ports. If an object must be recreated, the new one
// replaces the old one at all ports before the old one is removed. So no port is ever without it.
//
// What belongs here: the tables named in [tables], queues, and ingress priority groups. Scheduling algorithms and flow
// control belong to the ASIC.
package qos

import (
	"context"
	"log/slog"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is the view of ports that QoS needs. portsorch implements it.
type Ports interface {
	// Port returns a port's object and the LAG that it is a member of, or "" if it is not a member.
	Port(name string) (oid sai.OID, lag string, ok bool)
	// Names returns the names of all ports and LAGs, sorted.
	Names() []string
	// Changes publishes the names of ports and LAGs that were created, changed their membership, or are about to be
	// removed. The latter are no longer found and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Poller orch.Poller // polls the queue counters; nil means that they are not polled
	Switch sai.OID     // for reading the size of its memory when it refuses a pool
}

// tables contains the tables of APPL_DB. Each table follows the tables that it refers to.
var tables = []orch.LedgerTable{
	{Name: schema.AppDSCPToTC}, {Name: schema.AppDot1pToTC}, {Name: schema.AppTCToQueue}, {Name: schema.AppTCToPG},
	{Name: schema.AppTCToDSCP}, {Name: schema.AppPFCToQueue}, {Name: schema.AppPFCToPG},
	{Name: schema.AppScheduler}, {Name: schema.AppWRED}, {Name: schema.AppBufferPool}, {Name: schema.AppBufferProfile},
	{Name: schema.AppPortQoS}, {Name: schema.AppQueue}, {Name: schema.AppBufferQueue}, {Name: schema.AppBufferPG},
	{Name: schema.AppBufferIngress}, {Name: schema.AppBufferEgress},
}

// An Orch owns the QoS and buffer objects of the ASIC. All its methods run on
// the daemon's goroutine.
type Orch struct {
	api   sai.API
	log   *slog.Logger
	ports Ports
	chip  sai.OID // the switch

	ledger  *orch.Ledger
	applied bool // whether the view of the ASIC is complete
	trims   bool // whether buffer profiles of the ASIC can trim; known once applied is true
	objects map[orch.RowKey]*object
	garbage []sai.Key             // objects to be removed; each precedes the objects that it refers to
	bound   map[attrKey]sai.Value // values of attributes of ports, queues and priority groups
	queues  map[string]*portQueues
	unread  map[string]error // why the queues or priority groups of a port are unknown
	counts  *counts
	// poolChanges publishes what PoolChanges describes.
	poolChanges orch.Topic[[]string]

	period time.Duration // after which the periodic watermarks begin again
}

// An object is the object of a row in the ASIC, with its attributes.
type object struct {
	key   sai.Key
	attrs []sai.Attr
}

// An attrKey is an attribute of a port, queue or priority group that rows set.
type attrKey struct {
	key  sai.Key
	attr sai.AttrID
}

// portQueues are the queues and ingress priority groups of a port, by index.
type portQueues struct {
	port   sai.OID
	queues []queue
	groups []sai.OID // empty if the ASIC has none
}

type queue struct {
	oid  sai.OID
	kind sai.Enum // sai_queue_type_t
}

// New registers the handlers on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), ports: cfg.Ports, chip: cfg.Switch,
		objects: map[orch.RowKey]*object{}, bound: map[attrKey]sai.Value{}, queues: map[string]*portQueues{},
		unread: map[string]error{}, period: defaultPeriod,
	}
	var err error
	if o.counts, err = openCounts(ctx, cfg); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, tables...)
	orch.ConsumeFlexGroups(cfg.Daemon, o.counts.flush, o.counts.flexGroups()...)
	cfg.Daemon.AfterHold(o.counts.dropFormer)
	cfg.Daemon.Every(o.counts.retry, func(ctx context.Context, _ time.Time) error { return o.counts.flush(ctx) })
	o.serveWatermarks(cfg.Daemon, cfg.Redis)
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, _ []string) { o.ledger.ReconcileNow(ctx) })
	return o, nil
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is created earlier. While a view
// is being made, capabilities cannot be read, and an unsupported object would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	can, err := o.api.AttrCapability(ctx, sai.BufferProfileAttrPacketAdmissionFailAction)
	o.applied, o.trims = true, err == nil && can.Create && can.Set
	return o.ledger.Reconcile(ctx)
}

// pass brings the ASIC to the target state. A refusal changes the plan, and removals may have freed capacity, so there
// may be several rounds.
func (o *Orch) pass(ctx context.Context) error {
	o.readQueues(ctx)
	for range o.ledger.Passes {
		p := o.plan()
		o.makeObjects(ctx, p)
		o.bind(ctx, p)
		o.countPools(ctx, p)
		if o.collect(ctx, p) {
			o.ledger.Freed()
		}
	}
	return o.counts.flush(ctx)
}

// readQueues reads the queues of new ports. It forgets the queues of ports that were removed, or are about to be. If
// queues cannot be read, another pass tries it again soon.
func (o *Orch) readQueues(ctx context.Context) {
	there, failed := map[string]bool{}, o.unread
	o.unread = map[string]error{}
	for _, name := range o.ports.Names() {
		oid, _, ok := o.ports.Port(name)
		if !ok {
			continue // a LAG
		}
		there[name] = true
		if have := o.queues[name]; have != nil && have.port == oid {
			continue
		} else if have != nil {
			o.counts.removePort(name, have)
		}
		q, err := o.queuesOf(ctx, oid)
		if err != nil {
			if failed[name] == nil {
				o.log.Error("the queues and priority groups of a port are not known", "port", name, "err", err)
			}
			delete(o.queues, name)
			o.unread[name] = err
			o.ledger.Again()
			continue
		}
		o.queues[name] = q
		o.counts.addPort(name, q)
	}
	for name, q := range o.queues {
		if !there[name] {
			o.counts.removePort(name, q)
			delete(o.queues, name)
		}
	}
}

// maxQueues is the number of items in the buffer of the first read of a port's queues or priority groups.
const maxQueues = 16

// partsOf reads a list of a port's queues or priority groups.
func (o *Orch) partsOf(ctx context.Context, port sai.OID, id sai.AttrID) (sai.OIDs, error) {
	k := sai.Obj(sai.ObjectTypePort, port)
	got, err := o.api.Get(ctx, k, []sai.Attr{sai.Want(id, maxQueues)})
	if status, ok := sai.StatusOf(err); ok && status == sai.StatusBufferOverflow && len(got) == 1 {
		if n, ok := sai.ListLen(got[0].Value); ok {
			got, err = o.api.Get(ctx, k, []sai.Attr{sai.Want(id, n)})
		}
	}
	if err != nil {
		return nil, err
	}
	list, _ := got[0].Value.(sai.OIDs)
	return list, nil
}

func (o *Orch) queuesOf(ctx context.Context, port sai.OID) (*portQueues, error) {
	groups, err := o.partsOf(ctx, port, sai.PortAttrIngressPriorityGroupList)
	if err != nil && !sai.Unsupported(err) {
		return nil, err
	}
	list, err := o.partsOf(ctx, port, sai.PortAttrQoSQueueList)
	if err != nil {
		return nil, err
	}
	pq := &portQueues{port: port, queues: make([]queue, len(list)), groups: groups}
	for i, oid := range list {
		pq.queues[i] = queue{oid: oid, kind: sai.QueueTypeAll}
		got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeQueue, oid), []sai.Attr{sai.Want(sai.QueueAttrType, 0)})
		if err != nil {
			return nil, err
		}
		pq.queues[i].kind, _ = got[0].Value.(sai.Enum)
	}
	return pq, nil
}
