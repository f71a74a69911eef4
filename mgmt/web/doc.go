// Package web is the collector's page: what a browser shows of a network, or of one switch.
//
// It is HTML made here (html/template), pictures are inline SVG, and one style sheet and one script come from the
// same place: nothing is built, nothing is fetched from elsewhere. It works without the script, which only asks for
// the page again when something has changed, as server-sent events tell. Nothing can be changed through it.
//
// What a value is worth stands beside it: rows that are not exact look different and say why, what is not known is
// written as not known, old data tells its age. A request reads the rows of a store within a time and up to a bound
// (snapshot), requests that come together share what was read, and there is a bound on requests and on listeners.
//
// What belongs here: what the page shows and how. Not: where rows come from, who may log in. The page declares what it
// needs of others: [Topology], [Switches], and Config.Enter.
package web
