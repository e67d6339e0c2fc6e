package pairs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// alerts makes the alerts of a comparison, most expensive first.
func alerts(c *Comparison, p Pair, o Options, dayOf func() (*cost.Day, error)) ([]alert.Alert, error) {
	callers := callersOf(c.Methods)
	var out []alert.Alert
	for i := range c.Methods {
		l := &c.Methods[i]
		if l.State != evidence.Regressed {
			continue
		}
		a := c.newAlert(alert.Regression, l.Metric, l.Basis)
		a.Class, a.Method, a.Signature = l.Class, l.Method, l.Signature
		a.Base, a.Head, a.ChangePercent, a.Interval, a.Records = l.BaseNSPerCall, l.HeadNSPerCall, *l.ChangePercent, *l.Interval, l.HeadRecords
		if l.Metric == query.CPU {
			day, err := dayOf()
			if err != nil {
				return nil, err
			}
			addDollars(&a, day, l.Basis == "inclusive")
		}
		a.Severity = alert.SeverityOf(impactOf(c, l, p, o, a.USDPerDay))
		a.Reason = reason(c, l, callers[l.full])
		a.ID = alert.ID(&a)
		out = append(out, a)
	}
	slices.SortStableFunc(out, alert.MoreExpensive)
	return out, nil
}

// callersOf lists, by raised method, the callers whose growth it explains,
// through other callers too.
func callersOf(lines []Line) map[string][]*Line {
	out := map[string][]*Line{}
	byName := map[string]*Line{}
	for i := range lines {
		byName[lines[i].full] = &lines[i]
	}
	for i := range lines {
		if lines[i].State != evidence.Explained {
			continue
		}
		// Downwards from the caller; a cycle is walked once.
		seen := map[string]bool{}
		todo := []string{lines[i].full}
		for len(todo) > 0 {
			name := todo[0]
			todo = todo[1:]
			if seen[name] {
				continue
			}
			seen[name] = true
			l := byName[name]
			if l.State == evidence.Regressed {
				out[name] = append(out[name], &lines[i])
			}
			for _, e := range l.explained {
				todo = append(todo, e.callee)
			}
		}
	}
	return out
}

const maxNamedCallers = 5

func reason(c *Comparison, l *Line, callers []*Line) string {
	var b strings.Builder
	what := "its own " + string(l.Metric) + " time (without calls to other methods)"
	if l.Basis == "inclusive" {
		what = "its " + string(l.Metric) + " time with all it calls (its own part alone is too uncertain for a percentage, and has grown for certain)"
	}
	fmt.Fprintf(&b, "%s per call went from %s to %s, %+.1f%% (95%% interval %+.1f%% to %+.1f%%), from version %s to %s; "+
		"%d and %d measured calls, clusters: %s (%d and %d)",
		what, output.Nanos(l.BaseNSPerCall), output.Nanos(l.HeadNSPerCall), *l.ChangePercent, l.Interval[0], l.Interval[1],
		c.BaseVersion, c.HeadVersion, l.BaseRecords, l.HeadRecords, c.Clusters, l.BaseClusters, l.HeadClusters)
	if len(callers) > 0 {
		b.WriteString("; callers that are more expensive because of it: ")
		for i, caller := range callers {
			if i == maxNamedCallers {
				fmt.Fprintf(&b, " and %d more", len(callers)-i)
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			whole := 100 * (caller.head.X/caller.head.N/(caller.base.X/caller.base.N) - 1)
			fmt.Fprintf(&b, "%s (%+.1f%% with all it calls)", caller.full, whole)
		}
	}
	return b.String()
}
