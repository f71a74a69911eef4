package tammgr

import (
	"fmt"
	"net/netip"

	"tamtam/swss/schema"
)

// recording is a row of TAM_TABLERECORD_TABLE.
type recording struct{ schema.RecordSession }

func (s recording) refs() refs {
	return refs{group: s.FlowGroup, collectors: []string{s.Collector}, sampler: s.Sampler}
}

func (s recording) collector(m *Manager) (schema.Collector, bool) {
	c, missing := m.collector(s.Collector)
	return c, missing == nil
}

// check requires the sampler, and a collector that accepts records in the form in which they are mirrored.
func (s recording) check(m *Manager) (wrong string, lacks []string) {
	if c, ok := s.collector(m); ok && c.Protocol != schema.ProtocolUDP {
		return fmt.Sprintf("collector %q: protocol %q: want %s: records are sent as they are mirrored",
			s.Collector, c.Protocol, schema.ProtocolUDP), nil
	} else if ok && s.Source.IsValid() && s.Source.Is4() != c.Addr.Is4() {
		return fmt.Sprintf("source-ip %q: want an address of the same version as that of collector %q, %s",
			s.Source, s.Collector, c.Addr), nil
	}
	_, lacks = m.collector(s.Collector)
	if s.Sampler != "" {
		lacks = append(lacks, m.missing(kindSampler, "sampler", s.Sampler)...)
	}
	return "", lacks
}

func (s recording) appl(m *Manager, rule schema.ACLRuleKey) map[string]string {
	flow := schema.RecordFlow{
		Name: s.Name, Rule: rule, Sampling: 1, CollectorName: s.Collector, SamplerName: s.Sampler,
		RecordSettings: s.RecordSettings,
	}
	if r, ok := m.valid(kindSampler, s.Sampler).(plain[schema.Sampler]); ok {
		flow.Sampling = r.row.Rate
	}
	c, _ := s.collector(m)
	flow.Collector = netip.AddrPortFrom(c.Addr, c.Port)
	return flow.Fields()
}
