package lab

import "fmt"

func (s *study) baseline(p *planned, seed uint64) (meter, error) {
	return nil, fmt.Errorf("no %s", p.curve.Algorithm)
}
