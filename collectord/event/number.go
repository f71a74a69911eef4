package event

// ID is that of the batch that Finish returns next, or that it returned last if nothing was added since.
func (w *Writer) ID() string { return w.header.ID() }

// Lose leaves a number out: something that the next batch would have told never came. Whoever reads the partition
// counts a batch as lost, and does not take the times that it may have been about for whole.
func (w *Writer) Lose() {
	w.begin()
	w.header.Number++
}
