package capture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/receiver/methodspans"
	"github.com/corehour/corehour/regression/output"
)

// Report contains the receiver's findings for a request and the rows that it becomes.
type Report struct {
	Spans    int                   `json:"spans"`
	Findings []methodspans.Finding `json:"findings"`
	Stored   []StoredRows          `json:"stored"`
}

// StoredRows counts the rows of one kind and weight basis.
type StoredRows struct {
	Kind        string  `json:"kind"`
	WeightBasis string  `json:"weight_basis"`
	Rows        int     `json:"rows"`
	Calls       float64 `json:"calls"`
	Measured    int64   `json:"measured"`
	CPUMeasured int64   `json:"cpu_measured"`
}

// refused is the outcome of a finding about rows that the warehouse does not take.
const refused = "refused"

// Lint checks a request as the receiver does, and its times as the warehouse does at the time now.
func Lint(td ptrace.Traces, now time.Time) (*Report, error) {
	r := &Report{Spans: td.SpanCount()}
	findings, err := methodspans.Lint(td)
	if err != nil {
		return nil, err
	}
	r.Findings = append([]methodspans.Finding{}, findings...) // [] in JSON, not null
	items, _ := methodspan.NewConverter().Items(td)
	for _, e := range warehouse.Misdated(items, warehouse.DefaultLate, warehouse.DefaultFuture, now) {
		r.Findings = append(r.Findings, methodspans.Finding{
			Name: "request", Attribute: "startTimeUnixNano", Found: fmt.Sprintf("%d rows: %s", e.Rows, e.Detail),
			Wanted: "a start that `parquet::late` and `parquet::future` of the exporter allow", Reason: string(e.Reason), Outcome: refused,
		})
	}
	r.Stored = storedAs(items)
	return r, nil
}

// storedAs counts the rows of items, by kind and weight basis.
func storedAs(items []methodspan.Item) []StoredRows {
	stored := []StoredRows{}
	for _, item := range items {
		for i := range item.Rows {
			r := &item.Rows[i]
			at := slices.IndexFunc(stored, func(s StoredRows) bool { return s.Kind == r.Kind && s.WeightBasis == r.WeightBasis })
			if at < 0 {
				at = len(stored)
				stored = append(stored, StoredRows{Kind: r.Kind, WeightBasis: r.WeightBasis})
			}
			s := &stored[at]
			s.Rows++
			s.Calls += r.Calls
			s.Measured += r.Measured
			s.CPUMeasured += r.CPUMeasured
		}
	}
	return stored
}

// Text returns the report as text.
func (r *Report) Text() string {
	var text strings.Builder
	for _, f := range r.Findings {
		where := output.Printable(f.Name)
		if f.Span > 0 {
			where = fmt.Sprintf("span %d %s %s", f.Span, configfile.Quote(f.Name), f.SpanID)
		}
		fmt.Fprintf(&text, "%s: %s: found %s, want %s: %s (%s)\n", where, output.Printable(f.Attribute), output.Printable(f.Found), f.Wanted, f.Outcome, f.Reason)
	}
	if len(r.Findings) > 0 {
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "%d findings in %d spans, stored as\n", len(r.Findings), r.Spans)
	for _, s := range r.Stored {
		fmt.Fprintf(&text, "  %d rows of kind %s, weight_basis %s: %d calls measured, %d with CPU time", s.Rows, s.Kind, s.WeightBasis, s.Measured, s.CPUMeasured)
		switch {
		case s.Calls > 0:
			fmt.Fprintf(&text, ", for %.6g calls", s.Calls)
		case s.Kind == methodspan.KindCall || s.Kind == methodspan.KindAggregate:
			text.WriteString(", with calls from the counts of the process")
		}
		text.WriteByte('\n')
	}
	if len(r.Stored) == 0 {
		text.WriteString("  nothing\n")
	}
	return text.String()
}
