package evaluation

import (
	"context"
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/output"
)

// leastDrift is the percentage by which a method must exceed its accepted level. It equals the smallest step that is
// reported.
const leastDrift = 2

// Deliver removes accepted and muted alerts and sends the rest. Alerts that could not be sent are returned too. If
// the state cannot be read, it returns nil.
func (f *Evaluation) Deliver(ctx context.Context, to *delivery.Dispatcher) (raised []alert.Alert, err error) {
	known, err := to.Store.Read()
	if err != nil {
		return nil, err
	}
	keepIDs(f.Alerts, known.Open)
	sorted, err := to.Handle(ctx, f.Alerts, leastDrift, f.resolved)
	if sorted == nil {
		return nil, err
	}
	f.Sorted = *sorted
	return f.Alerts, err
}

// SameDrift is the maximum distance between two dates of the same drift. The date is estimated again when the days
// that confirmed it are no longer stored.
const SameDrift = 28 * 24 * time.Hour

// keepIDs gives alerts the ids under which they were sent earlier.
func keepIDs(alerts []alert.Alert, open []state.OpenAlert) {
	used, sent := map[string]bool{}, map[string]bool{}
	for i := range alerts {
		used[alerts[i].ID] = true
	}
	for i := range open {
		sent[open[i].Alert.ID] = true
	}
	for i := range alerts {
		a := &alerts[i]
		if sent[a.ID] {
			continue
		}
		for j := range open {
			o := &open[j].Alert
			same := o.Kind == a.Kind && o.ServiceNamespace == a.ServiceNamespace && o.Service == a.Service && o.Environment == a.Environment &&
				o.Class == a.Class && o.Method == a.Method && o.Metric == a.Metric
			if same && !open[j].Resolved && !used[o.ID] && o.FirstSeen.Sub(a.FirstSeen).Abs() <= SameDrift {
				used[o.ID] = true
				a.ID = o.ID
				break
			}
		}
	}
}

// resolved reports whether an open drift that the last evaluation did not confirm is over. It is over if the method
// had enough days for that evaluation.
func (f *Evaluation) resolved(a *alert.Alert) (string, bool) {
	if a.Kind != alert.Drift {
		return "", false
	}
	for _, s := range f.Services {
		if s.Namespace != a.ServiceNamespace || s.Name != a.Service || s.Environment != a.Environment || string(s.Metric) != a.Metric || s.LastEvaluation == nil {
			continue
		}
		judged := a.Class == "" && a.Method == "" && s.Judged > 0 // the whole service
		now := 0.0
		for i := range s.Verdicts {
			l := &s.Verdicts[i]
			if l.Class != a.Class || l.Method != a.Method || l.State != NotProven && l.State != Earlier && l.State != Improved {
				continue
			}
			judged, now = true, max(now, l.now)
		}
		switch {
		case !judged:
			return "", false
		case s.NoRowsSince != "":
			return fmt.Sprintf("no rows of the service since %s", s.NoRowsSince), true
		case now > 0 && a.Base > 0:
			return fmt.Sprintf("the evaluation of %s does not confirm it any more: a call takes %s now, and took %s before", *s.LastEvaluation, output.Nanos(now), output.Nanos(a.Base)), true
		}
		return fmt.Sprintf("the evaluation of %s does not confirm it any more", *s.LastEvaluation), true
	}
	return "", false
}
