package corehour

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An invalid header is skipped and named by its position alone: with a colon instead of the equals sign,
// the name contains the secret.
func TestHeaders_Invalid(t *testing.T) {
	said := hear(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Basic dXNlcjpzM2NyZXQ=,x-tenant=7,x-feed=a%0Ab")
	synctest.Test(t, func(t *testing.T) {
		tenant := ""
		_, stop := start(t, WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			tenant = r.Header.Get("X-Tenant")
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		})}))
		stop()
		if tenant != "7" {
			t.Errorf("the other header came as %q", tenant)
		}
	})
	for _, want := range []string{"OTEL_EXPORTER_OTLP_HEADERS: entry 1 is left out: ", "OTEL_EXPORTER_OTLP_HEADERS: entry 3 is left out: "} {
		if !strings.Contains(said(), want) {
			t.Errorf("not said: %s\n%s", want, said())
		}
	}
	noSecret(t, said())

	_, err := Start(context.Background(), WithHeaders(map[string]string{"Authorization: Basic dXNlcjpzM2NyZXQ": ""}),
		WithHeaders(map[string]string{"x-feed": "s3cret\n"}))
	if err == nil || !strings.Contains(err.Error(), "WithHeaders: ") || !strings.Contains(err.Error(), `"x-feed"`) {
		t.Errorf("headers that cannot be sent: %v", err)
	} else {
		noSecret(t, err.Error())
	}
}

func noSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{"s3cret", "tok3n", "dXNlcjpzM2NyZXQ"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in what was said:\n%s", secret, text)
		}
	}
}

// A user without a password, a path and a query can be as secret as a password.
func TestURLs_NamedByHost(t *testing.T) {
	said := hear(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	for _, server := range []*httptest.Server{gone, refusing} {
		host := strings.TrimPrefix(server.URL, "http://")
		secret := "http://tok3n@" + host + "/s3cret?api_key=s3cret"
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", secret)
		t.Setenv("COREHOUR_RATES_ENDPOINT", secret)
		shutdown, err := Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		started.Begin().End()
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err = shutdown(ctx); err == nil || !strings.Contains(err.Error(), "http://"+host) {
			t.Errorf("shutdown says %v", err)
		} else {
			noSecret(t, err.Error())
		}
	}
	for _, bad := range []string{"ftp://tok3n:s3cret@host/s3cret", "tok3n:s3cret@host:4318", "//tok3n@host/s3cret", "s3cret/x", "http://tok3n:s3cret/@host", "http:s3cret", "http:///s3cret"} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", bad)
		t.Setenv("COREHOUR_ENDPOINTS", bad)
		t.Setenv("COREHOUR_RATES_ENDPOINT", bad)
		c := defaultConfig()
		c.fromEnvironment()
		if _, err := Start(context.Background(), WithEndpoint(bad), WithRates(bad)); err == nil {
			t.Errorf("%q is taken for a URL of a collector", bad)
		} else {
			noSecret(t, err.Error())
		}
	}
	noSecret(t, said())
}

// The collector's token is sent to a rates server with the same host and scheme, and nowhere else. A token
// for rates is sent to rates servers only, on any host.
func TestHeaders_TokenDestination(t *testing.T) {
	const collector = "https://collector:4318"
	for _, c := range []struct {
		rates, rateHeaders, want string
		said                     bool
	}{
		{rates: ":4319", want: "Bearer tok3n"},
		{rates: "https://COLLECTOR:4319/base", want: "Bearer tok3n"},
		{rates: ":4319", rateHeaders: "authorization=Bearer%20s3cret", want: "Bearer s3cret"},
		{rates: "https://rates:4319", want: "", said: true},
		{rates: "http://collector:4319", want: "", said: true},
		{rates: "https://rates:4319", rateHeaders: "authorization=Bearer%20s3cret", want: "Bearer s3cret"},
	} {
		t.Run(c.rates+" "+c.rateHeaders, func(t *testing.T) {
			said := hear(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "AUTHORIZATION=Bearer%20tok3n")
			t.Setenv("COREHOUR_RATES_ENDPOINT", c.rates)
			t.Setenv("COREHOUR_RATES_HEADERS", c.rateHeaders)
			synctest.Test(t, func(t *testing.T) {
				seen := make(chan *http.Request, 10)
				_, stop := start(t, WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					seen <- r
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
				})}))
				synctest.Wait()
				stop()
				close(seen)
				asked, sent := 0, 0
				for r := range seen {
					want := "Bearer tok3n"
					if r.Method == http.MethodGet {
						asked++
						want = c.want
					} else {
						sent++
					}
					if got := r.Header.Get("Authorization"); got != want {
						t.Errorf("%s got %q, want %q", r.URL, got, want)
					}
				}
				if asked == 0 || sent == 0 {
					t.Errorf("%d polls and %d requests, want some of both", asked, sent)
				}
			})
			if got := strings.Contains(said(), "set COREHOUR_RATES_HEADERS"); got != c.said {
				t.Errorf("said:\n%s", said())
			}
			noSecret(t, said())
		})
	}
}

// A rates server cannot redirect the token to another host.
func TestPoll_NoRedirect(t *testing.T) {
	hear(t)
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan string, 10)
		_, stop := start(t, WithEndpoint("http://collector:4318"), WithRates(":4319"), WithHeaders(map[string]string{"authorization": "Bearer tok3n"}),
			WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				seen <- r.URL.Host
				if r.Method == http.MethodGet {
					return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"http://elsewhere/"}}, Body: http.NoBody, Request: r}, nil
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
			})}))
		synctest.Wait()
		stop()
		close(seen)
		asked := false
		for host := range seen {
			asked = asked || host == "collector:4319"
			if host == "elsewhere" {
				t.Error("a redirect is followed")
			}
		}
		if !asked {
			t.Error("rates were not asked for")
		}
	})
}

// The query of a base URL is kept next to the query that identifies the process.
func TestPoll_URLWithQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan *http.Request, 10)
		_, stop := start(t, WithRates("http://rates:1/base?api_key=s3cret#part"), WithService("shop", "1"),
			WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet {
					asked <- r
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
			})}))
		r := <-asked
		q := r.URL.Query()
		if r.URL.Path != "/base/v1/rates" || q.Get("api_key") != "s3cret" || q.Get("service") != "shop" || q.Get("wait") != "25s" {
			t.Errorf("asked at %s", r.URL)
		}
		stop()
	})
}
