package corehour

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/corehour/corehour/sdk/internal/prefix"
)

// rateTable is what a collector wants methods to sample, as served at /v1/rates.
// Keys that this version does not know are left out: the collector may be newer.
type rateTable struct {
	revision string
	ttl      time.Duration
	fallback wish // for methods that nothing else speaks of
	exact    map[string]wish
	prefixes prefix.Table[wish]
	faults   int // entries left out
}

const (
	maxRateEntries = 100_000
	defaultRateTTL = 5 * time.Minute
	maxRateTTL     = 24 * time.Hour
)

type servedRates struct {
	Revision json.RawMessage `json:"revision"`
	TTL      float64         `json:"ttl_s"`
	Default  servedRate      `json:"default"`
	Methods  []servedRate    `json:"methods"`
}

type servedRate struct {
	Name     string   `json:"name"`
	Match    string   `json:"match"`
	Mode     string   `json:"mode"`
	P        *float64 `json:"p"`
	CPUP     *float64 `json:"cpu_p"`
	Tail     *bool    `json:"tail"`
	Stack    *bool    `json:"stack"`
	Blocking bool     `json:"blocking"`
}

// parseRates reads an answer. An entry that makes no sense is counted and left out.
func parseRates(data []byte) (*rateTable, error) {
	var served servedRates
	if err := json.Unmarshal(data, &served); err != nil {
		return nil, fmt.Errorf("rates: %w", err)
	}
	if len(served.Methods) > maxRateEntries {
		return nil, fmt.Errorf("rates: must be at most %d, found %d", maxRateEntries, len(served.Methods))
	}
	t := &rateTable{revision: string(served.Revision), ttl: defaultRateTTL, exact: map[string]wish{}}
	if served.TTL > 0 {
		t.ttl = time.Duration(min(served.TTL, maxRateTTL.Seconds()) * float64(time.Second))
	}
	var ok bool
	if t.fallback, ok = served.Default.wish(); !ok {
		t.faults++
	}
	for i := range served.Methods {
		r := &served.Methods[i]
		w, ok := r.wish()
		switch {
		case !ok || (r.Name == "") == (r.Match == ""):
			t.faults++
		case r.Name != "":
			t.exact[normalName(r.Name)] = w
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

func (r *servedRate) wish() (wish, bool) {
	mode, known := modeNamed(r.Mode)
	if r.Mode != "" && !known || !isShare(r.P) || !isShare(r.CPUP) {
		return wish{}, false
	}
	w := wish{rate: r.P, cpuRate: r.CPUP, tail: r.Tail, stack: r.Stack, blocking: r.Blocking}
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

// wishFor returns what the collector wants for this method by name or prefix.
func (t *rateTable) wishFor(normal string) (wish, bool) {
	if w, ok := t.exact[normal]; ok {
		return w, true
	}
	return t.prefixes.Find(normal)
}

// mode is what the method's probe does now.
func (m *Method) mode() Mode {
	if pl := m.plan.Load(); pl != nil {
		return pl.mode
	}
	return Off
}
