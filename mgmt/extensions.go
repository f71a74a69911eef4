package mgmt

import (
	"fmt"
	"sync"

	"tamtam/mgmt/tree"

	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// checkExtensions refuses extensions that would change the meaning of a request and are not implemented. It ignores
// unknown extensions. deep is true if the extension depth has a meaning in the request.
func checkExtensions(exts []*gnmi_ext.Extension, deep bool) error {
	depths := 0
	for _, e := range exts {
		switch e.GetExt().(type) {
		case *gnmi_ext.Extension_History:
			return status.Error(codes.Unimplemented,
				"extension history is not served: of the past only configurations are kept (/configurations)")
		case *gnmi_ext.Extension_ConfigSubscription:
			return status.Error(codes.Unimplemented, "extension config_subscription is not served")
		case *gnmi_ext.Extension_Depth:
			if depths++; !deep || depths > 1 {
				return status.Error(codes.InvalidArgument, "extension depth is for Get and Subscribe, once")
			}
		}
	}
	return nil
}

// depthOf returns the level of extension depth, or 0 if there is no limit.
func depthOf(exts []*gnmi_ext.Extension) uint32 {
	for _, e := range exts {
		if d := e.GetDepth(); d != nil {
			return d.GetLevel()
		}
	}
	return 0
}

// errRawDepth refuses a depth for tables, which have no levels.
var errRawDepth = status.Errorf(codes.Unimplemented, "extension depth is not served of origin %s", tree.RawOrigin)

// maxRoles bounds the number of roles whose election ids are remembered.
const maxRoles = 256

// An arbiter holds, per role, the highest election id (gNMI's master arbitration) since the server began.
type arbiter struct {
	mu      sync.Mutex
	highest map[string]electionID
}

type electionID struct{ high, low uint64 }

func (id electionID) String() string {
	if id.high == 0 {
		return fmt.Sprint(id.low)
	}
	return fmt.Sprintf("%d*2^64+%d", id.high, id.low)
}

// less compares ids of 128 bits.
func (id electionID) less(o electionID) bool {
	return id.high < o.high || id.high == o.high && id.low < o.low
}

// admit refuses a client that is not, or no longer, the master of its role. A request without the extension is
// admitted.
func (a *arbiter) admit(exts []*gnmi_ext.Extension) error {
	for _, e := range exts {
		m := e.GetMasterArbitration()
		if m == nil {
			continue
		}
		if m.GetElectionId() == nil {
			return status.Error(codes.InvalidArgument, "extension master_arbitration: election_id is missing")
		}
		role, id := m.GetRole().GetId(), electionID{m.GetElectionId().GetHigh(), m.GetElectionId().GetLow()}
		if err := a.elect(role, id); err != nil {
			return err
		}
	}
	return nil
}

func (a *arbiter) elect(role string, id electionID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	was, known := a.highest[role]
	switch {
	case id.less(was):
		return status.Errorf(codes.PermissionDenied,
			"extension master_arbitration: election id %s of role %s is not the highest, which is %s", id,
			tree.Quoted(role), was)
	case !known && len(a.highest) >= maxRoles:
		return status.Errorf(codes.ResourceExhausted, "extension master_arbitration: role %s would be one more than %d",
			tree.Quoted(role), maxRoles)
	case a.highest == nil:
		a.highest = map[string]electionID{}
	}
	a.highest[role] = id
	return nil
}
