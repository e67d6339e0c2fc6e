package sink

import (
	"fmt"
	"time"
)

// Spec is the configuration of a sink: its kind and the sources of its secrets.
type Spec struct {
	Kind    string // webhook, slack or alertmanager
	Owner   string // part of the name
	URL     string // env:NAME, file:PATH, or for the Alertmanager a plain URL
	Headers string // env:NAME, file:PATH or empty
}

// holdOnce is the time that the Alertmanager keeps alerts of a command that evaluates once: a timer can run it once a
// day.
const holdOnce = 25 * time.Hour

// holdOf returns the time that the Alertmanager keeps a firing alert that is not sent again.
func holdOf(period time.Duration) time.Duration {
	if period == 0 {
		return holdOnce
	}
	return max(4*period, 15*time.Minute)
}

// New returns the sink of a Spec. period is the time between evaluations, 0 for a single evaluation.
func New(s Spec, period time.Duration, now func() time.Time) (Sink, error) {
	name, read, path := s.Kind, ReadSecret, ""
	if s.Owner != "" {
		name += " of " + s.Owner
	}
	if s.Kind == "alertmanager" {
		read, path = ReadAddress, AlertmanagerPath
	}
	address, err := read(s.URL)
	if err != nil {
		return nil, err
	}
	headers := Secret{}
	if s.Headers != "" {
		if headers, err = ReadSecret(s.Headers); err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
	}
	to, err := NewEndpoint(address, path, headers)
	if err != nil {
		return nil, err
	}
	switch s.Kind {
	case "webhook":
		return NewWebhook(name, to), nil
	case "slack":
		return NewSlack(name, to), nil
	case "alertmanager":
		return NewAlertmanager(name, to, holdOf(period), now), nil
	}
	return nil, fmt.Errorf("want webhook, slack or alertmanager, found %q", s.Kind)
}
