package lab

import "fmt"

func (s *study) usage() (*FlyMonReport, error) { return nil, fmt.Errorf("not yet") }
