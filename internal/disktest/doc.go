// Package disktest provides full disks for tests. It holds everything that a test needs for a file system that it may
// fill.
package disktest
