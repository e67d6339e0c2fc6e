package query

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Sampling contains the sampling of the calls of one method in one version.
type Sampling struct {
	MethodName
	Full        string    `json:"-"` // class.method
	Version     string    `json:"version"`
	Revision    string    `json:"revision,omitempty"`
	Signature   string    `json:"signature,omitempty"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Calls       float64   `json:"calls"`
	CallsSE     float64   `json:"calls_se,omitempty"` // standard error of Calls if they are an estimate
	Measured    int64     `json:"measured"`
	CPUMeasured int64     `json:"cpu_measured"`
	Tail        int64     `json:"tail"` // part of Measured, in the tail sample
	// P is the effective probability, after all stages, that a call was measured, over all raw rows.
	// CPUP is the probability that its CPU was measured. Both are zero if no raw row contains them.
	P        float64 `json:"p"`
	LowestP  float64 `json:"lowest_p"`
	HighestP float64 `json:"highest_p"`
	CPUP     float64 `json:"cpu_p"`
	// ConfiguredRate is the highest configured rate of the sampler.
	ConfiguredRate float64 `json:"configured_rate"`
	// Bases are the sources of the probabilities, see weight_basis.
	Bases []string `json:"weight_basis"`
	Tier  string   `json:"tier,omitempty"`
}

// bases are the sources with a column in the statement, in its order.
var bases = [...]string{methodspan.BasisAssumed, methodspan.BasisConfigured, methodspan.BasisEstimated, methodspan.BasisExact,
	methodspan.BasisInherited, methodspan.BasisLegacy, methodspan.BasisServed, methodspan.BasisThreshold}

// Sampling returns the sampling of every method and version.
func (w *Warehouse) Sampling(ctx context.Context, window Window, f Filter) ([]Sampling, error) {
	var out []Sampling
	err := w.queryRows(ctx, "sampling", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var s Sampling
		var first, last int64
		var variance float64
		var rests [len(bases)]int64
		columns := []any{nullable(&s.Namespace), nullable(&s.Name), nullable(&s.Environment), nullable(&s.Version), nullable(&s.Class), nullable(&s.Method),
			nullable(&s.Signature), nullable(&s.Revision), &first, &last, nullable(&s.Calls), nullable(&variance), nullable(&s.Measured), nullable(&s.CPUMeasured), nullable(&s.Tail),
			nullable(&s.P), nullable(&s.LowestP), nullable(&s.HighestP), nullable(&s.CPUP), nullable(&s.ConfiguredRate)}
		for i := range rests {
			columns = append(columns, &rests[i])
		}
		err := rows.Scan(append(columns, nullable(&s.Tier))...)
		s.First, s.Last, s.CallsSE = timeOf(first), timeOf(last), math.Sqrt(variance)
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

// AssumedCalls contains the calls of one method in one version that are a lower bound, since the sampling of their
// spans is unknown, and the variance of all calls of the method.
type AssumedCalls struct {
	MethodName
	Version  string
	Calls    float64
	Variance float64
}

// Assumed returns the methods and versions with spans of other SDKs.
func (w *Warehouse) Assumed(ctx context.Context, window Window, f Filter) ([]AssumedCalls, error) {
	var out []AssumedCalls
	err := w.queryRows(ctx, "assumed", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var a AssumedCalls
		err := rows.Scan(nullable(&a.Namespace), nullable(&a.Name), nullable(&a.Environment), nullable(&a.Version), nullable(&a.Class), nullable(&a.Method), nullable(&a.Calls), nullable(&a.Variance))
		out = append(out, a)
		return err
	})
	return out, err
}

// Merged returns the services whose processes may be merged into one, because their spans do not name the
// process that sent them.
func (w *Warehouse) Merged(ctx context.Context, window Window, f Filter) ([]Service, error) {
	var out []Service
	err := w.queryRows(ctx, "merged", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var s Service
		err := rows.Scan(nullable(&s.Namespace), nullable(&s.Name), nullable(&s.Environment))
		out = append(out, s)
		return err
	})
	return out, err
}
