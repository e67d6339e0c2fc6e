package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/capture"
)

func newLintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint-otlp [flags] FILE",
		Short: "Check a captured OTLP request of a client",
		Long: `Checks a captured ExportTraceServiceRequest (protobuf or JSON, also gzipped) by the rules of the
receiver method_spans, and its times by those of the exporter warehouse. For each span it prints the
attribute that is wrong, the value found and what is wanted. FILE - is standard input.
See docs/reference/wire.md.`,
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
	report, err := capture.Lint(td, time.Now())
	if err != nil {
		return exitFailed, err
	}
	code := exitNothing
	if len(report.Findings) > 0 {
		code = exitFound
	}
	if asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return code, encoder.Encode(report)
	}
	_, err = io.WriteString(stdout, report.Text())
	return code, err
}

// readCapture reads a request from a file or from standard input.
func readCapture(path string) (ptrace.Traces, error) {
	if path == "-" {
		return capture.Read(os.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return ptrace.Traces{}, errors.Unwrap(err) // the error names the path already
	}
	defer file.Close()
	return capture.Read(file)
}
