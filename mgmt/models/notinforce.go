package models

// SourceNotInForce is the source of the list of objects that are not in force.
const SourceNotInForce = "not-in-force"
