package models

// SourceNotInForce is the source of the list of what is not in force.
const SourceNotInForce = "not-in-force"
