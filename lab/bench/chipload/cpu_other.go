//go:build !unix

package chipload

import (
	"errors"
	"time"
)

// ProcessorTime returns an error, since processor time is known on Unix only.
func ProcessorTime() (time.Duration, error) {
	return 0, errors.New("processor time is not known on this system")
}
