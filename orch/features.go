package orch

import (
	"context"
	"fmt"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Features passes the rows of TAM_APPL_FEATURES_TABLE to the orchs of the features, and reports the capabilities of
// the switch to the managers. A feature without an orch is reported as UNSUPPORTED.
type Features struct {
	daemon *Daemon
	orchs  map[string]func(ctx context.Context, active bool)
	can    swss.FieldValues // fields of SWITCH_CAPABILITY|switch
}

// NewFeatures registers the table on the daemon.
func NewFeatures(d *Daemon) *Features {
	f := &Features{daemon: d, orchs: map[string]func(context.Context, bool){}, can: swss.FieldValues{}}
	source := func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, d.redis.DB(swss.ApplDB), schema.AppTAMFeature)
	}
	d.Consume(source, schema.AppTAMFeature, Each(f.row), Reporting{
		StateTable: schema.StateTAMFeature, Words: Words{Field: schema.FieldOpStatus}, None: true,
	})
	return f
}

// On registers the function that handles the rows of a feature. apply is called whenever the row changes, and active is
// the configured state. While active is true, the feature's orch reports the status of the feature.
func (f *Features) On(feature string, apply func(ctx context.Context, active bool)) {
	f.orchs[feature] = apply
}

// Can records whether the switch supports a feature. unsupported is the reason if it does not, else "".
func (f *Features) Can(feature, unsupported string) {
	f.can[schema.CapabilityField(feature)] = fmt.Sprint(unsupported == "")
	f.can[schema.CapabilityReasonField(feature)] = unsupported
}

// Publish writes the records of all features to STATE_DB SWITCH_CAPABILITY, in one write. If the row lists only some
// features, managers assume that the switch does not offer the others.
func (f *Features) Publish(ctx context.Context) error {
	return f.daemon.Fix(ctx, schema.StateSwitchCap, schema.SwitchKey, f.can)
}

func (f *Features) row(ctx context.Context, t Task) error {
	apply := f.orchs[t.Key]
	active := false
	switch {
	case t.Op == Del:
		f.daemon.Unreport(ctx, schema.StateTAMFeature, t.Key)
	case apply == nil:
		f.daemon.Report(ctx, schema.StateTAMFeature, t.Key, schema.FeatureUnsupported, "the switch does not offer "+t.Key)
	default:
		row, err := schema.ParseFeature(t.Key, t.Fields)
		reason := ""
		if err != nil {
			f.daemon.log.Error("feature", "err", err)
			reason = Explain(err)
		}
		if active = err == nil && row.Active; !active {
			f.daemon.Report(ctx, schema.StateTAMFeature, t.Key, schema.FeatureInactive, reason)
		}
	}
	if apply != nil {
		apply(ctx, active)
	}
	return nil
}
