package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rulefile"
)

// Threshold is what a change of some methods must be to be raised by a threshold.
type Threshold struct {
	Scope
	Method     string  // a prefix of `class.method`
	Percent    float64 // 0 = as elsewhere
	MinRecords int64   // 0 = as elsewhere
}

// Thresholds is a file of thresholds. The nil one changes nothing.
type Thresholds struct {
	thresholds []Threshold // most specific first
}

// ParseThresholds reads the file.
func ParseThresholds(data []byte) (*Thresholds, []configfile.Warning, error) {
	out := &Thresholds{}
	warnings, err := rulefile.Parse(data, rulefile.List{
		Name: "thresholds", Fields: []string{"namespace", "service", "environment", "class", "method", "threshold_percent", "min_records"},
		Read: func(e *rulefile.Entry) {
			t := Threshold{Scope: scopeOf(e), Method: e.Text("method"), Percent: e.Positive("threshold_percent")}
			records := e.Positive("min_records")
			t.MinRecords = int64(math.Ceil(min(records, 1e15)))
			if !e.Faulty() && t.Scope == (Scope{}) && t.Method == "" {
				e.Fault("", "must select something", "nothing", "name a namespace, service, environment, class or method; --threshold is for all")
			}
			if !e.Faulty() && t.Percent == 0 && t.MinRecords == 0 {
				e.Fault("", "must say threshold_percent or min_records", "neither", "")
			}
			if !e.Faulty() {
				out.thresholds = append(out.thresholds, t)
			}
		}})
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(out.thresholds, func(a, b Threshold) int {
		return cmp.Or(cmp.Compare(len(b.Method), len(a.Method)), moreSpecific(a.Scope, b.Scope))
	})
	return out, warnings, nil
}

// Of is what a method's change and records must be: of the entries that select it the
// most specific that says so, else what is given.
func (t *Thresholds) Of(namespace, service, environment, class, full string, percent float64, records int64) (float64, int64) {
	if t == nil {
		return percent, records
	}
	foundPercent, foundRecords := 0.0, int64(0)
	for i := range t.thresholds {
		x := &t.thresholds[i]
		if x.Matches(namespace, service, environment, class) && strings.HasPrefix(full, x.Method) {
			foundPercent, foundRecords = cmp.Or(foundPercent, x.Percent), cmp.Or(foundRecords, x.MinRecords)
		}
	}
	return cmp.Or(foundPercent, percent), cmp.Or(foundRecords, records)
}
