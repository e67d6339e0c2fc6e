package query

import (
	"io"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// Option changes how a warehouse is opened.
type Option func(*settings)

type settings struct {
	notices    io.Writer
	exportPath string
	spent      *bigquery.Spent
	atMost     int64 // upper bound of all bytes spent; 0 = unbounded

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

// WithNotices writes estimates and waits of a warehouse that costs money to w, one line each.
func WithNotices(w io.Writer) Option {
	return func(s *settings) {
		if w != nil {
			s.notices = w
		}
	}
}

// WithoutFrameworks ignores the spans of OpenTelemetry's instrumentation libraries if on is set. It does not
// affect statements of the user.
func WithoutFrameworks(on bool) Option {
	return func(s *settings) { s.noFrameworks = on }
}

// ExportTo lets Export write to a file, which must exist.
func ExportTo(path string) Option {
	return func(s *settings) { s.exportPath = path }
}

// CountBytes adds the bytes that the warehouse reads to s, which other warehouses can share, so that one bound
// applies to all of them.
func CountBytes(s *bigquery.Spent) Option {
	return func(set *settings) { set.spent = s }
}

// WithVerifiedFiles skips the checksums of files that were already verified.
func WithVerifiedFiles(v *parquet.VerifiedFiles) Option {
	return func(s *settings) {
		if v != nil {
			s.verified = v
		}
	}
}

// VerifyRollups makes Open verify the checksums of rollups, too. By default they are verified when they
// are read, and rows are read instead of damaged rollups.
func VerifyRollups() Option {
	return func(s *settings) { s.sums = true }
}
