package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/capture"
	"github.com/corehour/corehour/receiver/methodspans"
)

const wireDir = "../../sdk/testdata/wire"

// asProtobuf converts a trace request from JSON to protobuf.
func asProtobuf(t testing.TB, text []byte) []byte {
	t.Helper()
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLint_WireVectors checks the findings of each vector of docs/reference/wire.md, captured as JSON, as protobuf
// and as gzipped protobuf.
func TestLint_WireVectors(t *testing.T) {
	for name, want := range map[string]string{
		"otel-cpu":             "0 findings in 3 spans, stored as\n  3 rows of kind call, weight_basis threshold: 3 calls measured, 2 with CPU time, for 12 calls\n",
		"otel-stated-p":        "0 findings in 2 spans, stored as\n  2 rows of kind call, weight_basis threshold: 2 calls measured, 1 with CPU time, for 20 calls\n",
		"calls-without-counts": "0 findings in 2 spans, stored as\n  2 rows of kind call, weight_basis threshold: 2 calls measured, 1 with CPU time, for 4 calls\n",
		"go-sdk":               "0 findings in 6 spans, stored as\n",
		"faulty":               "9 findings in 8 spans, stored as\n",
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(wireDir, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			if _, err := w.Write(asProtobuf(t, text)); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			code := exitNothing
			if name == "faulty" {
				code = exitFound
			}
			for form, data := range map[string][]byte{"json": text, "protobuf": asProtobuf(t, text), "gzip": packed.Bytes()} {
				path := filepath.Join(t.TempDir(), form)
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				r := corehour("lint-otlp", path)
				if r.code != code || r.stderr != "" || !strings.Contains(r.stdout, want) {
					t.Errorf("%s: %+v, want status %d and\n%s", form, r, code, want)
				}
				r = corehour("lint-otlp", "--json", path)
				var answer capture.Report
				if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != code {
					t.Fatalf("%v %+v", err, r)
				}
				stored, err := os.ReadFile(filepath.Join(wireDir, name+".stored.json"))
				if err != nil {
					t.Fatal(err)
				}
				var wanted struct {
					Rows     []any                 `json:"rows"`
					Findings []methodspans.Finding `json:"findings"`
				}
				if err := json.Unmarshal(stored, &wanted); err != nil {
					t.Fatal(err)
				}
				rows := 0
				for _, s := range answer.Stored {
					rows += s.Rows
				}
				if rows != len(wanted.Rows) || len(answer.Findings) != len(wanted.Findings) {
					t.Fatalf("%s: %d rows and %d findings, want %d and %d", form, rows, len(answer.Findings), len(wanted.Rows), len(wanted.Findings))
				}
				for i, f := range wanted.Findings {
					if answer.Findings[i] != f {
						t.Errorf("%s: found %+v, want %+v", form, answer.Findings[i], f)
					}
				}
			}
		})
	}
	r := corehour("lint-otlp", filepath.Join(wireDir, "faulty.json"))
	golden(t, "lint.txt", r.stdout)
}

func TestLint_StandardInput(t *testing.T) {
	file, err := os.Open(filepath.Join(wireDir, "faulty.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := os.Stdin
	os.Stdin = file
	t.Cleanup(func() { os.Stdin = before })
	if r := corehour("lint-otlp", "-"); r.code != exitFound || !strings.Contains(r.stdout, "9 findings") {
		t.Errorf("%+v", r)
	}
}

func TestLint_InvalidInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":          {[]string{}, "want one FILE, or - for standard input, found 0 arguments"},
		"two":              {[]string{"a", "b"}, "found 2 arguments"},
		"no such file":     {[]string{filepath.Join(dir, "absent")}, "absent: no such file"},
		"text":             {[]string{file("text", "hello")}, "want an OTLP ExportTraceServiceRequest in protobuf or JSON"},
		"JSON of another":  {[]string{file("other", `{"resourceMetrics": []}`)}, "found no span"},
		"broken JSON":      {[]string{file("broken", `{"resourceSpans": [`)}, "want an OTLP ExportTraceServiceRequest"},
		"JSON, wrong type": {[]string{file("typed", `{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "noon"}]}]}]}`)}, "want an OTLP ExportTraceServiceRequest"},
		"empty":            {[]string{file("empty", "")}, "found no span"},
		"broken gzip":      {[]string{file("gz", "\x1f\x8bxxxxxxxxxxxxxx")}, "gzip"},
		"unknown flag":     {[]string{"--jsn", "a"}, "jsn"},
	} {
		t.Run(name, func(t *testing.T) {
			r := corehour(append([]string{"lint-otlp"}, c.args...)...)
			if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, c.want) {
				t.Errorf("%+v, want status 2 and %q", r, c.want)
			}
		})
	}
}

// FuzzLintCapture: any capture is either read or rejected with an error. Reports contain no control characters.
func FuzzLintCapture(f *testing.F) {
	for _, name := range []string{"otel-cpu", "go-sdk", "faulty"} {
		text, err := os.ReadFile(filepath.Join(wireDir, name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(asProtobuf(f, text))
	}
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"corehour.p","value":{"doubleValue":"NaN"}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		td, err := capture.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		report, err := capture.Lint(td)
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
