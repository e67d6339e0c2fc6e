package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/test/fixture"
)

func TestReport_Text(t *testing.T) {
	clock(t, evening)
	r := corehour("report", "--warehouse", twoReleases(t, 0.5), "--format", "text", "--methods", "2")
	if r.code != exitNothing || r.stderr != "" {
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	golden(t, "report.txt", r.stdout)
}

// TestReport_Page: the page is one well-formed HTML file without references to other files, and contains the
// content of the text report.
func TestReport_Page(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	root := twoReleases(t, 0.5)
	file := filepath.Join(t.TempDir(), "report.html")
	r := corehour("report", "--warehouse", root, "--output", file)
	if r.code != exitNothing || r.stdout != "" {
		t.Fatalf("exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the page is not readable by others: %v, %v", info, err)
	}
	page := string(data)
	requireSelfContained(t, page)
	text := textOf(t, page)
	for _, want := range []string{
		"shop/tax.Rate", "1.9.0 → 1.10.0", "The accounts balance", "2026-03-10 09:00:00 UTC", "shop/web.Handler.Serve",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(page, `<svg role="img" aria-label="`); n < 10 {
		t.Errorf("%d charts", n)
	}
}

var refersElsewhere = regexp.MustCompile(`(?i)<(script|link|iframe|object|embed|img|base|form)\b|\b(src|srcset|action|formaction|background)\s*=|href="[^#]|url\(|@import|\bon[a-z]+\s*=`)

func requireSelfContained(t *testing.T, page string) {
	t.Helper()
	if found := refersElsewhere.FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
	// An unclosed tag, or tags closed out of order, are a bug of the report.
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("not closed: %v", open)
			}
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) != "meta" && string(name) != "br" && string(name) != "wbr" {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

func textOf(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	page = strings.ReplaceAll(page, "<wbr>", "") // an optional line break
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
			b.WriteByte('\n')
		}
	}
}

// TestReport_HostileNames: names can contain anything, so the page must escape markup and control characters.
func TestReport_HostileNames(t *testing.T) {
	clock(t, evening)
	hostile := []string{
		`a/b.<script>alert(1)</script>`, `a/b."onload="x`, "a/b.line\nbreak", "a/b.\u202ereversed", `a/b.</style><img src=x>`, "a/b.\x1b[31mred", "a/b.{{.}}",
	}
	p := fixture.NewProcess(`1.0"><b>`, "a", fixture.Start)
	for i, function := range hostile {
		start := fixture.Start.Add(time.Duration(i) * time.Second)
		p.Counts(function, start, time.Second, 100)
		for j := range 100 {
			p.Call(function, methodspan.CallerEntry, start.Add(time.Duration(j)*time.Millisecond), 2*time.Millisecond, time.Millisecond, 1, 1)
		}
	}
	p.Beat(fixture.Start, time.Minute, time.Second, true)
	root := fixture.Write(t, []methodspan.Item{p.Item()})
	r := corehour("report", "--warehouse", root)
	if r.code != exitNothing {
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	requireSelfContained(t, strings.NewReplacer("onload=", "", "&lt;img src=x", "").Replace(r.stdout))
	for _, bad := range []string{"\u202e", "\x1b", "<script", "<b>"} {
		if strings.Contains(r.stdout, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(textOf(t, r.stdout), "alert(1)") {
		t.Error("the name is lost")
	}
}

func TestReport_JSON(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	r := corehour("report", "--warehouse", twoReleases(t, 1), "--format", "json")
	var report struct {
		Costs []struct {
			Method string  `json:"method"`
			Hours  float64 `json:"self_core_hours"`
		} `json:"costs"`
		Moves []struct {
			Proven bool    `json:"proven"`
			Change float64 `json:"change_percent"`
		} `json:"moves"`
		Methods []struct {
			Distribution []struct {
				Bins map[string]float64 `json:"bins"`
			} `json:"distribution"`
		} `json:"methods"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if len(report.Costs) != 4 || len(report.Moves) != 4 || !report.Moves[0].Proven {
		t.Errorf("found %+v", report)
	}
	for _, m := range report.Methods {
		for _, d := range m.Distribution {
			sum := 0.0
			for _, share := range d.Bins {
				sum += share
			}
			if sum < 0.999 || sum > 1.001 {
				t.Errorf("shares add up to %v", sum)
			}
		}
	}
}

// TestReport_Empty: without data, report fails. A page would claim that the accounts balance.
func TestReport_Empty(t *testing.T) {
	clock(t, evening)
	root := twoReleases(t, 1)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--service", "shopp"}, `nothing of service "shopp" (did you mean "shop"?)`},
		{[]string{"--environment", "prod"}, `in environment "prod"`},
		{[]string{"--from", "2026-03-10 20:00"}, "nothing of any service from 2026-03-10 20:00:00 UTC"},
	} {
		r := corehour(append([]string{"report", "--warehouse", root}, test.args...)...)
		if r.code != exitCannotTell || r.stdout != "" || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%v: exit %d, %s", test.args, r.code, r.stderr)
		}
	}
}

func TestReport_Flags(t *testing.T) {
	unracedWhenShort(t)
	clock(t, evening)
	root := twoReleases(t, 1)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--format", "csv"}, "--format: a report has many tables"},
		{[]string{"--methods", "51"}, "--methods: want 0 to 50, found 51"},
		{[]string{"--output", filepath.Join(t.TempDir(), "none", "r.html")}, "--output: "},
		{[]string{"--head", "7"}, "--head: version not seen"},
	} {
		r := corehour(append([]string{"report", "--warehouse", root}, test.args...)...)
		if r.code != exitFailed || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%v: exit %d, %s", test.args, r.code, r.stderr)
		}
	}
}
