// Package fpmsyncd replaces SONiC's daemon of that name: it writes the routes that FRR's zebra sends over FPM to
// APPL_DB's ROUTE_TABLE, in SONiC's fields.
//
// The owner of a row of ROUTE_TABLE is visible in its fields. Rows with the field config_key are tammgrd's, made of
// STATIC_ROUTE. Rows with protocol and without config_key are fpmsyncd's. All others belong to other clients, and stay.
// A prefix of both is tammgrd's as long as it has a row for it, since configured routes have the distance 1 and precede
// zebra's. fpmsyncd writes its row in one atomic step with the check of the owner. It waits while the row is tammgrd's,
// and writes its own within a second after that is deleted.
//
// zebra does not report when it has sent all of its routes. After it has connected, rows that it has not sent again
// stay for the time that SONiC gives the routing stack to restart (120 s); then they are deleted. While it is not
// connected all stay.
//
// What belongs here: the choice of zebra's routes for the switch, and their rows. Not the encoding of FPM.
package fpmsyncd
