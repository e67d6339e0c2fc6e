package measuredrun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	ours := []string{
		"COREHOUR_ENDPOINTS=http://c:1", "COREHOUR_SAMPLE=0.01",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:1/v1/traces", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
	}
	for _, c := range []struct {
		env, kept []string
		named     bool
	}{
		{[]string{"PATH=/bin"}, []string{"PATH=/bin"}, false},
		{[]string{"OTEL_SERVICE_NAME="}, nil, false},
		{[]string{"OTEL_SERVICE_NAME=mine"}, []string{"OTEL_SERVICE_NAME=mine"}, true},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=mine"}, []string{"OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=mine"}, true},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=a=b"}, []string{"OTEL_RESOURCE_ATTRIBUTES=a=b"}, false},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://m", "COREHOUR_CPU=off", "COREHOUR_METHODS=f"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://m", "COREHOUR_CPU=off", "COREHOUR_METHODS=f"}, false},
		{[]string{"OTEL_SDK_DISABLED=true", "COREHOUR_EXPORT=stderr", "COREHOUR_ENDPOINTS=x", "COREHOUR_RATES_ENDPOINT=x", "OTEL_TRACES_EXPORTER=none", "COREHOUR_SAMPLE=off"}, nil, false},
	} {
		want := slices.Concat(c.kept, ours)
		if !c.named {
			want = append(want, "OTEL_SERVICE_NAME=shop")
		}
		before := slices.Clone(c.env)
		if got := Environment(c.env, "./bin/shop", "http://c:1", 0.01); !slices.Equal(got, want) || !slices.Equal(c.env, before) {
			t.Errorf("%q: got %q, want %q", c.env, got, want)
		}
	}
}

// A program that cannot be started has a shell's exit code for that, and nothing is started.
func TestProgramsThatCannotBeStarted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]int{"no-such-program": 127, "./no/such/program": 127, plain: 126, t.TempDir(): 126} {
		_, err := Run(t.Context(), Settings{Program: []string{program}})
		if not := (*NotStarted)(nil); !errors.As(err, &not) || not.ExitCode != want {
			t.Errorf("%s: %v, want exit code %d", program, err, want)
		}
	}
	if entries, err := os.ReadDir(os.TempDir()); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
