//go:build !linux

package daemons

import "errors"

func adjtimex() (clockStatus, error) {
	return clockStatus{}, errors.New("only Linux is asked about its clock")
}
