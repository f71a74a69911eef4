// Package tree reads the data of a gNMI server: RFC 7951 as encoding/json decodes it, and paths to it.
package tree
