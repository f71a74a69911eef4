package dialout

import (
	"fmt"
	"strings"
	"time"

	"tamtam/mgmt/access"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A Subscription is what is sent, as a row of TELEMETRY_CLIENT says it.
type Subscription struct {
	Target   string // what the prefix of all that is sent names
	Database string // whose tables the paths name; "": they are gNMI's
	Paths    []string
	Once     bool
	Sampled  bool // else counters are, and the rest is sent when it changes
	Interval time.Duration
}

// List returns it as gNMI has it.
func (s Subscription) List() (*gpb.SubscriptionList, error) {
	list := &gpb.SubscriptionList{
		Prefix: &gpb.Path{Target: s.Target}, Encoding: gpb.Encoding_JSON_IETF, Mode: gpb.SubscriptionList_STREAM,
	}
	if s.Once {
		list.Mode = gpb.SubscriptionList_ONCE
	}
	if s.Database != "" {
		list.Prefix.Origin = "sonic-db"
	}
	if len(s.Paths) == 0 {
		return nil, fmt.Errorf("paths: want one at least, as /interfaces/interface[name=*]/state")
	}
	for _, text := range s.Paths {
		p, err := access.ParsePath("/" + strings.TrimPrefix(text, "/"))
		if err != nil {
			return nil, err
		}
		path := p.GNMI()
		if s.Database != "" {
			path.Elem = append([]*gpb.PathElem{{Name: s.Database}, {Name: "localhost"}}, path.Elem...)
		}
		sub := &gpb.Subscription{Path: path, Mode: gpb.SubscriptionMode_TARGET_DEFINED,
			SampleInterval: uint64(s.Interval)}
		if s.Sampled || s.Database == "COUNTERS_DB" {
			sub.Mode = gpb.SubscriptionMode_SAMPLE
		}
		list.Subscription = append(list.Subscription, sub)
	}
	return list, nil
}
