// Package switchhash makes SWITCH_HASH_TABLE of APPL_DB into the fields and algorithms of the ASIC's two flow hashes:
// the one that chooses a next hop of a group, and the one that chooses a port of a LAG. It writes to STATE_DB which
// fields and algorithms are possible, as SONiC's orchagent does.
//
// Without a row, a hash covers the default fields of [schema.DefaultSwitchHash], as far as the ASIC has them. These are
// always set: an ASIC that was left by a former process may have others.
//
// What belongs here: fields and algorithms of these hashes. Their seeds belong to package ports.
package switchhash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Switch sai.OID
}

// An Orch owns the two flow hashes of the ASIC. All its methods run on the daemon's goroutine.
type Orch struct {
	api      sai.API
	switchID sai.OID
	fields   choice // fields that a hash can cover
	hashes   [2]hash
	begun    bool // true once the fields of both hashes are known
}

// A choice holds what an attribute can be set to.
type choice struct {
	able  bool     // true if the attribute can be set
	names []string // values; nil means that the ASIC does not report them, so that all may be possible
}

// A hash is one of the two flow hashes.
type hash struct {
	oid        sai.OID // its HASH object; zero if its fields cannot be set
	algorithms choice

	fields    []string // as in the ASIC; nil if that is not known
	algorithm string   // as in the ASIC
}

// A kind has the names of a hash.
type kind struct {
	fields, algorithm      string     // fields of the row
	object, attr           sai.AttrID // attributes of the switch: its HASH object and its algorithm
	able, names, namesAble string     // fields of SWITCH_CAPABILITY
	read                   func(h *schema.SwitchHash) (fields *[]string, algorithm *string)
}

func kinds() [2]kind {
	return [2]kind{
		{"ecmp_hash", "ecmp_hash_algorithm", sai.SwitchAttrEcmpHash, sai.SwitchAttrEcmpDefaultHashAlgorithm,
			schema.FieldECMPHashCapable, schema.FieldECMPAlgorithms, schema.FieldECMPAlgorithmsCapable,
			func(h *schema.SwitchHash) (*[]string, *string) { return &h.ECMP, &h.ECMPAlgorithm }},
		{"lag_hash", "lag_hash_algorithm", sai.SwitchAttrLAGHash, sai.SwitchAttrLAGDefaultHashAlgorithm,
			schema.FieldLAGHashCapable, schema.FieldLAGAlgorithms, schema.FieldLAGAlgorithmsCapable,
			func(h *schema.SwitchHash) (*[]string, *string) { return &h.LAG, &h.LAGAlgorithm }},
	}
}

// Prefixes of SAI's names.
const (
	fieldPrefix     = "SAI_NATIVE_HASH_FIELD_"
	algorithmPrefix = "SAI_HASH_ALGORITHM_"
)

// New reads what the ASIC can do, writes that to STATE_DB, and registers the handler on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{api: cfg.SAI, switchID: cfg.Switch}
	o.fields = o.choice(ctx, sai.HashAttrNativeHashFieldList, fieldPrefix)
	can := swss.FieldValues{schema.FieldHashFields: o.fields.text()}
	for i, k := range kinds() {
		h := &o.hashes[i]
		h.algorithm = schema.DefaultHashAlgorithm // that of SAI
		h.algorithms = o.choice(ctx, k.attr, algorithmPrefix)
		c, err := o.api.AttrCapability(ctx, k.object)
		if err == nil && c.Get && o.fields.able {
			got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, o.switchID), []sai.Attr{sai.Want(k.object, 0)})
			if err == nil {
				h.oid, _ = got[0].Value.(sai.OID)
			}
		}
		can[k.able], can[k.names], can[k.namesAble] = fmt.Sprint(h.oid != sai.NullOID), h.algorithms.text(),
			fmt.Sprint(h.algorithms.able)
	}
	if err := cfg.Daemon.Fix(ctx, schema.StateSwitchCap, schema.SwitchKey, can); err != nil {
		return nil, err
	}
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, cfg.Redis.DB(swss.ApplDB), schema.AppSwitchHash)
	}, schema.AppSwitchHash, orch.Each(o.handle), orch.Reporting{StateTable: schema.AppSwitchHash})
	cfg.Daemon.AfterRows(func() bool { return !o.begun }, func(ctx context.Context) error {
		o.begun = true
		return o.apply(ctx, schema.DefaultSwitchHash())
	})
	return o, nil
}

// choice reads what an attribute can be set to.
func (o *Orch) choice(ctx context.Context, id sai.AttrID, prefix string) (c choice) {
	can, err := o.api.AttrCapability(ctx, id)
	c.able = err == nil && can.Set
	values, err := o.api.EnumCapability(ctx, id)
	if err != nil {
		return c
	}
	slices.Sort(values)
	c.names = []string{}
	for _, v := range values {
		if name, ok := strings.CutPrefix(sai.EnumName(id, v), prefix); ok {
			c.names = append(c.names, name)
		}
	}
	return c
}

// text returns the values as in SWITCH_CAPABILITY.
func (c choice) text() string {
	if c.names == nil {
		return schema.SwitchHashUnknown
	}
	return strings.Join(c.names, ",")
}

// has reports whether a value is possible.
func (c choice) has(name string) bool { return c.names == nil || slices.Contains(c.names, name) }

// check returns an error if one of the values of a field of the row is not possible.
func (c choice) check(field string, values ...string) error {
	if !c.able {
		return fmt.Errorf("%s %q: the ASIC cannot change it, want no such field", field, strings.Join(values, ","))
	}
	for _, v := range values {
		if !c.has(v) {
			return fmt.Errorf("%s %q: the ASIC does not support it, want %s", field, v, strings.Join(c.names, ", "))
		}
	}
	return nil
}

// handle applies the row. If it is deleted or cannot be applied, the defaults hold.
func (o *Orch) handle(ctx context.Context, t orch.Task) error {
	if t.Key != schema.SwitchHashKey {
		return nil
	}
	o.begun = true
	want, err := schema.DefaultSwitchHash(), error(nil)
	if t.Op == orch.Set {
		if want, err = schema.ParseSwitchHash(t.Key, t.Fields); err == nil {
			err = o.check(want)
		}
		if err != nil {
			want = schema.DefaultSwitchHash()
		}
	}
	return errors.Join(err, o.apply(ctx, want))
}

// check returns why the ASIC cannot have a hash. The defaults are always possible.
func (o *Orch) check(want schema.SwitchHash) error {
	usual, errs := schema.DefaultSwitchHash(), []error{}
	for i, k := range kinds() {
		h := &o.hashes[i]
		fields, algorithm := k.read(&want)
		usualFields, usualAlgorithm := k.read(&usual)
		if !slices.Equal(*fields, *usualFields) {
			errs = append(errs, choice{h.oid != sai.NullOID, o.fields.names}.check(k.fields, *fields...))
		}
		if *algorithm != *usualAlgorithm {
			errs = append(errs, h.algorithms.check(k.algorithm, *algorithm))
		}
	}
	return errors.Join(errs...)
}

// apply sets the attributes that differ.
func (o *Orch) apply(ctx context.Context, want schema.SwitchHash) error {
	var errs []error
	for i, k := range kinds() {
		fields, algorithm := k.read(&want)
		errs = append(errs, o.applyFields(ctx, k, &o.hashes[i], *fields), o.applyAlgorithm(ctx, k, &o.hashes[i], *algorithm))
	}
	return errors.Join(errs...)
}

// applyFields sets the fields of a hash. Those that the ASIC does not have are defaults, and are left out.
func (o *Orch) applyFields(ctx context.Context, k kind, h *hash, want []string) error {
	want = slices.DeleteFunc(slices.Clone(want), func(f string) bool { return !o.fields.has(f) })
	if h.oid == sai.NullOID || slices.Equal(h.fields, want) {
		return nil
	}
	list := make(sai.Enums, len(want))
	for i, f := range want {
		list[i], _ = sai.Meta(sai.HashAttrNativeHashFieldList).Enum.Value(fieldPrefix + f)
	}
	slices.Sort(list)
	err := o.api.Set(ctx, sai.Obj(sai.ObjectTypeHash, h.oid), sai.Attr{ID: sai.HashAttrNativeHashFieldList, Value: list})
	if err != nil {
		return fmt.Errorf("set %s: %w", k.fields, err)
	}
	h.fields = want
	return nil
}

// applyAlgorithm sets the algorithm of a hash.
func (o *Orch) applyAlgorithm(ctx context.Context, k kind, h *hash, want string) error {
	if h.algorithm == want {
		return nil
	}
	v, _ := sai.Meta(k.attr).Enum.Value(algorithmPrefix + want)
	err := o.api.Set(ctx, sai.Obj(sai.ObjectTypeSwitch, o.switchID), sai.Attr{ID: k.attr, Value: v})
	if err != nil {
		return fmt.Errorf("set %s: %w", k.algorithm, err)
	}
	h.algorithm = want
	return nil
}
