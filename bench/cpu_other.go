//go:build !unix

package bench

import (
	"errors"
	"time"
)

func processorTime() (time.Duration, error) {
	return 0, errors.New("processor time is not known on this system")
}
