package query

import (
	"context"
	"database/sql"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Sampling is how the calls of one method of one version were sampled.
type Sampling struct {
	MethodName
	Full        string    `json:"-"` // class.method
	Version     string    `json:"version"`
	Revision    string    `json:"revision,omitempty"`
	Signature   string    `json:"signature,omitempty"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Calls       float64   `json:"calls"`
	Measured    int64     `json:"measured"`
	CPUMeasured int64     `json:"cpu_measured"`
	Tail        int64     `json:"tail"` // of the measured ones, kept for being long
	// P is the probability in force after all stages that a call was measured, over
	// all raw rows; CPUP that its CPU was. Zero where no raw row says it.
	P        float64 `json:"p"`
	LowestP  float64 `json:"lowest_p"`
	HighestP float64 `json:"highest_p"`
	CPUP     float64 `json:"cpu_p"`
	// ConfiguredRate is the highest that the sampler was configured to.
	ConfiguredRate float64 `json:"configured_rate"`
	// Bases are what the probabilities rest on, see weight_basis.
	Bases []string `json:"weight_basis"`
	Tier  string   `json:"tier,omitempty"`
}

// bases are those that the statement has a column for, in its order.
var bases = [...]string{methodspan.BasisAssumed, methodspan.BasisConfigured, methodspan.BasisEstimated, methodspan.BasisExact,
	methodspan.BasisInherited, methodspan.BasisLegacy, methodspan.BasisServed, methodspan.BasisThreshold}

// Sampling lists it for every method and version.
func (w *Warehouse) Sampling(ctx context.Context, window Window, f Filter) ([]Sampling, error) {
	var out []Sampling
	err := w.each(ctx, "sampling", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var s Sampling
		var first, last int64
		var rests [len(bases)]int64
		columns := []any{into(&s.Namespace), into(&s.Name), into(&s.Environment), into(&s.Version), into(&s.Class), into(&s.Method),
			into(&s.Signature), into(&s.Revision), &first, &last, into(&s.Calls), into(&s.Measured), into(&s.CPUMeasured), into(&s.Tail),
			into(&s.P), into(&s.LowestP), into(&s.HighestP), into(&s.CPUP), into(&s.ConfiguredRate)}
		for i := range rests {
			columns = append(columns, &rests[i])
		}
		err := rows.Scan(append(columns, into(&s.Tier))...)
		s.First, s.Last = at(first), at(last)
		for _, measured := range []*int64{&s.Measured, &s.CPUMeasured, &s.Tail} {
			*measured = atMostCounted(*measured, s.Calls)
		}
		s.Full = methodspan.Function{Class: s.Class, Method: s.Method}.Full()
		for i, basis := range bases {
			if rests[i] > 0 {
				s.Bases = append(s.Bases, basis)
			}
		}
		out = append(out, s)
		return err
	})
	return out, err
}

// AssumedCalls are calls of one method of one version that spans stand for of which nothing says
// how they were sampled: there are at least that many.
type AssumedCalls struct {
	MethodName
	Version string
	Calls   float64
}

// Assumed lists them for every method and version that has some.
func (w *Warehouse) Assumed(ctx context.Context, window Window, f Filter) ([]AssumedCalls, error) {
	var out []AssumedCalls
	err := w.each(ctx, "assumed", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var a AssumedCalls
		err := rows.Scan(into(&a.Namespace), into(&a.Name), into(&a.Environment), into(&a.Version), into(&a.Class), into(&a.Method), into(&a.Calls))
		out = append(out, a)
		return err
	})
	return out, err
}

// Merged lists the services several processes of which may be taken for one: their spans do not
// say which process sent them.
func (w *Warehouse) Merged(ctx context.Context, window Window, f Filter) ([]Service, error) {
	var out []Service
	err := w.each(ctx, "merged", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var s Service
		err := rows.Scan(into(&s.Namespace), into(&s.Name), into(&s.Environment))
		out = append(out, s)
		return err
	})
	return out, err
}
