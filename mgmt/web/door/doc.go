// Package door is who is let in to a page: users and roles of package mgmt, by TLS where somebody logs in. The page of
// a switch has the switch's own; here are those of a page that no switch serves, from the same files.
//
// What belongs here: listeners, and refusals as the page tells them. Not: what is shown; who is a user.
package door
