package rights

// AllRows is the key that stands for a whole table in the list of configuration that is not in force. The switch does
// not have such a table.
const AllRows = "(all)"
