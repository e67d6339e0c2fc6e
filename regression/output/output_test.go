package output

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile are names that each do harm in some format if written without escapes.
var hostile = []string{
	"\x1b]0;owned\x07\x1b[2J", "a\nb\r\nc", "a\u202egnp.exe", "a\u0085b\u009b31m", "\xff\xfe", "=cmd|' /C calc'!A0",
	"@SUM(1)", "-1+1", "<script>alert(1)</script>", "| a | b |", "[x](javascript:alert(1))", "`rm`", "a\tb",
	"\u2028x\u2029", "zero\u200bwidth", "", "https://evil.example/x", "\U000e0041tag", `\`, `"quoted"`, "![img](http://e/x)",
}

func document(names ...string) *Document {
	d := &Document{Data: map[string]any{"names": names}}
	t := &Table{Title: "title", Columns: []string{"name", "n"}}
	for _, n := range names {
		t.Rows = append(t.Rows, []Cell{Name(n), Figure("-1.5")})
	}
	d.Say("a line")
	d.Add(t)
	return d
}

func checkSafe(t *testing.T, d *Document, names []string) {
	t.Helper()
	for _, f := range Formats {
		var b strings.Builder
		if err := d.Write(&b, f); err != nil {
			t.Fatal(f, err)
		}
		out := b.String()
		if !utf8.ValidString(out) {
			t.Errorf("%s: not UTF-8: %q", f, out)
		}
		for _, r := range out {
			if r != '\n' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
				t.Errorf("%s: %U in the output %q", f, r, out)
			}
		}
		lines := strings.Count(out, "\n")
		switch f {
		case Text:
			if want := 4 + len(names); lines != want {
				t.Errorf("text: %d lines, want %d: a name broke the table:\n%s", lines, want, out)
			}
		case CSV:
			rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
			if err != nil || len(rows) != len(names)+1 {
				t.Fatalf("csv: %d rows, %v", len(rows), err)
			}
			for _, row := range rows[1:] {
				if row[0] != "" && strings.ContainsAny(row[0][:1], "=+-@\t\r") {
					t.Errorf("csv: a formula: %q", row[0])
				}
				if row[1] != "-1.5" {
					t.Errorf("csv: a figure became %q", row[1])
				}
			}
		case MarkdownPage:
			for _, line := range strings.Split(strings.TrimSpace(out), "\n")[4:] {
				bars := strings.Count(line, "|") - strings.Count(line, `\|`)
				if bars != 3 && !strings.Contains(line, `\\|`) {
					t.Errorf("markdown: %d bars in %q", bars, line)
				}
				if strings.ContainsAny(line, "<>") || strings.Contains(line, "://") {
					t.Errorf("markdown: markup in %q", line)
				}
			}
		case JSON:
			var back struct{ Names []string }
			if err := json.Unmarshal([]byte(out), &back); err != nil {
				t.Fatal(err)
			}
			for i, n := range names {
				if utf8.ValidString(n) && back.Names[i] != n {
					t.Errorf("json: %q came back as %q", n, back.Names[i])
				}
			}
		}
	}
}

func TestSafe_HostileNames(t *testing.T) { checkSafe(t, document(hostile...), hostile) }

func FuzzNames(f *testing.F) {
	for _, n := range hostile {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n string) { checkSafe(t, document(n), []string{n}) })
}

func TestText_Aligned(t *testing.T) {
	d := &Document{}
	d.Add(&Table{Columns: []string{"name", "calls"}, Rows: [][]Cell{
		{Name("Übersicht"), Whole(7)}, {Name("x"), Whole(12345)},
	}})
	var b strings.Builder
	if err := d.Write(&b, Text); err != nil {
		t.Fatal(err)
	}
	want := "name       calls\nÜbersicht      7\nx          12345\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// One long name does not make every line of text long, and other formats contain it whole.
func TestText_CutsLongNames(t *testing.T) {
	long := strings.Repeat("ü", 65_536)
	d := document(long, "short")
	d.Say(long)
	for _, f := range []Format{Text, CSV, MarkdownPage} {
		for _, d.Wide = range []bool{false, true} {
			var b strings.Builder
			if err := d.Write(&b, f); err != nil {
				t.Fatal(err)
			}
			if whole, want := strings.Contains(b.String(), long), f != Text || d.Wide; whole != want {
				t.Errorf("%s, wide %v: the name is whole: %v", f, d.Wide, whole)
			}
			if f == Text && !d.Wide {
				checkFits(t, b.String())
			}
		}
	}
}

func checkFits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := Cells(strings.TrimSuffix(line, "\n")); n > MaxWidth {
			t.Errorf("a line of %d cells: %s", n, line)
		}
	}
}

func TestCells(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "🎉!": 3, "ü": 1, "ｱ": 1, "Ａ": 2} {
		if got := Cells(s); got != want {
			t.Errorf("%q takes %d cells, want %d", s, got, want)
		}
	}
}

func TestMiddle_KeepsMethodEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		most int
		want string
	}{
		{"github.com/acme/shop/cart.Cart.Total", 35, ".../acme/shop/cart.Cart.Total"},
		{"github.com/acme/shop/cart.Cart.Total", 20, ".../cart.Cart.Total"},
		{"github.com/acme/shop/cart.Cart.Total", 15, "cart.Cart.Total"},
		{"github.com/acme/shop/cart.Cart.Total", 13, "car...t.Total"},
		{"shop.Map[github.com/acme/shop/cart.Cart].Total", 20, "shop.....Cart].Total"},
		{"https://example.com/a/b/c", 14, "htt...om/a/b/c"},
		{"GET /articles/{id}/comments", 16, "GET .../comments"},
		{"a/b/c/", 5, "c/"},
		{"short", 5, "short"},
		{"日本語の名前.Total", 12, "日....Total"},
		{"a" + strings.Repeat("e\u0301", 20) + "z", 9, "ae\u0301...e\u0301e\u0301e\u0301z"},
		{"abcdef", 3, "..."},
		{"abcdef", 0, ""},
	} {
		if got := Middle(c.name, c.most); got != c.want || Cells(got) > c.most {
			t.Errorf("%q in %d cells: %q, want %q", c.name, c.most, got, c.want)
		}
	}
}

// Figures are never shortened: columns are left out instead, and their names are listed.
func TestTable_FitsWidth(t *testing.T) {
	table := &Table{Title: strings.Repeat("title ", 40), Columns: []string{"service", "method", "core hours", "found"}, Least: []string{"calls of it"}}
	row := []Cell{Name("shop"), Name(strings.Repeat("package/", 20) + "Class.Method"), Figure("12.5"), Prose(strings.Repeat("measured again ", 12))}
	for i := range 8 {
		table.Columns = append(table.Columns, "figure "+string(rune('a'+i)))
		row = append(row, Figure("-123456.75"))
	}
	table.Columns, row = append(table.Columns, "calls of it"), append(row, Figure("42"))
	table.Rows = [][]Cell{row}
	d := &Document{}
	d.Add(table)
	var b strings.Builder
	if err := d.Write(&b, Text); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	checkFits(t, out)
	for _, want := range []string{"...", "Class.Method", "12.5", "-123456.75", "no room for calls of it, figure h"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "measured again") + strings.Count(out, "measured\n"); n < 6 || strings.Contains(out, "\n\n") {
		t.Errorf("sentences are not wrapped in their column:\n%s", out)
	}
	if strings.Contains(out, " 42\n") {
		t.Errorf("the least column is there:\n%s", out)
	}
}

func FuzzTablesFit(f *testing.F) {
	for _, n := range hostile {
		f.Add(n, n, 3)
	}
	f.Add(strings.Repeat("日", 300), strings.Repeat("e\u0301", 300), 60)
	f.Fuzz(func(t *testing.T, name, prose string, columns int) {
		table := &Table{Title: prose}
		var row []Cell
		for i := range min(max(columns, 0), 80) {
			table.Columns = append(table.Columns, name)
			row = append(row, []Cell{Name(name), Prose(prose), Figure("-1.5")}[i%3])
		}
		table.Rows = [][]Cell{row, row}
		d := &Document{}
		d.Say(name, prose)
		d.Add(table)
		var b strings.Builder
		if err := d.Write(&b, Text); err != nil {
			t.Fatal(err)
		}
		checkFits(t, b.String())
	})
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats {
		if got, err := ParseFormat(string(f)); err != nil || got != f {
			t.Error(f, got, err)
		}
	}
	for _, s := range []string{"html", "", "JSON", "yaml"} {
		if _, err := ParseFormat(s); err == nil || !strings.Contains(err.Error(), "--format") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestFigures(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 1234.567: "1234.57", -2: "-2.00", 0.5: "0.500", 0.0138123: "0.0138", -0.000013049: "-0.0000130", 1e-30: "<0.000001",
	} {
		if got := Amount(x); got != want {
			t.Errorf("Amount(%v) = %q, want %q", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0ns", 12.34: "12.3ns", -1500: "-1.5us", 2.5e6: "2.5ms", 61e9: "61s"} {
		if got := Nanos(x); got != want {
			t.Errorf("Nanos(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestJSON_ReadableNames(t *testing.T) {
	o := Object{Names: []string{"<init>", "b"}, Values: []any{"a && <init>", Object{Names: []string{"<c>"}, Values: []any{[]string{"<clinit>", "\x1b"}}}}}
	line, err := Line(o)
	if want := `{"<init>":"a && <init>","b":{"<c>":["<clinit>","\u001b"]}}` + "\n"; err != nil || string(line) != want {
		t.Errorf("%s, want %s, %v", line, want, err)
	}
}

func TestMost(t *testing.T) {
	all := []int{3, 9, 1, 9, 7}
	for _, c := range []struct {
		top         int
		shown, left []int
	}{
		{0, all, nil}, {5, all, nil}, {9, all, nil},
		{1, []int{9}, []int{3, 1, 9, 7}}, {3, []int{9, 9, 7}, []int{3, 1}}, {4, []int{3, 9, 9, 7}, []int{1}},
	} {
		shown, left := Most(all, c.top, func(a, b int) int { return b - a })
		if !slices.Equal(shown, c.shown) || !slices.Equal(left, c.left) {
			t.Errorf("top %d: %v, %v", c.top, shown, left)
		}
	}
}

// Figures have the unit that fits them, and no exponent, sign of zero or infinity.
func TestFigures_Readable(t *testing.T) {
	amount := func(x float64) string { return Amount(x) }
	percent := func(x float64) string { return PercentOf(&x) }
	several := func(x float64) string { return Several(int64(x), "package") }
	for _, c := range []struct {
		name   string
		format func(float64) string
		figure float64
		want   string
	}{
		{"amount", amount, 0, "0.00"}, {"amount", amount, math.Copysign(0, -1), "0.00"}, {"amount", amount, -1e-9, "<0.000001"},
		{"amount", amount, 0.0000268, "0.0000268"}, {"amount", amount, 1.2e-9, "<0.000001"}, {"amount", amount, 0.0227, "0.0227"},
		{"amount", amount, 238365015, "238365015.00"}, {"amount", amount, 2.5e16, "2.5e+16"}, {"amount", amount, math.Inf(1), "-"}, {"amount", amount, math.NaN(), "-"},
		{"percent", percent, 0.256, "25.6%"}, {"percent", percent, -0.0001, "0.0%"}, {"percent", percent, 0.0001, "<0.1%"}, {"percent", percent, 1e6, ">999%"}, {"percent", percent, math.Inf(1), "-"},
		{"share", Share, 1, "100%"}, {"share", Share, 0.9999, "100%"}, {"share", Share, 0.0123, "1.23%"}, {"share", Share, 1e-5, "0.001%"}, {"share", Share, 1e-12, "<0.000001%"}, {"share", Share, math.Inf(1), "-"},
		{"change", Change, 12.34, "+12.3%"}, {"change", Change, -0.04, "0.0%"}, {"change", Change, 0, "0.0%"}, {"change", Change, -12.34, "-12.3%"},
		{"change", Change, 1e7, "x100000"}, {"change", Change, 1e10, "more than x1000000"}, {"change", Change, 1500, "x16"}, {"change", Change, -1e5, "<-999%"},
		{"change", Change, math.Inf(1), "more than x1000000"}, {"change", Change, math.Inf(-1), "<-999%"}, {"change", Change, math.NaN(), "-"},
		{"time", Nanos, 0, "0ns"}, {"time", Nanos, 12.34, "12.3ns"}, {"time", Nanos, 999_960, "1ms"}, {"time", Nanos, 1e12, "16.7min"}, {"time", Nanos, 1.8e13, "5h"},
		{"time", Nanos, 1e-9, "<0.000001ns"}, {"time", Nanos, math.Inf(1), "-"},
		{"count", Count, 238365015, "238365015"}, {"count", Count, -0.2, "0"}, {"number", Rounded, 100, "100"}, {"number", Rounded, 0.05, "0.05"},
		{"noun", several, 1, "1 package"}, {"noun", several, 2, "2 packages"}, {"noun", several, 0, "0 packages"},
	} {
		if got := c.format(c.figure); got != c.want {
			t.Errorf("%s of %v: %q, want %q", c.name, c.figure, got, c.want)
		}
	}
}
