package integration

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/corehour/corehour/integration/harness"
)

// hostile are names that do harm where a reader does not escape them.
var hostile = map[string]string{
	"path":           "../../../etc/passwd",
	"absolute path":  "/etc/passwd\\..\\",
	"single quote":   `x'; DROP VIEW method_calls; --`,
	"double quote":   `x" onload="alert(1)`,
	"newline":        "a\nb\r\nc\t",
	"nul":            "a\x00b",
	"escape":         "\x1b]0;owned\x07\x1b[2J\x1b[31m\u009b31m",
	"64 kB":          strings.Repeat("0123456789abcdef", 4096),
	"emoji":          "👩‍👩‍👧 🦀\U000e0041",
	"right to left":  "abc\u202egnp.exe\u2066\u200f مرحبا",
	"invalid UTF-8":  "a\xff\xfe\xc0\xafb",
	"markup":         `<script>alert(1)</script><img src=x onerror=alert(1)>`,
	"markdown":       "| a | [x](javascript:alert(1)) `b` ![i](http://e/x) **c**",
	"formula":        "=cmd|' /C calc'!A0",
	"template":       "{{.}} ${env:HOME} %s%d%n $(id) `id`",
	"line separator": "a\u2028b\u2029c\ufeff",
	"overflow":       "(overflow)",
	"entry":          "(entry)",
	"null":           "NULL",
}

// identityColumns are the text columns that identify a row, with the source of each value.
var identityColumns = map[string]string{
	"service_namespace": "service.namespace", "service": "service.name", "version": "service.version", "revision": "vcs.ref.head.revision",
	"environment": "deployment.environment.name", "instance": "service.instance.id", "host": "host.name", "host_type": "host.type",
	"cloud_provider": "cloud.provider", "region": "cloud.region", "capacity_type": "corehour.capacity_type",
}

// spanColumns are the text columns of single calls.
var spanColumns = map[string]string{
	"signature": "corehour.signature", "caller": "corehour.caller", "goroutine_group": "corehour.group", "request_id": "corehour.request.id",
	"stack": "corehour.stack",
}

// TestHostileNames_InertEverywhere sends hostile names in every column of every kind of row through
// the real collector, and reads them with every command in every format. They come back unchanged
// or bounded, and no terminal, browser or parser interprets them.
func TestHostileNames_InertEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	p := startPipeline(t, quickWarehouse)
	now := time.Now()
	for _, name := range hostile {
		for i, version := range []string{"1.0", name} {
			sendHostile(t, p, name, version, now.Add(time.Duration(i-2)*30*time.Minute), time.Duration(1+4*i)*time.Millisecond)
		}
	}
	p.stop(t)
	requireNamesStored(t, p)
	requireSoundRows(t, p)
	for _, args := range [][]string{
		{"regress"}, {"cost"}, {"drift", "--to", "2030-01-01"}, {"check"}, {"report"},
		{"sql", "SELECT * EXCLUDE (cpu_hist, wall_hist, sdk_stats) FROM method_cost WHERE row_seq % 10 = 0"},
		{"compact", "--delete-service", hostile["escape"]}, {"compact", "--relabel", hostile["single quote"] + "=" + hostile["right to left"]},
		{"cost", "--service", hostile["single quote"], "--environment", hostile["single quote"]},
		{"regress", "--service", hostile["right to left"], "--head", hostile["right to left"]},
		{"cost", "--service", hostile["64 kB"]}, {"cost", "--service", boundedName(hostile["64 kB"])},
	} {
		formats := []string{"text", "json", "markdown", "csv"}
		if args[0] == "report" {
			formats[3] = "html"
		}
		for _, format := range formats {
			o, err := p.command.Run(t.Context(), args[0], append([]string{"--format", format}, args[1:]...)...)
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("%.80q as %s", args, format)
			requireHarmless(t, line, format, o)
			if o.Code == harness.ExitFailed {
				t.Errorf("%s: %s", line, o.Stderr)
			}
		}
	}
	// Error messages escape them as well.
	for _, args := range [][]string{{"cost", "--" + hostile["newline"]}, {"sql", hostile["escape"]}, {"cost", "--tz", hostile["path"]}, {"regress", "--from", hostile["right to left"]}} {
		o, err := p.command.Run(t.Context(), args[0], args[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		requireHarmless(t, fmt.Sprintf("%q", args), "text", o)
		if o.Code != harness.ExitFailed || len(o.Stderr) == 0 {
			t.Errorf("%q: %s", args, o)
		}
	}
}

// sendHostile sends a process with hostile names and its measurements of some minutes.
func sendHostile(t *testing.T, p *pipeline, name, version string, start time.Time, cpu time.Duration) {
	t.Helper()
	resource := map[string]string{"process.creation.time": start.UTC().Format(time.RFC3339Nano)}
	for _, attribute := range identityColumns {
		resource[attribute] = name
	}
	resource["service.version"] = version
	minutes, callsPerMinute := 10, 4
	if len(name) > maxNameBytes { // a request is bounded as well
		minutes = 2
	}
	r := newRequest(resource, 1, int64(minutes*callsPerMinute))
	for m := range minutes {
		at := start.Add(time.Duration(m) * time.Minute)
		r.counts(at, at.Add(time.Minute), map[string]int64{name: int64(callsPerMinute)})
		for i := range callsPerMinute {
			texts := map[string]string{"code.function.name": name}
			for _, attribute := range spanColumns {
				texts[attribute] = name
			}
			r.call(at.Add(time.Duration(i)*time.Second), cpu+time.Duration(i*m)*time.Microsecond, texts)
		}
	}
	r.process(start, start.Add(time.Duration(minutes)*time.Minute), true)
	p.send(t, r)
}

// maxNameBytes is the receiver's bound of a name.
const maxNameBytes = 512

// requireNamesStored asserts that every column holds every name: as sent, with invalid UTF-8
// replaced, and beyond the bound in the receiver's documented form.
func requireNamesStored(t *testing.T, p *pipeline) {
	t.Helper()
	for column := range identityColumns {
		want := map[string]bool{}
		for _, name := range hostile {
			want[boundedName(name)] = true
		}
		if column == "version" {
			want["1.0"] = true
		}
		requireValues(t, p, column, "kind = 'call'", want)
		requireValues(t, p, column, "kind = 'counts'", want)
		requireValues(t, p, column, "kind = 'process'", want)
	}
	for column := range spanColumns {
		want := map[string]bool{}
		for _, name := range hostile {
			switch {
			case len(name) <= maxNameBytes:
				want[strings.ToValidUTF8(name, "\uFFFD")] = true
			case column == "caller":
				want["(overflow)"] = true
			} // other columns omit longer names
		}
		requireValues(t, p, column, "kind = 'call'", want)
	}
	methods := query[struct{ Name string }](t, p, "SELECT DISTINCT COALESCE(class || '.', '') || method AS name FROM method_calls WHERE kind <> 'process'")
	if len(methods) < len(hostile)-2 {
		t.Errorf("%d methods of %d names", len(methods), len(hostile))
	}
	for _, m := range methods {
		if len(m.Name) > maxNameBytes {
			t.Errorf("a method of %d bytes", len(m.Name))
		}
	}
}

// boundedName returns the stored form of a resource's long name. Different names stay different.
func boundedName(name string) string {
	if len(name) > maxNameBytes {
		sum := sha256.Sum256([]byte(name))
		mark := "~" + hex.EncodeToString(sum[:8])
		return name[:maxNameBytes-len(mark)] + mark
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

func requireValues(t *testing.T, p *pipeline, column, where string, want map[string]bool) {
	t.Helper()
	rows := query[struct{ Value *string }](t, p, fmt.Sprintf("SELECT DISTINCT %s AS value FROM method_calls WHERE %s", column, where))
	got := map[string]bool{}
	for _, r := range rows {
		if r.Value != nil {
			got[*r.Value] = true
		}
	}
	for value := range want {
		if !got[value] {
			t.Errorf("%s, %s: %.80q is not stored", column, where, value)
		}
	}
	for value := range got {
		if !want[value] {
			t.Errorf("%s, %s: %.80q is stored and was not sent", column, where, value)
		}
	}
}

// requireHarmless asserts that the output contains nothing that a terminal, browser or parser
// interprets.
func requireHarmless(t *testing.T, line, format string, o harness.Output) {
	t.Helper()
	out := string(o.Stdout)
	if !utf8.ValidString(out) || !utf8.Valid(o.Stderr) {
		t.Errorf("%s: not UTF-8", line)
	}
	for _, r := range out + string(o.Stderr) {
		if r != '\n' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			t.Errorf("%s: %U reaches the terminal", line, r)
			break
		}
	}
	if out == "" {
		return
	}
	switch format {
	case "json":
		for document := json.NewDecoder(strings.NewReader(out)); document.More(); {
			var any any
			if err := document.Decode(&any); err != nil {
				t.Errorf("%s: %v", line, err)
				return
			}
		}
	case "csv":
		requireHarmlessCSV(t, line, out)
	case "markdown":
		for text := range strings.Lines(out) {
			if strings.ContainsAny(text, "<>") || strings.Contains(text, "://") || strings.Contains(text, "](") && !strings.Contains(text, `\](`) {
				t.Errorf("%s: markup in %.200q", line, text)
			}
		}
	case "html":
		for _, bad := range []string{"<script", "<img", `" onload`, "onerror=alert(1)>"} {
			if strings.Contains(out, bad) {
				t.Errorf("%s: the page has %q", line, bad)
			}
		}
	case "text":
		widest := slices.MaxFunc(strings.Split(out, "\n"), func(a, b string) int { return len(a) - len(b) })
		if len(widest) > 16<<10 {
			t.Errorf("%s: a line of %d bytes", line, len(widest))
		}
	}
}

func requireHarmlessCSV(t *testing.T, line, out string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll() // all records have the same number of fields
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	for _, row := range rows {
		for _, field := range row {
			if _, err := strconv.ParseFloat(field, 64); err != nil && len(field) > 1 && strings.ContainsRune("=+-@\t\r", rune(field[0])) {
				t.Errorf("%s: a formula: %.80q", line, field)
			}
		}
	}
}
