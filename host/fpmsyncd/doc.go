// Package fpmsyncd takes the place of SONiC's daemon of that name: what FRR's zebra says of its routes, over FPM, it
// brings to APPL_DB's ROUTE_TABLE, in SONiC's fields.
//
// Who a row of ROUTE_TABLE belongs to can be seen on it. Rows with the field config_key are tammgrd's, made of
// STATIC_ROUTE; rows with protocol and without that are fpmsyncd's; others are nobody's here, and stay. A prefix that
// both want is tammgrd's as long as it has a row for it, since what an operator has configured has the distance 1 and
// zebra has no say in it: fpmsyncd's row is written in one step with the look at whose row is there, waits while it is
// tammgrd's, and comes within a second when that goes.
//
// zebra does not say when it has told all of its routes. After it has connected, rows that it has not told of stay for
// the time that SONiC gives the routing stack to restart (120 s); then they go. While it is not connected all stay.
//
// What belongs here: which routes of zebra's are the switch's, and their rows. Not the bytes of FPM.
package fpmsyncd
