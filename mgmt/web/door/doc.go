// Package door controls access to a page: users and roles of package mgmt, by TLS if there are logins. The page of a
// switch uses the switch's own access control; this package is for pages that no switch serves, with the same files.
//
// What belongs here: listeners, and refusals in the form of the page. The content of pages and the users belong
// elsewhere.
package door
