package sairedis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// ErrStrangers reports that requests of another client were seen. The requests may have changed the ASIC, or begun a
// view.
var ErrStrangers = errors.New("another process makes requests in ASIC_DB")

// Strangers removes the answers that wait in ASIC_DB, and returns their number. While there is no [Client], they are
// answers to requests of other clients.
func Strangers(ctx context.Context, r *swss.Redis) (int, error) {
	answers := swss.NewQueue(r.DB(swss.ASICDB), protocol.GetResponse)
	n, err := answers.Clear(ctx)
	if err != nil {
		return 0, fmt.Errorf("sairedis: %w", err)
	}
	return n, nil
}

// fieldView of [KeySyncd] exists from INIT_VIEW to APPLY_VIEW of any client. Meanwhile syncd only records requests.
const fieldView = "view"

// noteView adds to a pipeline whether a view is being made.
func noteView(ctx context.Context, p redis.Pipeliner, making bool) {
	if making {
		p.HSet(ctx, KeySyncd, fieldView, "begun")
	} else {
		p.HDel(ctx, KeySyncd, fieldView)
	}
}
