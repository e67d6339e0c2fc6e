package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/capture"
	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/receiver/methodspans"
	"github.com/corehour/corehour/regression/output"
)

// lintAnswer is what `corehour lint-otlp --json` prints.
type lintAnswer struct {
	Spans    int                   `json:"spans"`
	Findings []methodspans.Finding `json:"findings"`
	Stored   []capture.StoredRows  `json:"stored"`
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
	answer.Stored = capture.StoredAs(td)
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
	if path == "-" {
		return capture.Read(os.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return ptrace.Traces{}, errors.Unwrap(err) // the path is named already
	}
	defer file.Close()
	return capture.Read(file)
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
