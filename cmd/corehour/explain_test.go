package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/corehour/corehour/extension/samplingrates"
	"github.com/corehour/corehour/internal/rates"
)

// sampler is a stub sampler that explains the methods of its map and records the requests in asked.
type sampler struct {
	methods map[string][]rates.Explanation
	asked   []string
}

func (*sampler) Rates(rates.Target) (*rates.Table, <-chan struct{}) { return nil, nil }

func (s *sampler) Explain(target rates.Target, method string) []rates.Explanation {
	s.asked = append(s.asked, fmt.Sprintf("%+v %s", target, method))
	return s.methods[method]
}

func number(x float64) *float64 { return &x }

// knowing returns a sampler with a method in each state, and a method with a hostile name.
func knowing() *sampler {
	of := func(method string, state rates.MethodState, reason string) rates.Explanation {
		return rates.Explanation{Service: "shop", Environment: "prod", Version: "1.4.2", Method: method, State: state,
			Strategy: "variance", Mode: "sample", Reason: reason, RateAsked: 1}
	}
	codec := of("shop/codec.Encode", rates.Known, "its calls differ little and are many: 0.05% of them are enough")
	codec.Namespace, codec.Tier, codec.Class, codec.Rule, codec.Score = "retail", "inner", "inner", "methods[3] shop/codec.*", "hotspot"
	codec.CallsPerSecond, codec.RecordsPerSecond, codec.RateAsked, codec.RateInForce = 1_234_567, 617.3, 0.0005, number(0.001)
	codec.EntryShare, codec.MeanCPUNs, codec.Spread, codec.SpreadOf = number(0), number(812), number(0.71), "CPU time"
	codec.ErrorOfDay, codec.ErrorOfDayDouble = number(0.00012), number(0.000085)
	old := codec
	old.Version, old.RateInForce, old.CallsPerSecond = "1.4.1", nil, 3.5
	rare := of("shop/report.Print", rates.Rare, "kept whole until more is known")
	rare.CallsPerSecond, rare.RecordsPerSecond, rare.MeanWallNs, rare.Shadow = 0.0031, 0.0031, number(2.5e6), true
	off := of("shop/log.Debug", rates.Off, "the method file says off")
	off.Mode, off.RateAsked, off.Rule, off.CallsPerSecond = "off", 0, "methods[0] shop/log.*", 90
	crowd := of("shop/gen.F1", rates.Overflow, "the table of 10000 methods is full")
	crowd.RateAsked = 0.01
	return &sampler{methods: map[string][]rates.Explanation{
		"shop/codec.Encode":      {codec, old},
		"shop/report.Print":      {rare},
		"shop/log.Debug":         {off},
		"shop/gen.F1":            {crowd},
		"shop/cart.(*Cart).Pay":  {of("shop/cart.(*Cart).Pay", rates.Unseen, "a new method is kept whole at first")},
		"a\x1b[2J|<b>\n\u202e=1": {of("a\x1b[2J|<b>\n\u202e=1", rates.Known, "\x1b]0;x\a")},
	}}
}

// serve starts the real samplingrates extension and returns its URL. The extension publishes s, or nothing if s
// is nil.
func serve(t *testing.T, s *sampler) (url string) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	factory := samplingrates.NewFactory()
	set := extensiontest.NewNopSettings(factory.Type())
	set.Logger = zap.New(core)
	config := factory.CreateDefaultConfig().(*samplingrates.Config)
	config.HTTP.NetAddr.Endpoint = "localhost:0"
	made, err := factory.Create(t.Context(), set, config)
	require.NoError(t, err)
	if s != nil {
		_, err := made.(rates.Publisher).Publish("adaptive_sampler", s)
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
	t.Fatal("the extension does not say where it listens")
	return ""
}

func TestExplain(t *testing.T) {
	s := knowing()
	url := serve(t, s)
	for _, c := range []struct{ name, method string }{
		{"known", "shop/codec.Encode"}, {"rare", "shop/report.Print"}, {"off", "shop/log.Debug"},
		{"overflow", "shop/gen.F1"}, {"unseen", "shop/cart.(*Cart).Pay"},
	} {
		r := corehour("explain", c.method, "--collector", url, "--service", "shop")
		if r.code != exitNothing || r.stderr != "" {
			t.Fatalf("%s: %+v", c.name, r)
		}
		golden(t, "explain_"+c.name+".txt", r.stdout)
	}
	r := corehour("explain", "--collector", url, "--service", "shop", "--format", "markdown", "shop/codec.Encode")
	golden(t, "explain.md", r.stdout)
	r = corehour("explain", "--service=shop", "shop/codec.Encode", "--environment", "prod", "--version", "1.4.2", "--namespace", "retail", "--collector", url+"/", "--format", "json")
	golden(t, "explain.json", r.stdout)
	if last := s.asked[len(s.asked)-1]; last != "{Namespace:retail Service:shop Environment:prod Version:1.4.2 Instance:} shop/codec.Encode" {
		t.Errorf("the sampler was asked for %s", last)
	}
	if r = corehour("explain", "nothing", "--collector", url, "--service", "shop"); r.code != exitCannotTell || !strings.Contains(r.stderr, "has no data of nothing of shop") {
		t.Errorf("%+v", r)
	}
	for _, format := range []string{"text", "json", "markdown"} {
		r = corehour("explain", "a\x1b[2J|<b>\n\u202e=1", "--collector", url, "--service", "shop", "--format", format)
		for _, c := range r.stdout + r.stderr {
			if r.code != exitNothing || c != '\n' && unicode.In(c, unicode.C) {
				t.Fatalf("%s: %U reaches the terminal: %+v", format, c, r)
			}
		}
	}
}

// TestExplain_Errors: an unreachable URL, another server and an outdated collector each give an error that names
// the cause.
func TestExplain_Errors(t *testing.T) {
	answering := func(status int, kind, body string) string {
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
		name string
		args []string
		want []string
	}{
		{"nobody there", []string{"m", "--service", "s", "--collector", gone}, []string{gone, "cannot be reached", "refused", "does the collector run"}},
		{"an old collector", []string{"m", "--service", "s", "--collector", answering(404, "text/plain", "404 page not found")}, []string{"has no /v1/explain", "sampling_rates", "4319"}},
		{"no sampler", []string{"m", "--service", "s", "--collector", serve(t, nil)}, []string{"503", "no rates are published"}},
		{"another server", []string{"m", "--service", "s", "--collector", answering(200, "text/html", "<html>")}, []string{"something else than an explanation", "4319"}},
		{"JSON of another kind", []string{"m", "--service", "s", "--collector", answering(200, "application/json", "[]")}, []string{"something else than an explanation"}},
		{"a guarded one", []string{"m", "--service", "s", "--collector", answering(401, "text/plain", "")}, []string{"401", "wants credentials"}},
		{"a talkative one", []string{"m", "--service", "s", "--collector", answering(500, "text/plain", strings.Repeat("\x1b[2J", 1000)+"\nmore")}, []string{"500", `\x1b[2J`}},
		{"nothing to explain", []string{"--service", "s"}, []string{"want the method to explain"}},
		{"two methods", []string{"a", "--service", "s", "b"}, []string{`found the further argument "b"`}},
		{"everything wrong", []string{"--format", "csv", "--collector", "localhost:4319"}, []string{"want the method", "--service", "--format", "--collector: want a URL"}},
		{"a secret", []string{"m", "--service", "s", "--collector", "http://user:hidden@%zz"}, []string{"--collector: want a URL"}},
		{"unknown flag", []string{"m", "--servcie", "s"}, []string{`did you mean "--service"?`}},
	} {
		r := corehour(append([]string{"explain"}, c.args...)...)
		if r.code != exitFailed || r.stdout != "" || strings.Contains(r.stderr, "hidden") || strings.Contains(r.stderr, "\x1b") || len(r.stderr) > 2000 {
			t.Errorf("%s: %+v", c.name, r)
		}
		for _, want := range c.want {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("%s: no %q in %s", c.name, want, r.stderr)
			}
		}
	}
	r := corehour("explain", "--help")
	if r.code != exitNothing || !strings.Contains(r.stdout, "corehour explain [flags] METHOD") || !strings.Contains(r.stdout, "http://localhost:4319") {
		t.Errorf("%+v", r)
	}
}

// TestExplain_JSONEqualsCollectorAnswer: --format json prints the explanations of the collector unchanged.
func TestExplain_JSONEqualsCollectorAnswer(t *testing.T) {
	r := corehour("explain", "shop/codec.Encode", "--collector", serve(t, knowing()), "--service", "shop", "--format", "json")
	var answer struct{ Explanations []rates.Explanation }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &answer))
	require.Equal(t, knowing().methods["shop/codec.Encode"], answer.Explanations)
}
