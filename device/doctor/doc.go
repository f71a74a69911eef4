// Package doctor checks an installation from outside: Redis and its databases, the daemons, the gNMI server and this
// machine. It changes nothing, not even a setting of Redis. It also works if some of these parts do not exist.
package doctor
