package corehour

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/corehour/corehour/sdk/internal/callers"
	"github.com/corehour/corehour/sdk/internal/prefix"
)

// rateTable holds the rates of methods that a collector serves at /v1/rates. Unknown keys are ignored,
// because the collector can be newer.
type rateTable struct {
	revision string
	ttl      time.Duration
	fallback override // for methods that no entry matches
	exact    map[string]override
	prefixes prefix.Table[override]
	faults   int // entries that were skipped
}

const (
	maxRateEntries = 100_000
	defaultRateTTL = 5 * time.Minute
	maxRateTTL     = 24 * time.Hour
)

type ratesResponse struct {
	Revision json.RawMessage `json:"revision"`
	TTL      float64         `json:"ttl_s"`
	Default  rateEntry       `json:"default"`
	Methods  []rateEntry     `json:"methods"`
}

type rateEntry struct {
	Name     string   `json:"name"`
	Match    string   `json:"match"`
	Mode     string   `json:"mode"`
	P        *float64 `json:"p"`
	CPUP     *float64 `json:"cpu_p"`
	Tail     *bool    `json:"tail"`
	Stack    *bool    `json:"stack"`
	Blocking bool     `json:"blocking"`
}

// poll polls a collector for rates and passes every answer to the control loop.
func (e *engine) poll() {
	var known *rateTable
	read := func(answer []byte, host string) error {
		table, err := parseRates(answer)
		if err != nil {
			return err
		}
		if known = table; table.faults > 0 {
			messages.LogKindf("rates", "%d entries of %s make no sense and are left out", table.faults, host)
		}
		return nil
	}
	served := func() {
		select {
		case e.servedRates <- known:
		case <-e.polling.Done():
		}
	}
	e.poller.Poll(e.polling, read, served, func(err error) { messages.LogKindf("no rates", "%v", err) })
}

// parseRates parses an answer. An invalid entry is counted and skipped.
func parseRates(data []byte) (*rateTable, error) {
	var served ratesResponse
	if err := json.Unmarshal(data, &served); err != nil {
		return nil, fmt.Errorf("rates: %w", err)
	}
	if len(served.Methods) > maxRateEntries {
		return nil, fmt.Errorf("rates: must be at most %d, found %d", maxRateEntries, len(served.Methods))
	}
	t := &rateTable{revision: string(served.Revision), ttl: defaultRateTTL, exact: map[string]override{}}
	if served.TTL > 0 {
		t.ttl = time.Duration(min(served.TTL, maxRateTTL.Seconds()) * float64(time.Second))
	}
	var ok bool
	if t.fallback, ok = served.Default.override(); !ok {
		t.faults++
	}
	for i := range served.Methods {
		r := &served.Methods[i]
		w, ok := r.override()
		switch {
		case !ok || (r.Name == "") == (r.Match == ""):
			t.faults++
		case r.Name != "":
			t.exact[callers.Normal(r.Name)] = w
		default:
			if text, ok := prefix.Of(r.Match); ok {
				t.prefixes.Add(text, w)
			} else {
				t.faults++
			}
		}
	}
	return t, nil
}

func (r *rateEntry) override() (override, bool) {
	mode, known := modeNamed(r.Mode)
	if r.Mode != "" && !known || !isShare(r.P) || !isShare(r.CPUP) {
		return override{}, false
	}
	w := override{rate: r.P, cpuRate: r.CPUP, tail: r.Tail, stack: r.Stack, blocking: r.Blocking}
	if known {
		w.mode = &mode
	}
	return w, true
}

func isShare(p *float64) bool { return p == nil || shareFault("", *p) == "" }

func modeNamed(name string) (Mode, bool) {
	for _, mode := range []Mode{Sample, Aggregate, Off} {
		if mode.String() == name {
			return mode, true
		}
	}
	return 0, false
}

// overrideFor returns the collector's settings for this method, by name or prefix.
func (t *rateTable) overrideFor(normal string) (override, bool) {
	if w, ok := t.exact[normal]; ok {
		return w, true
	}
	return t.prefixes.Find(normal)
}

// mode returns the mode of the method's current plan.
func (m *Method) mode() Mode {
	if pl := m.plan.Load(); pl != nil {
		return pl.mode
	}
	return Off
}
