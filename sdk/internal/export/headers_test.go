package export

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

// What is taken for a header is what net/http sends as one.
func FuzzHeaders(f *testing.F) {
	f.Add("x-tenant", "7")
	f.Add("Authorization: Basic dXNlcjpzM2NyZXQ", "")
	f.Add("x\xff", "a\tb\x7f\xff")
	unreached := errors.New("nothing is dialled")
	client := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, unreached }}
	f.Fuzz(func(t *testing.T, name, value string) {
		req, err := http.NewRequest(http.MethodGet, "http://a:1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{name: {value}}
		_, err = client.RoundTrip(req) // there is no answer
		sendable := errors.Is(err, unreached)
		h := Headers{}
		if taken := h.Set(name, value) == ""; taken != sendable || taken != (len(h) == 1) {
			t.Errorf("%q: %q is taken: %t; net/http says %v", name, value, taken, err)
		}
	})
}
