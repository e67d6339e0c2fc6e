package samplingrates

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

// endpoint is a served path.
type endpoint uint8

const (
	endpointRates endpoint = iota
	endpointSampling
	endpointExplain
	endpointOther
	endpointCount
)

var endpointNames = [endpointCount]string{"rates", "sampling", "explain", "other"}

// requestResult is the result of a request.
type requestResult uint8

const (
	resultOK          requestResult = iota // an answer
	resultUnchanged                        // the client has the current rates
	resultBad                              // the query is invalid
	resultUnavailable                      // no rates are published
	resultGone                             // the client left while it waited
	resultFailed                           // the published rates cannot be encoded
	resultRefused                          // no such endpoint, or not by GET
	resultCount
)

var resultNames = [resultCount]string{"ok", "not_modified", "bad_request", "unavailable", "gone", "failed", "refused"}

// exchange is one request and its answer.
type exchange struct {
	http.ResponseWriter
	request  *http.Request
	endpoint endpoint
	bytes    int64
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, e endpoint, serve func(*exchange) requestResult) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			x := &exchange{ResponseWriter: w, request: r, endpoint: e}
			var how requestResult
			if e != endpointOther && r.Method != http.MethodGet {
				w.Header().Set("Allow", http.MethodGet)
				how = x.refuse(http.StatusMethodNotAllowed, resultRefused, "only GET is answered here")
			} else {
				how = serve(x)
			}
			s.telemetry.request(r.Context(), e, how, x.bytes)
		})
	}
	handle("/v1/rates", endpointRates, s.serveRates)
	handle("/sampling", endpointSampling, s.serveSampling)
	handle("/v1/explain", endpointExplain, s.serveExplain)
	handle("/", endpointOther, func(x *exchange) requestResult {
		return x.refuse(http.StatusNotFound, resultRefused, "there is nothing here: ask /v1/rates, /v1/explain or /sampling")
	})
	return mux
}

func (x *exchange) write(status int, body []byte) {
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	n, _ := x.Write(body) // a disconnected client is no fault
	x.bytes += int64(n)
}

// refuse answers with a line of text that describes the fault. It quotes at most a short part of the request.
func (x *exchange) refuse(status int, how requestResult, text string) requestResult {
	x.Header().Set("Content-Type", "text/plain; charset=utf-8")
	x.Header().Set("X-Content-Type-Options", "nosniff")
	x.write(status, []byte(text+"\n"))
	return how
}

func (x *exchange) bad(err error) requestResult {
	return x.refuse(http.StatusBadRequest, resultBad, err.Error())
}

const noRates = "no rates are published: a sampler in a pipeline of this collector has to name this extension under `rates`"

// unavailable tells clients to use their own configuration and to poll again at different times.
func (x *exchange) unavailable() requestResult {
	x.retryAfter(retrySource)
	return x.refuse(http.StatusServiceUnavailable, resultUnavailable,
		noRates)
}

// retryAfter asks the client to retry after so many seconds, or up to as many more.
func (x *exchange) retryAfter(seconds int) {
	x.Header().Set("Retry-After", strconv.Itoa(seconds+rand.IntN(seconds+1)))
}

func (x *exchange) failed(err error) requestResult {
	return x.refuse(http.StatusInternalServerError, resultFailed, fmt.Sprintf("the answer cannot be encoded: %v", err))
}

// send writes an answer, compressed if the client can read that.
func (x *exchange) send(a *answer) requestResult {
	if a.err != nil {
		return x.failed(a.err)
	}
	h := x.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	body := a.plain
	if takesGzip(x.request.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	x.write(http.StatusOK, body)
	return resultOK
}

// takesGzip reports whether gzip is among the encodings and not excluded by q=0.
func takesGzip(accepted []string) bool {
	for _, line := range accepted {
		for part := range strings.SplitSeq(line, ",") {
			name, quality, _ := strings.Cut(part, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			value, given := strings.CutPrefix(strings.ToLower(strings.TrimSpace(quality)), "q=")
			q, err := strconv.ParseFloat(value, 64)
			return !given || err == nil && q > 0
		}
	}
	return false
}
