package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every process of a service ranks collectors alike, services spread evenly, and
// a collector that goes moves only its own.
func TestRank_Rendezvous(t *testing.T) {
	collectors := []string{"http://a:4318", "http://b:4318", "http://c:4318", "http://d:4318"}
	first := map[string]int{}
	for i := range 4000 {
		service := fmt.Sprint("service-", i)
		ranked := Rank(collectors, "demo", service, "prod")
		first[ranked[0]]++
		reversed := slices.Clone(collectors)
		slices.Reverse(reversed)
		if other := Rank(append(reversed, collectors[0]), "demo", service, "prod"); !slices.Equal(ranked, other) {
			t.Fatalf("%s: %v and %v", service, ranked, other)
		}
		gone := Rank(slices.DeleteFunc(slices.Clone(collectors), func(c string) bool { return c == ranked[3] }), "demo", service, "prod")
		if !slices.Equal(gone, ranked[:3]) {
			t.Fatalf("%s: %v becomes %v without its last", service, ranked, gone)
		}
	}
	for c, n := range first {
		if n < 850 || n > 1150 {
			t.Errorf("%s has %d services of 4000", c, n)
		}
	}
}

// A collector that comes back is preferred again.
func TestClient_RetriesPreferredCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Client{URLs: []string{"a", "b"}}
		h.markDown(0)
		if h.best() != 1 {
			t.Error("a collector that is down is the best")
		}
		h.markDown(1)
		if h.best() != 0 {
			t.Error("with all down, the preferred one is not the best")
		}
		time.Sleep(downFor)
		if h.best() != 0 {
			t.Error("a collector stays down for good")
		}
	})
}

func TestRatesURLs_Forms(t *testing.T) {
	collectors := []string{"http://a:4318/v1/traces", "https://[::1]:4318/x/v1/traces"}
	for rates, want := range map[string]string{
		":4319":         "http://a:4319/v1/rates https://[::1]:4319/v1/rates",
		"http://r:1/b/": "http://r:1/b/v1/rates",
	} {
		got, err := RatesURLs(rates, collectors)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v %v, want %s", rates, got, err, want)
		}
	}
	for _, bad := range []string{"", "rates", "ftp://r", ":x y"} {
		if got, err := RatesURLs(bad, collectors); err == nil {
			t.Errorf("%q is taken for %v", bad, got)
		}
	}
}
