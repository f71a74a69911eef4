package recordplan

func (x *search) branchAndBound() { x.restarts() }
func (x *search) brute() error    { x.restarts(); return nil }
