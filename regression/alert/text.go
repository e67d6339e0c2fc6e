package alert

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/output"
)

// Lines returns the alert as lines of text: the headline, its id and owner, and if verbose or for a budget the evidence.
func (a *Alert) Lines(verbose bool) []string {
	lines := []string{a.Headline(nil), "  " + a.tags(nil)}
	if verbose {
		if a.KnowableSince != nil {
			lines[1] += fmt.Sprintf(", knowable since %s, raised %s", a.KnowableSince.UTC().Format(time.RFC3339), a.RaisedAt.UTC().Format(time.RFC3339))
		}
	}
	if verbose || a.Kind == Budget { // the reason of a budget is the measured cost with its interval
		lines = append(lines, "  "+a.Reason)
	}
	return lines
}

// Line returns the headline with severity, owner and id. quote marks untrusted names; nil leaves them as they are.
func (a *Alert) Line(quote func(string) string) string {
	return a.Headline(quote) + ", " + a.tags(quote)
}

// tags returns severity, owner and id, and the running time that the dollars are scaled from if it is short.
func (a *Alert) tags(quote func(string) string) string {
	quote = orPlain(quote)
	tags := string(a.Severity)
	if a.Owner != "" {
		tags += ", owner " + quote(a.Owner)
	}
	return tags + ", id " + quote(a.ID) + a.wholeDay()
}

// Headline returns the alert as one line: what regressed, by how much, and the dollars. quote marks untrusted names; nil
// leaves them as they are.
func (a *Alert) Headline(quote func(string) string) string {
	quote = orPlain(quote)
	parts := []string{a.change()}
	switch l := a.Levels(); {
	case a.Kind == Budget:
		parts = []string{fmt.Sprintf("$%s/day, planned $%s/day", output.Amount(a.Head), output.Amount(a.Base))}
	case a.Kind == MoreCalls:
		parts = append(parts, l.Before+" -> "+l.After)
	case l.Before != "":
		parts = append(parts, output.NanosChange(a.Base, a.Head))
	}
	if a.USDPerDay != nil {
		usd := fmt.Sprintf("+$%s/day", output.Amount(math.Abs(*a.USDPerDay)))
		if *a.USDPerDay < 0 {
			usd = "-" + usd[1:]
		}
		if a.GenericPrice {
			usd += " (generic price)"
		}
		parts = append(parts, usd)
	}
	if a.Kind != Budget {
		parts = append(parts, "95% "+output.Interval(&a.Interval, output.RoundChange))
	}
	verb := map[string]string{Budget: "OVER BUDGET", Drift: "DRIFTED"}[a.Kind]
	return fmt.Sprintf("%s %s%s: %s", cmp.Or(verb, "REGRESSED"), a.subject(quote), a.where(quote), strings.Join(parts, ", "))
}

// wholeDay returns the running time that the dollars per day are scaled from if it is below a day: the figure of a job that
// ran once is that of a whole day of running.
func (a *Alert) wholeDay() string {
	basis, _, _ := strings.Cut(a.USDPerDayBasis, ";")
	if of := strings.Fields(basis); a.USDPerDay == nil || len(of) < 4 || of[0] != "ran" || of[3] == "d" {
		return ""
	}
	return "; $/day is for a whole day, it " + basis
}

func orPlain(quote func(string) string) func(string) string {
	if quote == nil {
		return func(s string) string { return s }
	}
	return quote
}

// subject returns the name without the path of its package.
func (a *Alert) subject(quote func(string) string) string {
	switch {
	case a.Kind == Budget:
		return quote(a.Budget)
	case a.Kind == WholeService:
		return a.Name()
	case a.Caller != "":
		return quote(output.WithoutPath(a.Name())) + " called by " + quote(output.WithoutPath(a.Caller))
	}
	return quote(output.WithoutPath(a.Name()))
}

// where returns the service with its versions, or with the day on which a drift began.
func (a *Alert) where(quote func(string) string) string {
	if a.Service == "" {
		return ""
	}
	service := a.Service
	if a.ServiceNamespace != "" {
		service = a.ServiceNamespace + "/" + service
	}
	out := quote(service)
	switch {
	case a.Kind == Drift:
		out += " since " + a.FirstSeen.UTC().Format(time.DateOnly)
	case a.Kind != Budget:
		out += " " + quote(a.BaseVersion) + " -> " + quote(a.HeadVersion)
	}
	if a.Environment != "" {
		out += ", " + quote(a.Environment)
	}
	return " (" + out + ")"
}

// change returns the change in percent and its unit.
func (a *Alert) change() string {
	metric := a.Metric
	if metric == "cpu" {
		metric = "CPU"
	}
	if a.Basis == "inclusive" {
		metric = "inclusive " + metric
	}
	of := metric + " per call"
	switch a.Kind {
	case MoreCalls:
		of = "calls per call of its caller"
	case WholeService:
		of = metric + " of all methods"
	}
	return output.RoundChange(a.ChangePercent) + " " + of
}
