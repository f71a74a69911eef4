// Package tree reads data of a gNMI server: RFC 7951 as decoded by encoding/json, and paths to it.
package tree
