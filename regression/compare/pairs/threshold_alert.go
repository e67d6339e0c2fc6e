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

// alerts returns the alerts of a comparison, most expensive first.
func (j *threshold) alerts(c *Comparison, p Pair, dayOf func() (*cost.Day, error)) ([]alert.Alert, error) {
	callers := callersOf(j.methods)
	var out []alert.Alert
	for i := range j.methods {
		m := &j.methods[i]
		if m.State != evidence.Regressed {
			continue
		}
		a := c.alertOf(&m.Verdict)
		if a.Metric == string(query.CPU) {
			day, err := dayOf()
			if err != nil {
				return nil, err
			}
			addDollars(&a, day, m.Basis == "inclusive")
		}
		a.Severity = alert.SeverityOf(j.impactOf(m, p, a.USDPerDay))
		a.Reason = reason(c, m, callers[m.FullName])
		out = append(out, a)
	}
	slices.SortStableFunc(out, alert.MoreExpensive)
	return out, nil
}

// callersOf returns, for each raised method, the callers whose growth it explains, directly or through other callers.
func callersOf(lines []thresholdMethod) map[string][]*thresholdMethod {
	out := map[string][]*thresholdMethod{}
	byName := map[string]*thresholdMethod{}
	for i := range lines {
		byName[lines[i].FullName] = &lines[i]
	}
	for i := range lines {
		if lines[i].State != evidence.Explained {
			continue
		}
		// Walks down from the caller and visits each method of a cycle once.
		seen := map[string]bool{}
		todo := []string{lines[i].FullName}
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

func reason(c *Comparison, l *thresholdMethod, callers []*thresholdMethod) string {
	var b strings.Builder
	what := "its own " + l.Metric + " time (without calls to other methods)"
	if l.Basis == "inclusive" {
		what = "its " + l.Metric + " time with all it calls (its own part alone is too uncertain for a percentage, and has grown for certain)"
	}
	fmt.Fprintf(&b, "%s per call went from %s to %s, %s, from version %s to %s; "+
		"%d and %d measured calls, clusters: %s (%d and %d)",
		what, output.Nanos(l.BaseNSPerCall), output.Nanos(l.HeadNSPerCall), output.ChangeIn(*l.ChangePercent, *l.Interval),
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
			fmt.Fprintf(&b, "%s (%s with all it calls)", caller.FullName, output.Change(whole))
		}
	}
	return b.String()
}
