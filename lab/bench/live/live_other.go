//go:build !linux

package live

import (
	"context"
	"fmt"
	"runtime"
)

// Run returns an error, since it needs Linux.
func Run(context.Context, Config) ([]Figure, error) {
	return nil, fmt.Errorf("live interfaces need Linux, this is %s", runtime.GOOS)
}
