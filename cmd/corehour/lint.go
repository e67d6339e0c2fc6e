package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/receiver/methodspans"
	"github.com/corehour/corehour/regression/output"
)

// maxCapture is how large a request may be, in bytes, packed or not.
const maxCapture = 64 << 20

// lintAnswer is what `corehour lint-otlp --json` prints.
type lintAnswer struct {
	Spans    int                   `json:"spans"`
	Findings []methodspans.Finding `json:"findings"`
	Stored   []storedRows          `json:"stored"`
}

// storedRows are the rows of one kind and basis that a request becomes.
type storedRows struct {
	Kind        string  `json:"kind"`
	WeightBasis string  `json:"weight_basis"`
	Rows        int     `json:"rows"`
	Calls       float64 `json:"calls"`
	Measured    int64   `json:"measured"`
	CPUMeasured int64   `json:"cpu_measured"`
}

func newLintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint-otlp [flags] FILE",
		Short: "Check a captured OTLP request of a client",
		Long: `Checks a captured ExportTraceServiceRequest (protobuf or JSON, also gzipped) by the rules of the
receiver method_spans. For each span it prints the attribute that is wrong, the value found and what
is wanted. FILE - is standard input. See docs/wire.md.`,
		Example: `  corehour lint-otlp request.json
  corehour lint-otlp --json - < request.pb`,
		Annotations: exits("0 no findings\n1 findings\n2 failed: not readable"),
	}
	f := cmd.Flags()
	asJSON := f.Bool("json", false, "print JSON")
	return withWork(cmd, func(_ context.Context, stdout, _ io.Writer) (int, error) {
		if f.NArg() != 1 {
			return exitFailed, fmt.Errorf("want one FILE, or - for standard input, found %d arguments", f.NArg())
		}
		return lintFile(f.Arg(0), *asJSON, stdout)
	})
}

func lintFile(path string, asJSON bool, stdout io.Writer) (int, error) {
	td, err := readCapture(path)
	if err != nil {
		return exitFailed, fmt.Errorf("%s: %w", path, err)
	}
	answer := lintAnswer{Spans: td.SpanCount()}
	if answer.Findings, err = methodspans.Lint(td); err != nil {
		return exitFailed, err
	}
	answer.Stored = storedAs(td)
	code := exitNothing
	if len(answer.Findings) > 0 {
		code = exitFound
	}
	if asJSON {
		if answer.Findings == nil {
			answer.Findings = []methodspans.Finding{}
		}
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return code, encoder.Encode(answer)
	}
	return code, printLint(stdout, &answer)
}

// readCapture reads a request from a file, or from standard input.
func readCapture(path string) (ptrace.Traces, error) {
	from := io.Reader(os.Stdin)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return ptrace.Traces{}, errors.Unwrap(err) // the path is named already
		}
		defer file.Close()
		from = file
	}
	data, err := readAtMost(from)
	if err != nil {
		return ptrace.Traces{}, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unpack, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return ptrace.Traces{}, err
		}
		if data, err = readAtMost(unpack); err != nil {
			return ptrace.Traces{}, err
		}
	}
	return parseCapture(data)
}

func readAtMost(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxCapture+1))
	if err == nil && len(data) > maxCapture {
		err = fmt.Errorf("want a request of at most %d MiB", maxCapture>>20)
	}
	return data, err
}

// parseCapture tells JSON from protobuf by the whole of it: a protobuf message may begin
// like JSON.
func parseCapture(data []byte) (td ptrace.Traces, err error) {
	if text := bytes.TrimSpace(data); bytes.HasPrefix(text, []byte("{")) && json.Valid(text) {
		td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	} else {
		td, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data)
	}
	switch {
	case err != nil:
		return td, fmt.Errorf("want an OTLP ExportTraceServiceRequest in protobuf or JSON: %w", err)
	case td.SpanCount() == 0:
		return td, errors.New("want an OTLP ExportTraceServiceRequest in protobuf or JSON, found no span")
	}
	return td, nil
}

// storedAs adds up the rows that spans become, after the receiver.
func storedAs(td ptrace.Traces) []storedRows {
	stored := []storedRows{}
	items, _ := methodspan.NewConverter().Items(td)
	for _, item := range items {
		for i := range item.Rows {
			r := &item.Rows[i]
			at := slices.IndexFunc(stored, func(s storedRows) bool { return s.Kind == r.Kind && s.WeightBasis == r.WeightBasis })
			if at < 0 {
				at = len(stored)
				stored = append(stored, storedRows{Kind: r.Kind, WeightBasis: r.WeightBasis})
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

func printLint(w io.Writer, a *lintAnswer) error {
	var text bytes.Buffer
	for _, f := range a.Findings {
		where := output.Printable(f.Name)
		if f.Span > 0 {
			where = fmt.Sprintf("span %d %s %s", f.Span, configfile.Quote(f.Name), f.SpanID)
		}
		fmt.Fprintf(&text, "%s: %s: found %s, want %s: %s (%s)\n", where, output.Printable(f.Attribute), output.Printable(f.Found), f.Wanted, f.Outcome, f.Reason)
	}
	if len(a.Findings) > 0 {
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "%d findings in %d spans, stored as\n", len(a.Findings), a.Spans)
	for _, s := range a.Stored {
		fmt.Fprintf(&text, "  %d rows of kind %s, weight_basis %s: %d calls measured, %d with CPU time", s.Rows, s.Kind, s.WeightBasis, s.Measured, s.CPUMeasured)
		switch {
		case s.Calls > 0:
			fmt.Fprintf(&text, ", for %.6g calls", s.Calls)
		case s.Kind == methodspan.KindCall || s.Kind == methodspan.KindAggregate:
			text.WriteString(", with calls from the counts of the process")
		}
		text.WriteByte('\n')
	}
	if len(a.Stored) == 0 {
		text.WriteString("  nothing\n")
	}
	_, err := w.Write(text.Bytes())
	return err
}
