package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/receiver/methodspans"
	"github.com/corehour/corehour/test/golden"
)

// soon is when the requests of docs/reference/wire.md are sent.
var soon = time.Unix(1790000100, 0)

// vector returns a request of docs/reference/wire.md as JSON and as protobuf.
func vector(t testing.TB, name string) (text, binary []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../sdk/testdata/wire", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		t.Fatal(err)
	}
	binary, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	return text, binary
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func lint(t *testing.T, data []byte) *Report {
	t.Helper()
	td, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	report, err := Lint(td, soon)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Each vector has the same findings and rows as JSON, as protobuf and as gzipped protobuf.
func TestLint_WireVectors(t *testing.T) {
	for name, want := range map[string]string{
		"otel-cpu":             "0 findings in 3 spans, stored as\n  3 rows of kind call, weight_basis threshold: 3 calls measured, 2 with CPU time, for 12 calls\n",
		"otel-stated-p":        "0 findings in 2 spans, stored as\n  2 rows of kind call, weight_basis threshold: 2 calls measured, 1 with CPU time, for 20 calls\n",
		"calls-without-counts": "0 findings in 2 spans, stored as\n  2 rows of kind call, weight_basis threshold: 2 calls measured, 1 with CPU time, for 4 calls\n",
		"go-sdk":               "0 findings in 6 spans, stored as\n",
		"faulty":               "9 findings in 8 spans, stored as\n",
	} {
		text, binary := vector(t, name)
		report := lint(t, text)
		if said := report.Text(); !strings.Contains(said, want) {
			t.Errorf("%s: no %q in %s", name, want, said)
		}
		for form, data := range map[string][]byte{"protobuf": binary, "gzip": zipped(t, binary)} {
			if other := lint(t, data); !reflect.DeepEqual(other, report) {
				t.Errorf("%s as %s: %+v, want %+v", name, form, other, report)
			}
		}
		stored, err := os.ReadFile(filepath.Join("../../sdk/testdata/wire", name+".stored.json"))
		if err != nil {
			t.Fatal(err)
		}
		var expected struct {
			Rows     []any                 `json:"rows"`
			Findings []methodspans.Finding `json:"findings"`
		}
		if err := json.Unmarshal(stored, &expected); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, s := range report.Stored {
			rows += s.Rows
		}
		if rows != len(expected.Rows) || len(report.Findings)+len(expected.Findings) > 0 && !reflect.DeepEqual(report.Findings, expected.Findings) {
			t.Errorf("%s: %d rows and findings %+v, want %d and %+v", name, rows, report.Findings, len(expected.Rows), expected.Findings)
		}
	}
	text, _ := vector(t, "faulty")
	golden.Check(t, "faulty.txt", lint(t, text).Text())
}

// A request whose spans start before or after the time that a warehouse takes is no clean one.
func TestLint_StartOutOfRange(t *testing.T) {
	for name, c := range map[string]struct {
		now  time.Time
		want string
	}{
		"too late":  {soon.Add(31 * 24 * time.Hour), "request: startTimeUnixNano: found 3 rows: the earliest started at 2026-09-21T14:13:20Z, more than 720h0m0s ago, want a start that `parquet::late` and `parquet::future` of the exporter allow: refused (too_late)\n\n1 findings in 3 spans"},
		"in future": {soon.Add(-25 * time.Hour), "found 3 rows: the latest starts at 2026-09-21T14:13:20Z, more than 24h0m0s ahead of this machine's clock"},
	} {
		text, _ := vector(t, "otel-cpu")
		td, err := Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		report, err := Lint(td, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Text(); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
	}
}

func TestRead_InvalidInput(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"text":             {"hello", "want an OTLP ExportTraceServiceRequest in protobuf or JSON"},
		"other JSON":       {`{"resourceMetrics": []}`, "found no span"},
		"broken JSON":      {`{"resourceSpans": [`, "want an OTLP ExportTraceServiceRequest"},
		"JSON, wrong type": {`{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "noon"}]}]}]}`, "want an OTLP ExportTraceServiceRequest"},
		"empty":            {"", "found no span"},
		"broken gzip":      {"\x1f\x8bxxxxxxxxxxxxxx", "gzip"},
		"too large":        {string(zipped(t, make([]byte, maxBytes+1))), "at most 64 MiB"},
	} {
		if _, err := Read(strings.NewReader(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzLint: any capture is either read or rejected with an error. Reports contain no control characters.
func FuzzLint(f *testing.F) {
	for _, name := range []string{"otel-cpu", "go-sdk", "faulty"} {
		text, binary := vector(f, name)
		f.Add(text)
		f.Add(binary)
	}
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"corehour.p","value":{"doubleValue":"NaN"}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		td, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		report, err := Lint(td, soon)
		if err != nil {
			t.Fatal(err)
		}
		if text := report.Text(); strings.ContainsAny(text, "\x1b\x00") {
			t.Errorf("%q", text)
		}
		if _, err := json.Marshal(report); err != nil {
			t.Error(err)
		}
	})
}
