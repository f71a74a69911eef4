package mgmt

import (
	"cmp"
	"context"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func isRaw(prefix, path *gpb.Path) bool {
	return cmp.Or(prefix.GetOrigin(), path.GetOrigin()) == tree.RawOrigin
}

// getRaw returns the update for one path of a Get.
func (s *Server) getRaw(ctx context.Context, prefix, path *gpb.Path, enc gpb.Encoding) (*gpb.Update, error) {
	p, err := s.reader.ParseRaw(prefix, path)
	if err != nil {
		return nil, err
	}
	if err := auth.ViewOf(ctx).Table(p.DB.Name(), p.Table); err != nil {
		return nil, err
	}
	rows, p, err := s.reader.ReadRaw(ctx, p)
	if err != nil {
		return nil, s.dbError(ctx, err)
	}
	if rows, err = p.Shown(ctx, auth.ViewOf(ctx), s.reader.Redis, rows); err != nil {
		return nil, err
	}
	val, err := p.Value(rows, enc)
	if err == nil && val == nil {
		err = status.Errorf(codes.NotFound, "sonic-db: %s: there is nothing", tree.PathText(&gpb.Path{Elem: p.Elems}))
	}
	return &gpb.Update{Path: &gpb.Path{Elem: p.Elems}, Val: val}, err
}
