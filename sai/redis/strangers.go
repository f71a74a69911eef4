package sairedis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// ErrStrangers says that requests of others were seen, who may have changed the ASIC, or begun a view.
var ErrStrangers = errors.New("another process makes requests in ASIC_DB")

// Strangers counts the answers that wait in ASIC_DB, and takes them away: while there is no [Client], they are those to
// requests of others.
func Strangers(ctx context.Context, r *swss.Redis) (int, error) {
	answers := swss.NewQueue(r.DB(swss.ASICDB), protocol.GetResponse)
	n, err := answers.Take(ctx)
	if err != nil {
		return 0, fmt.Errorf("sairedis: %w", err)
	}
	return n, nil
}

// fieldView of [KeySyncd] is there from INIT_VIEW to APPLY_VIEW, whoever asks for them: meanwhile syncd does nothing
// else with requests than to remember them.
const fieldView = "view"

// noteView adds to a pipeline that a view is being made, or is no more.
func noteView(ctx context.Context, p redis.Pipeliner, making bool) {
	if making {
		p.HSet(ctx, KeySyncd, fieldView, "begun")
	} else {
		p.HDel(ctx, KeySyncd, fieldView)
	}
}
