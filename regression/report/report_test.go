package report

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/golden"
)

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func written(t *testing.T, r *Report, f output.Format) string {
	t.Helper()
	var b strings.Builder
	if err := r.Document().Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var refersElsewhere = regexp.MustCompile(`(?i)<(script|link|iframe|object|embed|img|base|form)\b|\b(src|srcset|action|formaction|background)\s*=|href="[^#]|url\(|@import|\bon[a-z]+\s*=`)

// textOf returns the text of a page. The page must be well-formed, and its tags and attributes must not refer to other
// files or contain scripts.
func textOf(t *testing.T, page string) string {
	t.Helper()
	var text strings.Builder
	var open []string
	z := html.NewTokenizer(strings.NewReader(strings.ReplaceAll(page, "<wbr>", ""))) // an optional line break
	for {
		kind := z.Next()
		raw := string(z.Raw())
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken || slices.Contains(open, "style") {
			unquoted := raw
			if !strings.HasPrefix(raw, "<a ") { // values of attributes are text, except those of links
				unquoted = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(raw, `""`)
			}
			if found := refersElsewhere.FindString(unquoted); found != "" {
				t.Errorf("the page has %q in %s", found, raw)
			}
		}
		switch kind {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("not closed: %v", open)
			}
			return text.String()
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) != "meta" && string(name) != "br" {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes %v", name, open)
			}
			open = open[:len(open)-1]
		case html.TextToken:
			text.Write(z.Text())
			text.WriteByte('\n')
		}
	}
}

func TestReport_EveryForm(t *testing.T) {
	r := sample()
	golden.Check(t, "sample.txt", written(t, r, output.Text))
	page := pageOf(t, r)
	golden.Check(t, "sample.html", page)
	text := textOf(t, page)
	for _, want := range []string{
		"shop/tax.Rate", "1.9.0 → 1.10.0", "2026-03-10 09:00:00 UTC", "The accounts do not balance: 10 calls were lost in transit", "7 cheaper methods are left out",
		"2 shorter methods are left out", "1 cheaper alerts are left out", "4 smaller changes are left out", "2 more trees of services: --all prints them", "The SDKs report: dropped 12.", "unpriced",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n, labels := strings.Count(page, `<svg role="img"`), strings.Count(page, `<svg role="img" aria-label="`); n != 3+2+2+1 || labels != n {
		t.Errorf("%d charts, %d with a label", n, labels)
	}
}

// Without figures the page and the text name the reason, and stay well-formed.
func TestReport_Empty(t *testing.T) {
	r := &Report{From: begin, To: begin.Add(time.Hour), Made: begin, zone: time.UTC, NotCompared: []string{"mail: only one version"}, Health: &ledger.Accounts{CouldNotTell: true}}
	page, text := textOf(t, pageOf(t, r)), strings.Join(strings.Fields(written(t, r, output.Text)), " ")
	for _, want := range []string{noCosts, noChanges, "mail: only one version", "Whether the accounts balance is unknown"} {
		if !strings.Contains(page, want) || !strings.Contains(text, want) {
			t.Errorf("no %q in %s or %s", want, page, text)
		}
	}
	for _, want := range []string{"Nothing was measured in this window.", "No caller is known in this window."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	r.Health = &ledger.Accounts{Balanced: true}
	if page := textOf(t, pageOf(t, r)); !strings.Contains(page, "The accounts balance: every call") {
		t.Error(page)
	}
}

// spoil appends text to every name in v. Fields whose text is made by the comparison keep it.
func spoil(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			ours := []string{"Warning", "Uncertain", "CommonReason", "State", "Metric", "Kind", "Basis", "USDPerDayBasis", "Severity", "ID"}
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(ours, f.Name) && f.Type != reflect.TypeFor[time.Time]() {
				spoil(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), text)
		}
	case reflect.String:
		v.SetString(v.String() + text)
	}
}

// Names can contain anything: no format passes on markup or control characters, and the page keeps the text.
func TestReport_HostileNames(t *testing.T) {
	for _, name := range []string{
		"<script>alert(1)</script>", `"onload="x`, "line\nbreak", "\u202ereversed", "</style><img src=x>", "\x1b[31mred", "{{.}}", `1.0"><b>`, "</svg><svg onload=x>", "' onload='x", "]]><!--", "\xff",
	} {
		r := sample()
		r.Health.Losses.SDK[name] = 1
		spoil(reflect.ValueOf(r), name)
		page := pageOf(t, r)
		if text := textOf(t, page); !strings.Contains(text, "Rate"+output.Printable(name)) {
			t.Errorf("%q: the name is lost", name)
		}
		for _, bad := range []string{"<script", "<img", "<b>", "<svg onload", "<!--"} {
			if strings.Contains(page, bad) {
				t.Errorf("%q: the page has %q", name, bad)
			}
		}
		for _, f := range []output.Format{output.Text, output.MarkdownPage, output.JSON} {
			page += written(t, r, f)
		}
		for _, c := range page {
			if c != '\n' && c != '\u00a0' && unicode.In(c, unicode.C, unicode.Zl, unicode.Zp) {
				t.Fatalf("%q: %U is in the output", name, c)
			}
		}
	}
}

func TestChange_Texts(t *testing.T) {
	part := &evidence.Part{Percent: 12}
	of := func(v evidence.Verdict) *Change {
		v.ChangePercent = new(12.0)
		return &Change{pairs.Row{Verdict: &v}, v.State == evidence.Regressed}
	}
	for want, v := range map[string]evidence.Verdict{
		"+12.0%":                             {State: evidence.Regressed},
		"+12.0% by its callees":              {State: evidence.Explained},
		"~ +12.0%, inclusive by its callees": {State: evidence.Explained, Measured: part},
		"+12.0% as the service":              {State: evidence.WithService},
		"+12.0%, not enough data":            {State: evidence.Undecided},
		"~ +12.0%":                           {State: evidence.NotProven},
	} {
		if got := of(v).change(); got != want {
			t.Errorf("%+v: %q, want %q", v, got, want)
		}
	}
	for want, v := range map[string]evidence.Verdict{
		"-": {}, "+12.0%, nothing": {Measured: part}, "+12.0%, +3.0%": {Measured: part, Common: &evidence.Part{Percent: 3}},
	} {
		if got := of(v).measured(); got != want {
			t.Errorf("%+v: %q, want %q", v, got, want)
		}
	}
}

func TestDistribution_Quantile(t *testing.T) {
	s := Distribution{Bins: map[int64]float64{40: 0.5, 44: 0.45, 60: 0.05}}
	for q, bin := range map[float64]int64{0.5: 41, 0.51: 45, 0.95: 45, 0.99: 61} {
		if got := s.quantile(q); got != query.BinStart(bin) {
			t.Errorf("quantile %g is %g, want %g", q, got, query.BinStart(bin))
		}
	}
	if text := (Method{}).versionText("1"); text != "not measured" {
		t.Error(text)
	}
}

func gather(t *testing.T, root string, adapt func(*Options)) (*Report, error) {
	t.Helper()
	rule := pairs.EvidenceRule{}
	o := Options{
		Warehouse: root, Window: query.Window{From: fixture.Evening.Add(-24 * time.Hour), To: fixture.Evening}, Zone: time.UTC, Now: fixture.Evening, Top: 20, Methods: 8,
		Rule: rule, Verdict: pairs.Options{Limits: rule.Default(), WarmUp: evidence.Learn},
	}
	if adapt != nil {
		adapt(&o)
	}
	return Gather(t.Context(), o)
}

func TestGather_TwoReleases(t *testing.T) {
	fixture.SkipRaced(t)
	r, err := gather(t, fixture.TwoReleases(t, 0.5), func(o *Options) { o.Methods = 2 })
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "two_releases.txt", written(t, r, output.Text))
	if len(r.Costs) != 4 || len(r.Changes) != 4 || !r.Changes[0].Proven || r.Changes[0].Method != "Rate" || len(r.Methods) != 2 || r.Methods[0].Method != "Rate" {
		t.Errorf("%+v", r)
	}
	for _, m := range r.Methods {
		for _, s := range m.Distributions {
			sum := 0.0
			for _, share := range s.Bins {
				sum += share
			}
			if sum < 0.999 || sum > 1.001 {
				t.Errorf("shares add up to %v", sum)
			}
		}
	}
	page := pageOf(t, r)
	if text := textOf(t, page); !strings.Contains(text, "shop/web.Handler.Serve") || !strings.Contains(text, "The accounts balance") || strings.Count(page, `<svg role="img"`) < 10 {
		t.Errorf("%s", text)
	}
}

// Without data Gather fails, because a page would claim that the accounts balance.
func TestGather_NoData(t *testing.T) {
	items, _ := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a"}, Start: fixture.Start, Minutes: 2, Requests: 2}.Run()
	root := fixture.Write(t, items)
	for want, adapt := range map[string]func(*Options){
		`nothing of service "shopp" (did you mean "shop"?)`:   func(o *Options) { o.Filter.Service = "shopp" },
		`in environment "prod"`:                               func(o *Options) { o.Filter.Environment = "prod" },
		"nothing of any service from 2026-03-10 20:00:00 UTC": func(o *Options) { o.Window = query.Window{From: fixture.Start.Add(11 * time.Hour)} },
	} {
		if _, err := gather(t, root, adapt); !errors.Is(err, query.ErrNoData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Clients can invent any number of services. Each part of the page is bounded and counts what it leaves out.
func TestGather_ManyServices(t *testing.T) {
	const services = 6
	var items []methodspan.Item
	for i := range services {
		for v, from := range []time.Time{fixture.Start, fixture.Start.Add(time.Hour)} {
			p := fixture.NewProcess(fmt.Sprint(v+1), fmt.Sprint("i", v), from)
			p.Resource.Service = fmt.Sprintf("s%02d", i)
			timed := 1 + i/4*29 + i/5 // only the last two services have enough calls to compare
			p.Counts("a.B", from, time.Minute, int64(i+timed))
			for range timed {
				p.Call("a.B", methodspan.CallerEntry, from, time.Millisecond, time.Millisecond, 1, 1)
			}
			p.Beat(from, time.Minute, time.Second, true)
			items = append(items, p.Item())
		}
	}
	root := fixture.Write(t, items)
	for _, c := range []struct {
		top  int
		want []string
	}{
		{1, []string{"5 more trees of services: --all prints them", "5 more services with 10 processes, 0 dead, ", "5 more services were compared: --all prints them", "5 cheaper methods are left out"}},
		{0, nil},
	} {
		r, err := gather(t, root, func(o *Options) { o.Top, o.Methods = c.top, 1 })
		if err != nil {
			t.Fatal(err)
		}
		page, text := textOf(t, pageOf(t, r)), strings.Join(strings.Fields(written(t, r, output.Text)), " ")
		for _, want := range c.want {
			if !strings.Contains(page, want) || !strings.Contains(text, want) {
				t.Errorf("top %d: no %q in %s or %s", c.top, want, text, page)
			}
		}
		if c.top > 0 {
			continue
		}
		for i := range services {
			if name := fmt.Sprintf("s%02d", i); !strings.Contains(page, name) || !strings.Contains(text, name) || strings.Contains(text, "--all") {
				t.Errorf("%s is not in the whole report: %s", name, text)
			}
		}
	}
}
