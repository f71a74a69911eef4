package sairedis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// The objects that a client has made are compared in the background with ASIC_STATE. If a row differs, no request can
// correct it without a change of the ASIC. So the client counts as lost. The next client makes a new view, and syncd
// brings ASIC_STATE and the ASIC to that view.

// A given is an attribute that the client has set, with a digest of its value.
type given struct {
	attr sai.AttrID
	sum  uint64
}

// expected holds the objects that the client has made, and the attributes that it has set, also on other objects.
type expected map[sai.Key][]given

// set records attributes. Addresses of callbacks are meaningless to other processes, and are not compared.
func (b expected) set(k sai.Key, attrs ...sai.Attr) {
	k = plain(k)
	list := b[k]
	for _, a := range attrs {
		text, err := sai.FormatValue(a.ID, a.Value)
		if err != nil || sai.Meta(a.ID).Kind == sai.KindPointer {
			continue
		}
		g := given{a.ID, drift.SumOf(text)}
		if i := slices.IndexFunc(list, func(x given) bool { return x.attr == a.ID }); i >= 0 {
			list[i] = g
			continue
		}
		list = append(list, g)
	}
	b[k] = list
}

// plain returns the canonical form of a key.
func plain(k sai.Key) sai.Key {
	if k.Entry != nil {
		return sai.EntryKey(k.Entry)
	}
	return k
}

// Created records that an object was created.
func (g *guard) Created(k sai.Key, attrs []sai.Attr) {
	g.Validator.Created(k, attrs)
	g.expected.set(k, attrs...)
}

// Changed records that an attribute was set.
func (g *guard) Changed(k sai.Key, a sai.Attr) {
	g.Validator.Changed(k, a)
	g.expected.set(k, a)
}

// Compared returns the stage that compares the objects that the client has made with ASIC_STATE. If may is not nil and
// returns false, differences are only reported, and the client is not lost.
func (c *Client) Compared(may func() bool) drift.Stage {
	heal := func(ctx context.Context, drifted []drift.Finding) error {
		if may != nil && !may() {
			return nil
		}
		return c.healRows(ctx, drifted)
	}
	return drift.Stage{Name: string(swss.ASICDB), List: c.listRows, Look: c.lookAtRows, Heal: heal}
}

func (c *Client) listRows(ctx context.Context, _ drift.Keys) ([]string, error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	if c.inView {
		return nil, nil
	}
	names, err := c.asic.Client().Keys(ctx, protocol.ASICState+":*").Result()
	if err != nil {
		return nil, &swss.Error{DB: swss.ASICDB, Op: "keys", Err: err}
	}
	there := make(map[string]struct{}, len(names))
	for _, name := range names {
		there[name] = struct{}{}
	}
	for k := range c.check.expected {
		name := protocol.ASICState + ":" + sai.FormatKey(k)
		if _, ok := there[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (c *Client) lookAtRows(ctx context.Context, names []string) (found []drift.Finding, err error) {
	if err := c.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.release()
	var strange []string // rows of objects that the client has not made
	err = c.asic.ReadRows(ctx, names, func(i int, row swss.FieldValues, _ int64) {
		k, err := keyOfRow(names[i])
		list, made := c.check.expected[k]
		switch {
		case err == nil && made:
			if f, differs := differing(list, row); differs {
				f.Key = names[i]
				found = append(found, f)
			}
		case row != nil:
			strange = append(strange, names[i])
		}
	})
	if err != nil || c.inView {
		return nil, err
	}
	unowned, err := c.unowned(ctx, strange)
	for _, name := range unowned {
		found = append(found, drift.Finding{Key: name, What: "has no owner", Sum: drift.SumOf(name)})
	}
	return found, err
}

// keyOfRow decodes the key of a row of ASIC_STATE.
func keyOfRow(name string) (sai.Key, error) {
	if len(name) <= len(protocol.ASICState) {
		return sai.Key{}, fmt.Errorf("%.80q: want %s and a key", name, protocol.ASICState)
	}
	k, err := sai.ParseKey(name[len(protocol.ASICState)+1:])
	return plain(k), err
}

// differing compares a row with the attributes that were set.
func differing(list []given, row swss.FieldValues) (f drift.Finding, differs bool) {
	if row == nil {
		return drift.Finding{What: "is gone"}, true
	}
	for _, g := range list {
		if text, ok := row[g.attr.String()]; !ok || drift.SumOf(text) != g.sum {
			return drift.Finding{
				What: fmt.Sprintf("has another %s than it was given: %.60q", g.attr, text), Sum: drift.Sum(row) ^ g.sum,
			}, true
		}
	}
	return f, false
}

// unowned returns the rows of objects that neither the client nor the ASIC made. Objects that came with the switch
// and learned addresses are made by the ASIC.
func (c *Client) unowned(ctx context.Context, names []string) (list []string, err error) {
	var vids, at []string
	for _, name := range names {
		switch k, err := keyOfRow(name); {
		case err == nil && k.Entry == nil:
			vids, at = append(vids, k.OID.String()), append(at, name)
		case err == nil && protocol.KeyType(k) == sai.ObjectTypeFDBEntry:
		default:
			list = append(list, name)
		}
	}
	if len(vids) == 0 {
		return list, nil
	}
	rids, err := c.asic.Client().HMGet(ctx, protocol.KeyVIDToRID, vids...).Result()
	if err != nil {
		return nil, &swss.Error{DB: swss.ASICDB, Op: "read " + protocol.KeyVIDToRID, Err: err}
	}
	for i, rid := range rids {
		if rid == nil {
			list = append(list, at[i])
		}
	}
	return list, nil
}

// healRows makes this client lost, so that the next client makes a new view.
func (c *Client) healRows(ctx context.Context, drifted []drift.Finding) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	return c.lose(errors.New("ASIC_STATE is not what was made: " + drifted[0].Key + " " + drifted[0].What))
}
