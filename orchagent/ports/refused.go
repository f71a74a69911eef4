package ports

import (
	"errors"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
)

// refusedPort adds to the error of creating a port which field of the row is at fault, where the status numbers its
// attribute.
func refusedPort(want portSpec, attrs []sai.Attr, err error) error {
	err = orch.AtAttr(err, sai.ObjectTypePort, attrs)
	var call *sai.CallError
	if !errors.As(err, &call) || call.Attr == 0 {
		return err
	}
	return refusedField(want, call.Attr, err)
}

// refusedField adds to an error which field of the row it is about. The reason is the same whether the port is created
// or changed, since a restart may do the one for the other. It does not name the lanes and speeds that there are: SAI
// tells them only of ports that exist, and after a restart other ports exist.
func refusedField(want portSpec, id sai.AttrID, err error) error {
	var call *sai.CallError
	if !errors.As(err, &call) || !orch.Refused(call.Status) {
		return err
	}
	at := *call
	at.Attr, at.Status = id, sai.StatusInvalidParameter
	switch id {
	case sai.PortAttrHWLaneList:
		at.Reason = "lanes " + laneKey(want.lanes) + ": it does not have all of them"
	case sai.PortAttrSpeed:
		at.Reason = fmt.Sprintf("speed %d: a port of %d lanes does not run at it", want.speed, len(want.lanes))
	}
	return &at
}
