package set

// A commit on trial belongs to the user who began it. What ends it takes back rows that this user may write, and that
// no other has changed meanwhile: so a trial gives no right that its user lacks, and undoes no work of others. Without
// users there is nobody to tell apart, and all that changes is the trial's.

// A RowChange is a row of CONFIG_DB and what becomes of it; nil: there is none.
type RowChange struct {
	Key           string // TABLE|key
	Before, After map[string]string
}
