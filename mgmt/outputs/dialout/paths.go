package dialout

import (
	"fmt"
	"strings"
	"time"

	"tamtam/mgmt/access"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A Subscription is the content of a row of TELEMETRY_CLIENT.
type Subscription struct {
	Target   string // the target in the prefix of all messages
	Database string // database whose tables the paths name; empty if the paths are gNMI paths
	Paths    []string
	Once     bool
	Sampled  bool // sample all leaves; otherwise only counters are sampled, and the rest is sent on change
	Interval time.Duration
}

// List returns the subscription as gNMI's list.
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
