package doctor

import (
	"context"
	"errors"
	"strings"

	"tamtam/device/fault"
	"tamtam/swss"
)

// faults checks for deliberately injected faults.
func faults(ctx context.Context, p *installation) answer {
	reported, unread, err := fault.Reported(ctx, p.r)
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	left, err := fault.LeftFull(ctx, p.r)
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	accepting, err := fault.Accepting(ctx, p.r)
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	text := fault.Words(reported)
	switch {
	case text != "":
		return fail("tamtam fault clear", "%s", text)
	case left != "":
		return fail("start it again, or redis-cli config set maxmemory", "%s ended while it kept Redis full on purpose", left)
	case len(unread) > 0:
		return warn("redis-cli -n 6 del 'TAMTAM_FAULT|NAME'", "rows that cannot be read: %v", errors.Join(unread...))
	case len(reported) > 0:
		return warn("look again in a few seconds", "%d were over within the last seconds", len(reported))
	case len(accepting) > 0:
		return warn("start them without --allow-faults where faults are not meant to be",
			"none, but every client of Redis can inject faults into %s", strings.Join(accepting, ", "))
	}
	return well("none, and no daemon accepts any")
}
