package recordplan

// nearest returns the table whose id differs least from a requested one.
func (m *Model) nearest(id string) string {
	best, least := "", -1
	for _, t := range m.tables {
		if d := distance(id, t.id); least < 0 || d < least {
			best, least = t.id, d
		}
	}
	return best
}

// distance returns the minimum number of bytes that must be inserted, removed or changed to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := left
			if a[i] != b[j] {
				change++
			}
			left = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
