// Package web is the collector's page: a view of a network, or of one switch, for a browser.
//
// The pages are HTML generated here (html/template), with inline SVG pictures. One style sheet and one script are
// served with them. There is no build step, and nothing is fetched from other servers. The pages work without the
// script, which only reloads a page when a server-sent event reports a change. Nothing can be changed through the page.
//
// Every value is shown with its confidence. Inexact rows look different and give a reason. Unknown values are shown as
// "unknown", and old data shows its age. A request reads the rows of a store within a time span, up to a bound
// (snapshot). Simultaneous requests share one read. The numbers of requests and listeners are bounded.
//
// What belongs here: the content and form of the page. The origin of rows and logins belong elsewhere. The page
// declares the interfaces that it needs: [Topology], [Switches], and Config.Enter.
package web
