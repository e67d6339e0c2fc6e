package main

import (
	"slices"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/alert"
)

// The text says when an alert could have been known where the rule does, and when it was.
func TestAlertLinesSayWhenItWasKnown(t *testing.T) {
	knowable := time.Date(2026, 3, 10, 9, 5, 0, 0, time.UTC)
	a := alert.Alert{ID: "x", Kind: alert.Regression, RaisedAt: knowable.Add(40 * time.Second)}
	if got := alertLines(&a)[1]; got != "id x" {
		t.Errorf("%q", got)
	}
	a.KnowableSince = &knowable
	if got := alertLines(&a); !slices.Contains(got, "id x, knowable since 2026-03-10T09:05:00Z, raised 2026-03-10T09:05:40Z") {
		t.Errorf("%q", got)
	}
}
