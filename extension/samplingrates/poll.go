package samplingrates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/rates"
)

// retryNotHeld is the pause for a client whose poll could not be held.
const retryNotHeld = 5 // seconds

// retrySource is the pause for a client while there are no rates.
const retrySource = 2 // seconds

// serveRates answers a corehour SDK: at once if its rates differ from those of its If-None-Match, else when they
// change, or at the end of the wait with 304. Provisional rates count as none: a process that has moved here from
// another collector keeps its rates until its records have shown them.
func (s *server) serveRates(x *exchange) requestResult {
	q, err := ratesParameters.parse(x.request.URL.RawQuery)
	if err != nil {
		return x.bad(err)
	}
	from := s.get()
	if from == nil {
		return x.unavailable()
	}
	table, changed := from.source.Rates(q.target)
	known := x.request.Header.Get("If-None-Match")
	switch {
	case table == nil:
		return x.unavailable()
	case !table.Provisional && !isKnown(known, table.Revision):
		return s.sendRates(x, q.target, table)
	}
	wait := min(q.wait, s.config.maxWait())
	if wait == 0 {
		return x.unchanged(table)
	}
	if !s.waiting.enter() {
		s.telemetry.overflowed(x.request.Context(), tableWaiting, 1)
		x.retryAfter(retryNotHeld)
		return x.unchanged(table)
	}
	defer s.waiting.leave()
	return s.waitForChange(x, q.target, from, table, changed, jittered(wait))
}

// waitForChange holds a request until the rates differ from the client's.
func (s *server) waitForChange(x *exchange, target rates.Target, from *published, table *rates.Table, changed <-chan struct{}, wait time.Duration) requestResult {
	had := table
	end := time.NewTimer(wait)
	defer end.Stop()
	var turn <-chan time.Time // when it is this client's, once there is a change
	for {
		select {
		case <-x.request.Context().Done():
			return resultGone
		case <-from.gone:
			return x.unavailable()
		case <-s.stopping:
			x.Header().Set("Connection", "close")
			return x.unchanged(table)
		case <-end.C:
			return x.unchanged(table)
		case <-changed:
			changed, turn = nil, time.After(s.waiting.turn())
			continue
		case <-turn:
		}
		turn = nil
		if table, changed = from.source.Rates(target); table == nil {
			return x.unavailable()
		}
		if !table.Provisional && (had.Provisional || table.Revision != had.Revision) {
			s.telemetry.pushed(x.request.Context())
			return s.sendRates(x, target, table)
		}
	}
}

func (s *server) sendRates(x *exchange, target rates.Target, table *rates.Table) requestResult {
	key := answerKey{endpointRates, target.Namespace, target.Service, target.Environment, target.Version}
	a, gone := s.answers.answerFor(key, table.Revision, func(*answer) ([]byte, error) { return encodeRates(table) })
	s.telemetry.overflowed(x.request.Context(), tableAnswers, gone)
	x.Header().Set("ETag", etag(table.Revision))
	return x.send(a)
}

// encodeRates encodes no methods as an empty list, as the contract requires.
func encodeRates(table *rates.Table) ([]byte, error) {
	if table.Methods == nil {
		filled := *table
		filled.Methods = []rates.Rate{}
		table = &filled
	}
	return json.Marshal(table)
}

func (x *exchange) unchanged(table *rates.Table) requestResult {
	if table.Provisional {
		if x.Header().Get("Retry-After") == "" {
			x.retryAfter(retrySource)
		}
		return x.refuse(http.StatusServiceUnavailable, resultUnavailable, "nothing has arrived from this service yet, so nothing is known of it")
	}
	x.Header().Set("ETag", etag(table.Revision))
	x.Header().Set("Cache-Control", "no-cache")
	x.WriteHeader(http.StatusNotModified)
	return resultUnchanged
}

// etag returns a weak ETag, because the same rates are sent compressed and uncompressed. A revision that does not
// fit into a header is replaced by its hash.
func etag(revision string) string {
	if len(revision) > 64 || strings.ContainsFunc(revision, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == ',' }) {
		sum := sha256.Sum256([]byte(revision))
		revision = hex.EncodeToString(sum[:16])
	}
	return `W/"` + revision + `"`
}

// isKnown compares weakly, as If-None-Match is to be compared.
func isKnown(ifNoneMatch, revision string) bool {
	strong := strings.TrimPrefix(etag(revision), "W/")
	for tag := range strings.SplitSeq(ifNoneMatch, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strong {
			return true
		}
	}
	return false
}
