package mgmt

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type clearInput struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (s *Server) clearCounters(ctx context.Context, who string, in clearInput) error {
	return status.Errorf(codes.Unimplemented, "kind %q", in.Kind)
}
