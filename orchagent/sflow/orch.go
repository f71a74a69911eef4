// Package sflow makes SFLOW_SESSION_TABLE of APPL_DB into samplers of the ASIC: a SAMPLEPACKET object for each
// requested rate, and the ports that use it. Samples go to the trap sample_packet of package copp.
//
// What belongs here: samplers and their ports. Datagrams belong to sflowd.
package sflow

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is the view of ports that the orch needs. portsorch implements it.
type Ports interface {
	// Port returns a port's object.
	Port(name string) (oid sai.OID, lag string, ok bool)
	// Changes publishes the names of ports that were created or are about to be removed. The latter are no longer found
	// and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
}

// An Orch owns the samplers of the ASIC. All its methods run on the daemon's goroutine.
type Orch struct {
	api      sai.API
	log      *slog.Logger
	ports    Ports
	ledger   *orch.Ledger
	applied  bool               // whether the view of the ASIC is complete
	samplers map[uint32]sai.OID // by rate
	bound    map[portAttr]sai.OID
}

// A portAttr is the attribute of a port that holds the sampler of one direction.
type portAttr struct {
	port sai.OID
	attr sai.AttrID
}

// New registers the handler on the daemon.
func New(cfg Config) *Orch {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), ports: cfg.Ports,
		samplers: map[uint32]sai.OID{}, bound: map[portAttr]sai.OID{},
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass,
		orch.LedgerTable{Name: schema.AppSFlowSession})
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, _ []string) { o.ledger.ReconcileNow(ctx) })
	return o
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is created earlier. While a view
// is being made, capabilities cannot be read, and an unsupported object would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Reconcile(ctx)
}

// A plan is the target state of the rows.
type plan struct {
	rates map[portAttr]uint32
	rows  map[sai.OID]orch.RowKey // row of each existing port
}

func row(port string) orch.RowKey { return orch.Row(schema.AppSFlowSession, port) }

// plan computes the target state, and records the reason for each row that is not in it.
func (o *Orch) plan() plan {
	p := plan{map[portAttr]uint32{}, map[sai.OID]orch.RowKey{}}
	waits := orch.WaitView()
	for _, name := range o.ledger.Keys(schema.AppSFlowSession) {
		k := row(name)
		s, err := schema.ParseSFlowSampling(name, o.ledger.Rows[k])
		oid, _, there := o.ports.Port(name)
		if there {
			p.rows[oid] = k
		}
		switch {
		case err != nil:
		case !o.applied:
			err = waits
		case !there:
			err = orch.Wait("port", name, "no port %s", name)
		}
		if err != nil {
			o.ledger.Why[k] = err
		}
		if err != nil || o.ledger.Refused(k) {
			continue
		}
		for attr, is := range map[sai.AttrID]bool{
			sai.PortAttrIngressSamplepacketEnable: s.Received(), sai.PortAttrEgressSamplepacketEnable: s.Sent(),
		} {
			if is {
				p.rates[portAttr{oid, attr}] = s.Rate
			}
		}
	}
	return p
}

// pass brings the ASIC to the target state. A refusal changes the plan.
func (o *Orch) pass(ctx context.Context) error {
	var p plan
	for range o.ledger.Passes {
		p = o.plan()
		o.unbind(ctx, &p)
		o.bind(ctx, &p)
	}
	o.sweep(ctx)
	return nil
}

// unbind removes the sampler from ports that should have none. If it fails, the row of the port reports it.
func (o *Orch) unbind(ctx context.Context, p *plan) {
	for _, at := range sorted(o.bound) {
		if _, wanted := p.rates[at]; wanted {
			continue
		}
		err := o.api.Set(ctx, sai.Obj(sai.ObjectTypePort, at.port), sai.Attr{ID: at.attr, Value: sai.NullOID})
		if status, _ := sai.StatusOf(err); err != nil && status != sai.StatusItemNotFound {
			o.log.Error("a port is still sampled", "port", at.port.String(), "err", err)
			o.ledger.Again()
			if k, is := p.rows[at.port]; is && !o.ledger.Refused(k) {
				o.ledger.Why[k] = fmt.Errorf("the port is still sampled, which is tried again: %w", err)
			}
			continue
		}
		delete(o.bound, at)
	}
}

// bind sets the samplers of ports, and creates a sampler for the first port with its rate.
func (o *Orch) bind(ctx context.Context, p *plan) {
	for _, at := range sorted(p.rates) {
		rate, k := p.rates[at], p.rows[at.port]
		if o.ledger.Refused(k) {
			continue
		}
		oid, err := o.sampler(ctx, rate)
		if err == nil && o.bound[at] != oid {
			if err = o.api.Set(ctx, sai.Obj(sai.ObjectTypePort, at.port), sai.Attr{ID: at.attr, Value: oid}); err == nil {
				o.bound[at] = oid
			}
		}
		if err != nil {
			o.ledger.Fail(k, fmt.Sprintf("sample one in %d packets", rate), err)
		}
	}
}

// sampler returns the object of a rate, creating it if necessary.
func (o *Orch) sampler(ctx context.Context, rate uint32) (sai.OID, error) {
	if oid, ok := o.samplers[rate]; ok {
		return oid, nil
	}
	attrs := []sai.Attr{
		{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(rate)},
		{ID: sai.SamplepacketAttrType, Value: sai.SamplepacketTypeSlowPath},
		{ID: sai.SamplepacketAttrMode, Value: sai.SamplepacketModeExclusive},
	}
	oid, err := o.api.Create(ctx, sai.ObjectTypeSamplepacket, attrs)
	if err != nil {
		return sai.NullOID, orch.AtAttr(err, sai.ObjectTypeSamplepacket, attrs)
	}
	o.samplers[rate] = oid
	return oid, nil
}

// sweep removes the samplers that no port uses. A sampler that cannot be removed samples nothing.
func (o *Orch) sweep(ctx context.Context) {
	used := slices.Collect(maps.Values(o.bound))
	for _, rate := range slices.Sorted(maps.Keys(o.samplers)) {
		oid := o.samplers[rate]
		if slices.Contains(used, oid) {
			continue
		}
		err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeSamplepacket, oid))
		if err != nil && orch.Classify(err) != orch.Benign {
			o.log.Error("a sampler stays in the ASIC", "rate", rate, "err", err)
			o.ledger.Again()
			continue
		}
		delete(o.samplers, rate)
	}
}

func sorted[V any](m map[portAttr]V) []portAttr {
	return slices.SortedFunc(maps.Keys(m), func(a, b portAttr) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.attr, b.attr))
	})
}
