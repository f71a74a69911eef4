// Package mgmt is the northbound: a gNMI server on the modules of package
// yang. What may enter: what translates between the YANG tree and the rows of
// the databases, and what lets clients in. It never looks into the ASIC and
// writes CONFIG_DB alone.
package mgmt
