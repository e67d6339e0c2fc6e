package evaluation

import (
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/query"
)

// A drift with a new date keeps its id if the dates are close and no other alert has that id.
func TestKeepIDs(t *testing.T) {
	began := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	of := func(id, method string, days int) alert.Alert {
		return alert.Alert{ID: id, Kind: alert.Drift, Service: "shop", Method: method, Metric: "cpu", FirstSeen: began.AddDate(0, 0, days)}
	}
	open := []state.OpenAlert{{Alert: of("near", "a", 0)}, {Alert: of("far", "b", 0)}, {Alert: of("over", "c", 0), Resolved: true}, {Alert: of("same", "d", 0)}}
	alerts := []alert.Alert{of("1", "a", 28), of("2", "b", 29), of("3", "c", 1), of("4", "d", 1), of("same", "d", 0)}
	keepIDs(alerts, open)
	for i, want := range []string{"near", "2", "3", "4", "same"} {
		if alerts[i].ID != want {
			t.Errorf("the drift of %s has the id %s, want %s", alerts[i].Method, alerts[i].ID, want)
		}
	}
}

// An open drift is resolved by an evaluation that had enough days and did not confirm it.
func TestResolution(t *testing.T) {
	for name, test := range map[string]struct {
		state State
		now   float64
		ended string
		want  string
	}{
		"confirmed":          {Confirmed, 150, "", ""},
		"too little history": {TooLittleHistory, 150, "", ""},
		"not confirmed":      {NotProven, 150, "", "the evaluation of 2026-03-10 does not confirm it any more: a call takes 150ns now, and took 100ns before"},
		"not called":         {Earlier, 0, "", "the evaluation of 2026-03-10 does not confirm it any more"},
		"no rows":            {Earlier, 150, "2026-02-01", "no rows of the service since 2026-02-01"},
	} {
		s := &Service{
			Service: query.Service{Name: "shop"}, Metric: query.CPU, LastEvaluation: new("2026-03-10"), NoRowsSince: test.ended,
			Verdicts: []Verdict{{Class: "shop", Method: "Total", State: test.state, now: test.now}},
		}
		f := &Evaluation{Services: []*Service{s}}
		a := &alert.Alert{Kind: alert.Drift, Service: "shop", Class: "shop", Method: "Total", Metric: "cpu", Base: 100}
		if why, resolved := f.resolved(a); why != test.want || resolved != (test.want != "") {
			t.Errorf("%s: %t, %q, want %q", name, resolved, why, test.want)
		}
	}
}
