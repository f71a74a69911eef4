package orch

// Emptied returns m without its entries. A map keeps the memory for the most entries that it ever had, so a large one
// is replaced by a new one.
func Emptied[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) > 64 {
		return M{}
	}
	clear(m)
	return m
}
