package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/test/figures"
)

const (
	// sigmas is the largest accepted error of calls in standard errors.
	sigmas = 4
	// least is the standard error where nothing is drawn, so that one missing call exceeds the
	// bound.
	least = 0.2
	// leastShare of the rows, in percent, have the basis that the design names first. For two
	// services many spans arrive before their root.
	leastShare = 10
)

// score is the result of one service of a cell.
type score struct {
	name, service          string
	calls, truth           float64 // of both versions
	worst                  float64 // error of a method, in standard errors
	basis                  string
	rows, byBasis          int64   // of both versions: all, and those with the first basis
	otherBasis             int64   // rows
	found, others          int     // alerts
	evidence               float64 // of the slower method, relative to the needed evidence; 0 = no number
	judged                 bool    // by regress
	allCalls, assumedCalls float64
	wrong                  []string
}

func (s *score) say(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

func (s *score) addFigures(r *figures.Run) {
	r.Compare(s.name+": calls", s.calls, "calls", "its counters", s.truth, figures.Lower, nil)
	r.Add(s.name+": largest error of a method", s.worst, "sigma", figures.Lower, figures.Goal(sigmas))
	r.Add(s.name+": rows by "+s.basis, 100*float64(s.byBasis)/float64(max(s.rows, 1)), "%", figures.Higher, figures.Goal(leastShare))
	r.Add(s.name+": rows by another basis", float64(s.otherBasis), "rows", figures.Lower, figures.Goal(0))
	if s.judged {
		r.Add(s.name+": slower method found", float64(s.found), "", figures.Higher, figures.Goal(1))
		if s.evidence > 0 {
			r.Add(s.name+": evidence of the slower method", s.evidence, "x needed", figures.Higher, nil)
		}
		r.Add(s.name+": other alerts", float64(s.others), "", figures.Lower, figures.Goal(0))
	}
}

// row is a stored method by basis of its probability.
type row struct {
	Version string  `json:"version"`
	Method  string  `json:"name"`
	Basis   string  `json:"weight_basis"`
	Rows    int64   `json:"row_count"`
	Calls   float64 `json:"calls"`
}

func (s *stage) judge(ctx context.Context, of service) (score, error) {
	result := score{name: s.name, service: of.name, judged: of.slower != "", basis: of.bases[0]}
	if len(s.services) > 1 {
		result.name += ", " + of.name
	}
	c := harness.Command{Binary: filepath.Join(s.bin, harness.CommandBinary), Warehouse: s.collector.Warehouse}
	var rows []row
	err := c.SQL(ctx, &rows, `SELECT version, class || '.' || method AS name, weight_basis, COUNT(*) AS row_count, SUM(calls) AS calls
		FROM method_calls WHERE service = '`+of.name+`' AND kind IN ('call', 'counts') GROUP BY ALL ORDER BY ALL`)
	if err != nil {
		return result, err
	}
	s.compare(&result, of, rows)
	if result.judged {
		err = s.regress(ctx, &result, of, c)
	}
	return result, err
}

// compare compares calls with the client's own counts, and checks each basis.
func (s *stage) compare(result *score, of service, rows []row) {
	type sums struct{ rows, calls float64 }
	all, assumed, exact := map[key]sums{}, map[key]sums{}, map[key]bool{}
	add := func(to map[key]sums, k key, r row) {
		to[k] = sums{to[k].rows + float64(r.Rows), to[k].calls + r.Calls}
	}
	for _, r := range rows {
		k := key{of.name, r.Version, r.Method}
		add(all, k, r)
		if r.Version != warm {
			result.rows += r.Rows
			if r.Basis == result.basis {
				result.byBasis += r.Rows
			}
		}
		exact[k] = exact[k] || r.Basis == "exact"
		allowed := slices.Contains(of.bases, r.Basis)
		if r.Basis == "assumed" {
			add(assumed, k, r)
			allowed = s.mayAssume != "" || r.Version == warm
		}
		if !allowed && r.Version != warm {
			result.otherBasis += r.Rows
			result.say("%d rows of %s %s by %q, expected %q", r.Rows, r.Version, r.Method, r.Basis, of.bases)
		}
		if _, known := s.did[k]; !known {
			result.otherBasis += r.Rows
			result.say("%d rows of %s %s, which the client does not count", r.Rows, r.Version, r.Method)
		}
	}
	for k, d := range s.did {
		if k.service != of.name {
			continue
		}
		truth := float64(d.Calls)
		result.allCalls += truth
		if of := all[k]; of.rows > 0 { // by rows, where there are at least as many calls
			result.assumedCalls += truth * max(assumed[k].rows/of.rows, assumed[k].calls/of.calls)
		}
		if k.version == warm {
			continue // of its first 50 traces there are at least as many calls
		}
		result.calls, result.truth = result.calls+all[k].calls, result.truth+truth
		drawn := truth * (1 - s.p) / s.p // variance
		if exact[k] {
			drawn = 0
		}
		off := (all[k].calls - truth) / max(math.Sqrt(drawn), least)
		result.worst = max(result.worst, math.Abs(off))
		if math.Abs(off) > sigmas {
			result.say("%s %s: %.0f calls, the client counted %.0f, which is %+.1f standard errors", k.version, k.method, all[k].calls, truth, off)
		}
	}
}

// regress runs corehour regress and records which method it raised.
func (s *stage) regress(ctx context.Context, result *score, of service, c harness.Command) error {
	found, err := c.Regress(ctx, "--service", of.name, "--base", before, "--head", after, "--metric", "wall", "--slot", "1s", "--warm-up", "0s")
	if err != nil {
		return err
	}
	for _, a := range found.Alerts {
		if a.Kind == "regression" && a.Class+"."+a.Method == of.slower {
			result.found++
			continue
		}
		result.others++
		result.say("alert: %s %s.%s %+.1f%%", a.Kind, a.Class, a.Method, a.ChangePercent)
	}
	var states []string
	for _, comparison := range found.Comparisons {
		for _, m := range comparison.Methods {
			states = append(states, fmt.Sprintf("%s.%s %s (%s)", m.Class, m.Method, m.State, m.Reason))
			if m.Class+"."+m.Method == of.slower && m.EValue != nil && m.NeededEValue != nil {
				result.evidence = *m.EValue / *m.NeededEValue
			}
		}
	}
	if result.found == 0 {
		result.say("%s was not found: %s", of.slower, strings.Join(states, "; "))
	}
	return nil
}
