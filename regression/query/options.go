package query

import (
	"io"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Option changes how a warehouse is opened.
type Option func(*settings)

type settings struct {
	notices io.Writer
	into    string
	spent   *bigquery.Spent
	atMost  int64 // bytes, of all that is spent; 0 = unbounded

	verified *parquet.VerifiedFiles
	sums     bool

	noFrameworks bool
}

func settingsOf(options []Option) settings {
	set := settings{notices: io.Discard, verified: parquet.NewVerifiedFiles("")}
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

// Counting counts what the warehouse reads together with what others with the same count read,
// so that one bound holds for all of them.
func Counting(s *bigquery.Spent) Option {
	return func(set *settings) { set.spent = s }
}

// Remembering leaves out to compare files with their checksums that were compared before.
func Remembering(v *parquet.VerifiedFiles) Option {
	return func(s *settings) {
		if v != nil {
			s.verified = v
		}
	}
}

// WithSums has Open compare rollups with their checksums, too. Else they are when they
// are read, and rows are read in the place of those that are damaged.
func WithSums() Option {
	return func(s *settings) { s.sums = true }
}
