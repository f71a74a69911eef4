//go:build !unix

package chipload

import (
	"errors"
	"time"
)

// ProcessorTime is known on Unix only.
func ProcessorTime() (time.Duration, error) {
	return 0, errors.New("processor time is not known on this system")
}
