package web

import (
	"net/http"
	"testing"

	"tamtam/mgmt/web/webtest"
)

// get requests a page as a client without a script does.
func get(t *testing.T, p http.Handler, at string) (*http.Response, string) {
	t.Helper()
	return webtest.Get(t, p, at, nil)
}

// crawl follows every link from the first page on, up to most pages of each view, and checks each page.
func crawl(t *testing.T, p http.Handler, most int) (seen map[string]int) {
	t.Helper()
	return webtest.Crawl(t, p, most, nil)
}
