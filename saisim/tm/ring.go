package tm

// A Ring is a first-in first-out queue that grows as needed and allocates nothing else.
type Ring[T any] struct {
	buf  []T // a power of two
	head int
	n    int
}

// Len returns the number of items.
func (r *Ring[T]) Len() int { return r.n }

// Push adds an item.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

// Add adds a zero item and returns it in place.
func (r *Ring[T]) Add() *T {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.n++
	return r.At(r.n - 1)
}

// Cut removes the newest item, which there must be.
func (r *Ring[T]) Cut() {
	r.n--
	var zero T
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = zero
}

func (r *Ring[T]) grow() {
	buf := make([]T, max(16, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
	}
	r.buf, r.head = buf, 0
}

// First returns the oldest item, which there must be, in place.
func (r *Ring[T]) First() *T { return &r.buf[r.head] }

// At returns the i-th item, the oldest being 0, in place.
func (r *Ring[T]) At(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

// Pop removes the oldest item, which there must be.
func (r *Ring[T]) Pop() {
	var zero T
	r.buf[r.head] = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
}

// Skip is Pop for items that are not to be forgotten: others hold them, too.
func (r *Ring[T]) Skip() {
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
}
