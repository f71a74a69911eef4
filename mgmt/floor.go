package mgmt

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The minimum sample interval of a subscription depends on its leaves. Counters are read from the chip at the
// POLL_INTERVAL of their group in FLEX_COUNTER_TABLE, and faster sampling only repeats values. So a subscription that
// has only polled counters gets the interval of its fastest group. Any other subscription gets minSample.

// A floor is the minimum sample interval of a subscription.
type floor struct {
	least  time.Duration
	why    string // the setting that determines least
	polled bool   // true if all that is sampled is polled
}

// pace sets the interval of each sampling feed, or refuses one that is too short. The interval holds for the whole
// stream: if a group is polled more slowly later, values repeat.
func pace(ctx context.Context, r fetch.Reader, feeds []*feed) error {
	polls := map[string]floor{}
	for _, f := range feeds {
		if f.records != nil {
			if err := f.paceRecords(ctx, r); err != nil {
				return err
			}
		}
		if !f.samples || f.records != nil {
			continue
		}
		fl, err := floorOf(ctx, r, f, polls)
		switch {
		case err != nil:
			return err
		case f.follows:
			if f.sample = fl.least; !fl.polled {
				f.sample = followed
			}
		case f.defined: // the interval is only a hint, since the target decides
			f.sample = max(cmp.Or(f.sample, definedSample), fl.least)
		case f.sample == 0:
			f.sample = fl.least
		case f.sample < fl.least:
			return tooFast(f.path, f.sample, fl)
		}
	}
	return nil
}

// tooFast returns the error for an interval that is too short.
func tooFast(path string, asked time.Duration, fl floor) error {
	return status.Errorf(codes.InvalidArgument, "%s: sample_interval %s is below the least, %s: %s", path, asked, fl.least,
		fl.why)
}

// floorOf returns the floor of a feed. polls caches the intervals of groups.
func floorOf(ctx context.Context, r fetch.Reader, f *feed, polls map[string]floor) (floor, error) {
	fl := floor{least: minSample, why: "nothing of it is a counter that is polled"}
	found := false
	for w := range each(f.watches) {
		for _, leaf := range w.Leaves {
			if leaf.KeyIndex >= 0 {
				continue // the key is part of the path
			}
			group := leaf.PolledBy()
			if group == "" {
				why := fmt.Sprintf("%s is no counter that is polled", tree.Target{Node: leaf, Keys: w.pattern}.Text())
				return floor{least: minSample, why: why}, nil
			}
			poll, err := poll(ctx, r, group, polls)
			if err != nil {
				return floor{}, err
			}
			if !found || poll.least < fl.least {
				fl, found = poll, true
			}
		}
	}
	return fl, nil
}

// poll returns how often a group of counters is read while it is enabled. Like orchagent, it ignores an invalid row and
// uses the default.
func poll(ctx context.Context, r fetch.Reader, name string, polls map[string]floor) (floor, error) {
	if fl, ok := polls[name]; ok {
		return fl, nil
	}
	fields, _, err := swss.NewTable(r.Redis.DB(swss.ConfigDB), schema.CfgFlexCounter).Get(ctx, name)
	if err != nil {
		return floor{}, tree.Unavailable(err)
	}
	row, err := schema.ParseFlexCounter(name, fields)
	key := schema.CfgFlexCounter + "|" + name
	var fl floor
	if err == nil && row.Interval > 0 {
		fl = floor{row.Interval, fmt.Sprintf("%s has POLL_INTERVAL %d", key, row.Interval.Milliseconds()), true}
	} else {
		least := schema.DefaultPoll(name)
		fl = floor{least, fmt.Sprintf("%s has no valid POLL_INTERVAL, and %d is its default", key, least.Milliseconds()),
			true}
	}
	polls[name] = fl
	return fl, nil
}

// sampling returns the feed for the sampled part of a subscription.
func sampling(sub *gpb.Subscription, beat time.Duration) *feed {
	return &feed{samples: true, sample: intervalOf(sub.GetSampleInterval()), beat: beat,
		suppress: sub.GetSuppressRedundant(), defined: sub.GetMode() == gpb.SubscriptionMode_TARGET_DEFINED}
}
