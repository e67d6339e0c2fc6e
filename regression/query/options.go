package query

import (
	"io"

	"github.com/corehour/corehour/internal/bigquery"
)

// Option changes how a warehouse is opened.
type Option func(*settings)

type settings struct {
	notices io.Writer
	into    string
	spent   *bigquery.Spent

	noFrameworks bool
}

func settingsOf(options []Option) settings {
	set := settings{notices: io.Discard}
	for _, option := range options {
		option(&set)
	}
	return set
}

// Tell has estimates and waits of a warehouse that costs money written to w, a
// line each.
func Tell(w io.Writer) Option {
	return func(s *settings) {
		if w != nil {
			s.notices = w
		}
	}
}

// LeaveOutFrameworks leaves out the spans of OpenTelemetry's instrumentation libraries, as if they
// were not stored, if on. It changes no statement of the user's own.
func LeaveOutFrameworks(on bool) Option {
	return func(s *settings) { s.noFrameworks = on }
}

// Into lets Export write to a file, which must be there.
func Into(path string) Option {
	return func(s *settings) { s.into = path }
}

// Counting counts what the warehouse reads beside what others with the same count read,
// so that one bound holds for all of them.
func Counting(s *bigquery.Spent) Option {
	return func(set *settings) { set.spent = s }
}
