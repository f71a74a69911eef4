package mgmt

import (
	"context"
	"errors"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/set"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// commitTries bounds how often a Set is executed, because other clients write rows that it has read.
const commitTries = 10

// Set executes a SetRequest as a whole, or changes nothing.
func (s *Server) Set(ctx context.Context, req *gpb.SetRequest) (*gpb.SetResponse, error) {
	return s.SetIf(ctx, req, func(context.Context) error { return nil })
}

// SetIf executes a Set if ok returns no error. ok may read with [Server.Get]: no other Set changes the data that it has
// read before this Set is done. Clients that write the database directly can. SetIf returns an error of ok; to keep its
// code, the error must have a method GRPCStatus. ok may be called several times.
func (s *Server) SetIf(
	ctx context.Context, req *gpb.SetRequest, ok func(context.Context) error,
) (*gpb.SetResponse, error) {
	if err := checkExtensions(req.GetExtension(), false); err != nil {
		return nil, err
	}
	if err := set.CheckUnion(req); err != nil {
		return nil, err
	}
	if err := s.arbiter.admit(req.GetExtension()); err != nil {
		return nil, err
	}
	if name, input, is, err := operationOf(req); is {
		if err == nil {
			_, err = s.Operate(ctx, name, input)
		}
		if err != nil {
			return nil, err
		}
		return s.answer(req, []set.Step{{Op: gpb.UpdateResult_UPDATE, Path: req.GetUpdate()[0].GetPath()}}), nil
	}
	steps, err := s.set(ctx, req, ok)
	s.guard.Trail.Did(ctx, "set", auth.SetPaths(req), commitInWords(req), err)
	if err != nil {
		return nil, err
	}
	return s.answer(req, steps), nil
}

// set executes a Set that is no operation.
func (s *Server) set(ctx context.Context, req *gpb.SetRequest, ok func(context.Context) error) ([]set.Step, error) {
	steps, faults := set.Parse(ctx, s.model, req)
	if err := ctx.Err(); err != nil { // the parsing may be incomplete
		return nil, status.FromContextError(err).Err()
	}
	if err := s.maySet(ctx, req, steps); err != nil {
		return nil, err
	}
	return steps, s.perform(ctx, req, steps, faults, ok)
}

// perform executes the steps of a Set, and its extensions.
func (s *Server) perform(
	ctx context.Context, req *gpb.SetRequest, steps []set.Step, faults *set.Faults, ok func(context.Context) error,
) error {
	ctx, leave, err := s.gate.enter(ctx, false)
	if err != nil {
		return err
	}
	defer leave()
	s.setting.Lock()
	defer s.setting.Unlock()
	if err := s.arbiter.admit(req.GetExtension()); err != nil { // another client may have been elected meanwhile
		return err
	}
	begin, done, err := s.kept.confirmable(ctx, req)
	if err != nil {
		return s.dbError(ctx, err)
	}
	if done {
		return nil
	}
	if begin != nil { // before the Set, so that the trial is undone even if this server ends right after the Set
		if err := begin(); err != nil {
			return status.Errorf(codes.Internal, "extension commit: %v; nothing was changed", err)
		}
	}
	err = s.trySet(ctx, steps, faults, ok)
	for tries := 1; errors.Is(err, set.ErrConflict) && tries < commitTries; tries++ {
		err = s.trySet(ctx, steps, faults, ok)
	}
	if begin != nil {
		s.kept.trial.begins = false
	}
	if err != nil && begin != nil && !errors.Is(err, set.ErrOutcomeUnknown) {
		s.kept.endTrial()
	}
	if errors.Is(err, set.ErrConflict) {
		return status.Error(codes.Aborted, "others kept writing the same rows; nothing was changed")
	}
	if err != nil {
		return unchanged(s.dbError(ctx, err))
	}
	return nil
}

// answer returns the response to a successful Set.
func (s *Server) answer(req *gpb.SetRequest, steps []set.Step) *gpb.SetResponse {
	resp := &gpb.SetResponse{Prefix: replyPrefix(req.GetPrefix(), nil), Timestamp: s.now().UnixNano()}
	if p := req.GetPrefix(); len(p.GetElem()) > 0 {
		resp.Prefix = &gpb.Path{Target: p.GetTarget(), Origin: p.GetOrigin(), Elem: p.GetElem()}
	}
	for _, st := range steps {
		resp.Response = append(resp.Response, &gpb.UpdateResult{Path: st.Path, Op: st.Op})
	}
	return resp
}

// Load merges JSON, encoded as for a Set at the root (RFC 7951), into the configuration: as a whole, or not at all.
func (s *Server) Load(ctx context.Context, text []byte) error {
	val := &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}
	_, err := s.Set(ctx, &gpb.SetRequest{Update: []*gpb.Update{{Path: &gpb.Path{}, Val: val}}})
	if err != nil {
		return errors.New(status.Convert(err).Message())
	}
	return nil
}

// unchanged adds "nothing was changed" to the error of a Set that failed because a database was unavailable. It adds
// nothing if the outcome is unknown.
func unchanged(err error) error {
	st := status.Convert(err)
	if st.Code() != codes.Unavailable || errors.Is(err, set.ErrOutcomeUnknown) {
		return err
	}
	return status.Error(codes.Unavailable, st.Message()+"; nothing was changed")
}

// trySet executes the steps on the current rows if ok returns no error. parsed holds the faults found so far.
func (s *Server) trySet(
	ctx context.Context, steps []set.Step, parsed *set.Faults, ok func(context.Context) error,
) error {
	turn, err := s.reader.Redis.DB(swss.ConfigDB).Turn(ctx)
	if err != nil {
		return err
	}
	if err := ok(ctx); err != nil {
		return err
	}
	t := &set.Tx{
		Model: s.model, Reader: s.reader, Hub: s.hub, Turn: turn, View: auth.ViewOf(ctx),
		Claim: func(changes []set.RowChange) (func(bool), error) { return s.kept.claim(ctx, changes) },
	}
	if err := t.Do(ctx, steps, parsed); err != nil {
		return err
	}
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	return t.Commit(ctx)
}
