package alert

import (
	"slices"
	"testing"
	"time"
)

// The text contains the raise time of an alert, and the time from which it was knowable if the rule provides it.
func TestAlertLines_KnowableSince(t *testing.T) {
	knowable := time.Date(2026, 3, 10, 9, 5, 0, 0, time.UTC)
	a := Alert{ID: "x", Kind: Regression, RaisedAt: knowable.Add(40 * time.Second)}
	if got := a.Lines()[1]; got != "id x" {
		t.Errorf("%q", got)
	}
	a.KnowableSince = &knowable
	if got := a.Lines(); !slices.Contains(got, "id x, knowable since 2026-03-10T09:05:00Z, raised 2026-03-10T09:05:40Z") {
		t.Errorf("%q", got)
	}
}
