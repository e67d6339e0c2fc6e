package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/rulefile"
)

// Threshold is the minimum change and number of records for alerts of some methods.
type Threshold struct {
	Scope
	Method     string  // a prefix of `class.method`
	Percent    float64 // 0 = not set
	MinRecords int64   // 0 = not set
}

// Thresholds is a file of thresholds. A nil *Thresholds changes nothing.
type Thresholds struct {
	thresholds []Threshold // most specific first
}

// ParseThresholds parses the content of the file.
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

// Of returns the threshold of a method. Each figure comes from the most specific matching entry that sets it, or
// else from percent and records.
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
