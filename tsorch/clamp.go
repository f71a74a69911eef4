package tsorch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"tamtam/orch/feature"
	"tamtam/saisim/tailstamp"
	"tamtam/swss/schema"
)

func (o *Orch) newBinding() *binding {
	return &binding{tamInt: o.tamInt, clamp: feature.Object{
		Name: tailstamp.ObjectClamp, Attr: tailstamp.AttrClamp, What: "clamp of the maximum segment size",
	}}
}

// noClamp returns the reason why a session cannot have its clamp on this switch. It returns nil if the session has no
// clamp or can have it.
func (o *Orch) noClamp(s *session) error {
	if s.Row.ClampMSS == 0 || o.canClamp {
		return nil
	}
	return &schema.FieldError{
		Object: schema.CfgTAMTailStamp + "|" + s.Name, Field: "clamp-mss", Value: strconv.Itoa(int(s.Row.ClampMSS)),
		Want: "none: the switch cannot lower the maximum segment size, since its SAI has no extension " +
			tailstamp.ObjectClamp,
	}
}

// clampMSS changes a bound session's clamp to match its row. On error nothing has changed.
func (o *Orch) clampMSS(ctx context.Context, s *session) error {
	x := &s.InASIC.clamp
	if s.Row.ClampMSS == 0 {
		return x.Remove(ctx, o.SAI)
	}
	return x.Put(ctx, o.SAI, tailstamp.Clamp{
		Label: clampLabel(s.Name), Records: int(s.Row.ClampMSS), Filter: s.Row.SYNs.String(),
	})
}

// clampAll adds the clamps of newly bound sessions. If a session cannot have its clamp, it is unbound. If that also
// fails, the session is retried later.
func (o *Orch) clampAll(ctx context.Context, sessions []*session) {
	for _, s := range sessions {
		if s.InASIC == nil || s.Row.ClampMSS == 0 {
			continue
		}
		err := o.clampMSS(ctx, s)
		if err == nil {
			continue
		}
		o.Unbind(ctx, []*session{s})
		if s.InASIC != nil {
			err = fmt.Errorf("%w; and undoing the steps before it failed: %w", err, s.Err)
			o.Stuck(s)
		}
		o.Fail(s, err)
	}
}

// clampLabel returns the chip's name for the counters of a session's clamp.
func clampLabel(session string) string {
	if len(session) <= tailstamp.MaxClampLabel {
		return session
	}
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:])
}
