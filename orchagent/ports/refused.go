package ports

import (
	"errors"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
)

// refusedPort adds to the error of creating a port which field of the row is at fault, where the status numbers its
// attribute. It does not name the lanes and speeds that there are: SAI tells them only of ports that exist, and a
// reason may not differ after a restart, when other ports exist.
func refusedPort(want portSpec, attrs []sai.Attr, err error) error {
	err = orch.AtAttr(err, sai.ObjectTypePort, attrs)
	var call *sai.CallError
	if !errors.As(err, &call) || !orch.Refused(call.Status) {
		return err
	}
	at := *call
	switch at.Attr {
	case sai.PortAttrHWLaneList:
		at.Reason = "lanes " + laneKey(want.lanes) + ": it does not have all of them"
	case sai.PortAttrSpeed:
		at.Reason = fmt.Sprintf("speed %d: a port of %d lanes does not run at it", want.speed, len(want.lanes))
	}
	return &at
}
