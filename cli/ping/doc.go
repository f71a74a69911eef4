// Package ping has the shell's commands ping and traceroute. The switch performs them, and the shell prints its answer
// as it grows.
//
// What belongs here: these commands. The requests themselves are sent by the switch (package host/ping).
package ping
