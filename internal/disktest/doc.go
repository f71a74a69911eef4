// Package disktest has disks without room, for tests. Whatever a test needs of a file system that it may fill belongs
// here.
package disktest
