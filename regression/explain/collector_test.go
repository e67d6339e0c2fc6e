package explain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/corehour/corehour/extension/samplingrates"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/regression/query"
)

// publisher publishes explanations by method and records the last request.
type publisher struct {
	methods map[string][]rates.Explanation
	asked   string
}

func (*publisher) Rates(rates.Target) (*rates.Table, <-chan struct{}) { return nil, nil }

func (p *publisher) Explain(target rates.Target, method string) []rates.Explanation {
	p.asked = fmt.Sprintf("%+v %s", target, method)
	return p.methods[method]
}

// serve starts the real samplingrates extension and returns its URL. The extension publishes p, or nothing if p is nil.
func serve(t *testing.T, p *publisher) (url string) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	factory := samplingrates.NewFactory()
	set := extensiontest.NewNopSettings(factory.Type())
	set.Logger = zap.New(core)
	config := factory.CreateDefaultConfig().(*samplingrates.Config)
	config.HTTP.NetAddr.Endpoint = "localhost:0"
	made, err := factory.Create(t.Context(), set, config)
	require.NoError(t, err)
	if p != nil {
		_, err := made.(rates.Publisher).Publish("adaptive_sampler", p)
		require.NoError(t, err)
	}
	require.NoError(t, made.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, made.Shutdown(context.Background()))
	})
	for _, entry := range logs.All() {
		if endpoint, ok := entry.ContextMap()["endpoint"].(string); ok {
			return "http://" + endpoint
		}
	}
	t.Fatal("the extension does not log its endpoint")
	return ""
}

func TestCollector_Address(t *testing.T) {
	target := rates.Target{Service: "shop"}
	for _, c := range []struct {
		url    string
		target rates.Target
		want   string // empty = an error
	}{
		{"http://localhost:4319", target, "http://localhost:4319/v1/explain?method=a.B&service=shop"},
		{"https://host/path/", rates.Target{Namespace: "n", Service: "s p", Environment: "e", Version: "v&w"},
			"https://host/path/v1/explain?environment=e&method=a.B&namespace=n&service=s+p&version=v%26w"},
		{"localhost:4319", target, ""}, {"ftp://localhost", target, ""}, {"http://", target, ""}, {"http://user:hidden@%zz", target, ""},
	} {
		got, err := (&Collector{URL: c.url, Target: c.target, Method: "a.B"}).Address()
		switch {
		case c.want == "":
			if err == nil || !strings.HasPrefix(err.Error(), "--collector: want a URL") || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s: %v", c.url, err)
			}
		case err != nil || got.String() != c.want:
			t.Errorf("%s: %s, want %s, %v", c.url, got, c.want, err)
		}
	}
}

// Ask returns the explanations of the collector unchanged.
func TestCollector_Ask(t *testing.T) {
	p := &publisher{methods: states()}
	url := serve(t, p)
	target := rates.Target{Namespace: "retail", Service: "shop", Environment: "prod", Version: "1.4.2"}
	for method, want := range p.methods {
		got, err := (&Collector{URL: url, Target: target, Method: method}).Ask(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got.Explanations)
		require.Equal(t, "{Namespace:retail Service:shop Environment:prod Version:1.4.2 Instance:} "+method, p.asked)
	}
	_, err := (&Collector{URL: url, Target: target, Method: "nothing"}).Ask(t.Context())
	if !errors.Is(err, query.ErrNoData) || !strings.Contains(err.Error(), "the sampler has no data of nothing of shop") {
		t.Error(err)
	}
}

// An unreachable address, another server and an outdated collector each give an error that names the cause. Errors do
// not contain the query, which can contain a secret.
func TestCollector_AskErrors(t *testing.T) {
	serving := func(status int, kind, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	const gone = "http://127.0.0.1:1" // port 1, where nothing listens
	for _, c := range []struct {
		name, url string
		want      []string
	}{
		{"unreachable", gone, []string{gone + " cannot be reached", "refused", "does the collector run, with the extension sampling_rates?"}},
		{"outdated collector", serving(404, "text/plain", "404 page not found"), []string{"has no /v1/explain", "port 4319 by default"}},
		{"no sampler", serve(t, nil), []string{"503", "no rates are published"}},
		{"another server", serving(200, "text/html", "<html>"), []string{"something else than an explanation", "4319"}},
		{"other JSON", serving(200, "application/json", "[]"), []string{"something else than an explanation"}},
		{"JSON as text", serving(200, "text/plain", `{"explanations":[]}`), []string{"something else than an explanation"}},
		{"no explanation", serving(200, "application/json; charset=utf-8", `{"explanations":[]}`), []string{"the sampler has no data"}},
		{"unauthorized", serving(401, "text/plain", ""), []string{"401", "wants credentials"}},
		{"forbidden", serving(403, "text/plain", ""), []string{"403", "wants credentials"}},
		{"long error", serving(500, "text/plain", "\n"+strings.Repeat("x", 299)+"é\nmore"), []string{"500", "x..."}},
		{"long answer", serving(200, "application/json", strings.Repeat(" ", maxExplanations+1)), []string{"more than 16777216 bytes"}},
	} {
		_, err := (&Collector{URL: c.url, Target: rates.Target{Service: "shop"}, Method: "hidden"}).Ask(t.Context())
		if err == nil || len(err.Error()) > 500 || strings.Contains(err.Error(), "more\n") || c.name != "no explanation" && strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in %v", c.name, want, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Collector{URL: gone, Method: "m"}).Ask(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
