package mgmt

import (
	"context"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/set"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maySet refuses a Set unless its caller may do all of it.
func (s *Server) maySet(ctx context.Context, req *gpb.SetRequest, steps []set.Step) error {
	v := auth.ViewOf(ctx)
	if v == nil {
		return nil
	}
	if !v.Anything(s.model) {
		return status.Errorf(codes.PermissionDenied, "/: user %s is %s, which may change nothing", auth.UserOf(ctx), v.Role)
	}
	if ext := commitExtension(req.GetExtension()); ext != nil {
		operation := "commit"
		if ext.GetCancel() != nil {
			operation = "cancel-commit"
		}
		if err := v.May(operation); err != nil {
			return err
		}
	}
	return set.MayDo(v, steps)
}
