package samplingrates

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/rates"
)

const question1 = "/v1/rates?namespace=&service=shop&environment=prod&version=1.2&instance=a&wait=25s"

// Answers to requests that do not wait.
func TestHandler_Answers(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", tableOf("7", 0.25))
	r.source.set("broken", tableOf("8", math.NaN()))
	r.source.explain = []rates.Explanation{{Service: "shop", Method: "m", State: rates.Known, Strategy: "variance", Reason: "</script>", RateAsked: 0.25}}
	const table = `{"revision":"7","ttl_s":300,"default":{"mode":"sample","p":1},` +
		`"methods":[{"name":"shop/cart.(*Cart).Total","p":0.25,"reason":"\u003cb\u003e\u0026\u2028"}]}`
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
		body               string // or a part of it, for errors
		counted            string
	}{
		{name: "rates", path: question1, status: 200, body: table, counted: "rates ok"},
		{name: "rates, held already", path: "/v1/rates?service=shop", headers: []string{"If-None-Match", `W/"7"`}, status: 304, counted: "rates not_modified"},
		{name: "a strong tag", path: "/v1/rates?service=shop", headers: []string{"If-None-Match", `"6", "7"`}, status: 304, counted: "rates not_modified"},
		{name: "any tag", path: "/v1/rates?service=shop", headers: []string{"If-None-Match", `*`}, status: 304, counted: "rates not_modified"},
		{name: "an older tag", path: question1, headers: []string{"If-None-Match", `W/"6"`}, status: 200, body: table, counted: "rates ok"},
		{name: "parameters of a newer client", path: question1 + "&colour=red", status: 200, body: table, counted: "rates ok"},
		{name: "no service", path: "/v1/rates?service=", status: 400, body: "`service` must be given", counted: "rates bad_request"},
		{name: "service twice", path: "/v1/rates?service=a&service=b", status: 400, body: "`service` must be given once, found it 2 times", counted: "rates bad_request"},
		{name: "no duration", path: "/v1/rates?service=shop&wait=soon", status: 400, body: "`wait` must be a duration of 0s or more such as 25s, found \"soon\"", counted: "rates bad_request"},
		{name: "a negative duration", path: "/v1/rates?service=shop&wait=-1s", status: 400, body: "`wait`", counted: "rates bad_request"},
		{name: "no UTF-8", path: "/v1/rates?service=shop&version=%ff", status: 400, body: "`version` must be UTF-8", counted: "rates bad_request"},
		{name: "an unfinished escape", path: "/v1/rates?service=%f", status: 400, body: "the query must be of the form", counted: "rates bad_request"},
		{name: "a long parameter", path: "/v1/rates?service=shop&instance=" + strings.Repeat("x", 5000), status: 400, body: "`instance` must have at most 4096 bytes, found 5000", counted: "rates bad_request"},
		{name: "a long query", path: "/v1/rates?service=shop&x=" + strings.Repeat("y", 20000), status: 400, body: "at most 16384 bytes", counted: "rates bad_request"},
		{name: "not a query", method: "POST", path: question1, status: 405, body: "only GET", counted: "rates refused"},
		{name: "a service the sampler knows nothing of", path: "/v1/rates?service=new", status: 503, body: "no rates", counted: "rates unavailable"},
		{name: "nothing there", path: "/v1/rates/", status: 404, body: "ask /v1/rates", counted: "other refused"},
		{name: "what JSON cannot say", path: "/v1/rates?service=broken", status: 500, body: "cannot be encoded", counted: "rates failed"},
		{name: "explain", path: "/v1/explain?service=shop&method=m", status: 200, counted: "explain ok",
			body: `{"explanations":[{"service":"shop","method":"m","state":"known","strategy":"variance","reason":"\u003c/script\u003e","calls_per_second":0,"records_per_second":0,"rate_asked":0.25}]}`},
		{name: "explain nothing", path: "/v1/explain?service=shop", status: 400, body: "`method` must be given", counted: "explain bad_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := r.counted("requests")[c.counted]
			if c.method == "" {
				c.method = "GET"
			}
			got := r.ask(c.method, c.path, c.headers...)
			require.NoError(t, got.err)
			assert.Equal(t, c.status, got.status)
			if c.status == 200 {
				assert.Equal(t, c.body, got.body)
				assert.Equal(t, "application/json", got.header.Get("Content-Type"))
			} else {
				assert.Contains(t, got.body, c.body)
				assert.Less(t, len(got.body), 400, "errors say little of what was sent")
			}
			assert.Equal(t, before+1, r.counted("requests")[c.counted])
			if c.status == 503 {
				assert.NotEmpty(t, got.header.Get("Retry-After"))
			}
		})
	}
	assert.Equal(t, []string{"{Namespace: Service:shop Environment: Version: Instance:} m"}, r.source.explains)
	assert.Equal(t, map[string]int64{"rates": int64(len(r.get(question1).body))}, subtract(r, func() { r.get(question1) }))
}

// subtract returns the bytes that a request added.
func subtract(r *rig, do func()) map[string]int64 {
	before := r.counted("bytes")
	do()
	added := map[string]int64{}
	for name, n := range r.counted("bytes") {
		if n > before[name] {
			added[name] = n - before[name]
		}
	}
	return added
}

// An empty list of methods is encoded as a list.
func TestHandler_NoMethods(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", &rates.Table{Revision: "1", TTLSeconds: 60})
	assert.Equal(t, `{"revision":"1","ttl_s":60,"default":{},"methods":[]}`, r.get("/v1/rates?service=shop").body)
	r.source.explain = nil
	assert.Equal(t, `{"explanations":[]}`, r.get("/v1/explain?service=shop&method=m").body)
}

func TestExplanations_Bounded(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.explain = make([]rates.Explanation, maxExplanations+7)
	var got explanations
	require.NoError(t, json.Unmarshal([]byte(r.get("/v1/explain?service=shop&method=m").body), &got))
	assert.Len(t, got.Explanations, maxExplanations)
	assert.Equal(t, 7, got.More)
}

func TestHandler_Compression(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", tableOf("7", 0.25))
	plain := r.get(question1)
	for accepted, packed := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "": false, "identity": false, "gzip;q=0": false, "gzip;q=x": false, "br": false,
	} {
		got := r.get(question1, "Accept-Encoding", accepted)
		assert.Equal(t, packed, got.header.Get("Content-Encoding") == "gzip", accepted)
		assert.Equal(t, plain.header.Get("ETag"), got.header.Get("ETag"))
		assert.Equal(t, "Accept-Encoding", got.header.Get("Vary"))
		if packed {
			unpack, err := gzip.NewReader(strings.NewReader(got.body))
			require.NoError(t, err)
			text, err := io.ReadAll(unpack)
			require.NoError(t, err)
			got.body = string(text)
		}
		assert.Equal(t, plain.body, got.body, accepted)
	}
}

// Any revision becomes an ETag that fits into a header and is recognised when it comes back.
func TestHandler_ETags(t *testing.T) {
	seen := map[string]string{}
	for _, revision := range []string{"", "1", "a b", `a"b`, "a,b", "ä", "a\nb", strings.Repeat("x", 65), strings.Repeat("x", 66)} {
		tag := etag(revision)
		assert.Regexp(t, `^W/"[!-~]{0,64}"$`, tag)
		assert.True(t, isKnown(tag, revision), revision)
		assert.False(t, isKnown("", revision), revision)
		assert.Empty(t, seen[tag], revision)
		seen[tag] = revision + "!"
	}
}

func TestPublish_SingleSource(t *testing.T) {
	r := newRig(t, testConfig(nil))
	t.Cleanup(func() { require.NoError(t, r.server.Shutdown(t.Context())) })
	_, err := r.server.Publish("adaptive_sampler/b", newSource())
	assert.ErrorContains(t, err, `"adaptive_sampler" publishes rates here already, so "adaptive_sampler/b" cannot`)
}

func TestPublish_Withdraw(t *testing.T) {
	r := newRig(t, testConfig(nil))
	t.Cleanup(func() { require.NoError(t, r.server.Shutdown(t.Context())) })
	r.server.publication = publication{}
	first, err := r.server.Publish("a", newSource())
	require.NoError(t, err)
	first()
	second, err := r.server.Publish("b", newSource())
	require.NoError(t, err)
	first() // a second withdrawal has no effect
	require.NotNil(t, r.server.get())
	assert.Equal(t, "b", r.server.get().owner)
	second()
	assert.Nil(t, r.server.get())
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "service=a", "service=a&wait=25s&x=y", "service=%ff", "service=a&service=b", "wait=1h;service=a", "service=a&wait=-1s", "%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, names := range []parameters{ratesParameters, samplingParameters, explainParameters} {
			q, err := names.parse(raw)
			if err != nil {
				if text := err.Error(); len(text) > 1000 || strings.ContainsAny(text, "\n\x1b") || errors.Unwrap(err) != nil {
					t.Errorf("%q gives the error %q", raw, text)
				}
				continue
			}
			values, err := url.ParseQuery(raw)
			if err != nil || q.target.Service == "" || q.target.Service != values.Get("service") || q.wait < 0 {
				t.Errorf("%q is read as %+v, %v", raw, q, err)
			}
		}
	})
}
