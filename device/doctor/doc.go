// Package doctor looks at an installation from outside: at Redis and its databases, the daemons, the gNMI server and
// this machine. It changes nothing, not even a setting of Redis, and works with whatever of that is there.
package doctor
