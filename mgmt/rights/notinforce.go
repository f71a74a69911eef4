package rights

// AllRows is the key, in the list of what is not in force, of a table that the switch does not have.
const AllRows = "(all)"
