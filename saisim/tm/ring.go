package tm

// A Ring is a first-in first-out queue that grows as needed and does not allocate otherwise.
type Ring[T any] struct {
	buf  []T // length is a power of two
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

// Add adds a zero item and returns a pointer to it.
func (r *Ring[T]) Add() *T {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.n++
	return r.At(r.n - 1)
}

// Cut removes the newest item. The ring must not be empty.
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

// First returns a pointer to the oldest item. The ring must not be empty.
func (r *Ring[T]) First() *T { return &r.buf[r.head] }

// At returns a pointer to the i-th item. 0 is the oldest.
func (r *Ring[T]) At(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

// Pop removes the oldest item. The ring must not be empty.
func (r *Ring[T]) Pop() {
	var zero T
	r.buf[r.head] = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
}

// Skip does the same as Pop, but does not clear the item. It is for items that are still referenced elsewhere.
func (r *Ring[T]) Skip() {
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
}
