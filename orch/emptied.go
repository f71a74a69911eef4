package orch

// Emptied returns m without its entries. A map keeps the room of the most entries that it ever had, so
// one that was large is left behind.
func Emptied[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) > 64 {
		return M{}
	}
	clear(m)
	return m
}
