package sink

import (
	"fmt"
	"time"
)

// Spec is a sink as people write it: a kind and where its secrets are.
type Spec struct {
	Kind    string // webhook, slack or alertmanager
	Owner   string // part of the name
	URL     string // env:NAME, file:PATH, or for the Alertmanager a plain URL
	Headers string // env:NAME, file:PATH or empty
}

// New makes the sink. hold is how long the Alertmanager keeps a firing alert that is
// not sent again.
func New(s Spec, hold time.Duration, now func() time.Time) (Sink, error) {
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
		return NewAlertmanager(name, to, hold, now), nil
	}
	return nil, fmt.Errorf("want webhook, slack or alertmanager, found %q", s.Kind)
}
