// Package sonicmgmt has checks of SONiC's test suite sonic-mgmt as tests of a whole switch in simulated time: dropped
// packets, Everflow, control plane policing and sFlow. docs/sonic.md names the check of sonic-mgmt for each test.
//
// The checks are stricter than there: each counts every packet, and nothing depends on timing or on a platform.
//
// What belongs here: tests. The code is not that of sonic-mgmt, which needs a testbed.
package sonicmgmt
