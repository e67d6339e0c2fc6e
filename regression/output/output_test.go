package output

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile names, each of which does harm somewhere if written as it is.
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

func TestHostileNames(t *testing.T) { checkSafe(t, document(hostile...), hostile) }

func FuzzNames(f *testing.F) {
	for _, n := range hostile {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n string) { checkSafe(t, document(n), []string{n}) })
}

func TestTextIsAligned(t *testing.T) {
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

// One long name does not make every line long, and is whole in other formats.
func TestLongNamesAreCutInText(t *testing.T) {
	long := strings.Repeat("ü", 65_536)
	d := document(long, "short")
	d.Say(long)
	for f, most := range map[Format]int{Text: maxLine + 1, CSV: 1 << 17, MarkdownPage: 1 << 17} {
		var b strings.Builder
		if err := d.Write(&b, f); err != nil {
			t.Fatal(err)
		}
		if whole := strings.Contains(b.String(), long[:2*maxLine]); whole == (f == Text) {
			t.Errorf("%s: the name is whole: %v", f, whole)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(line); n > most {
				t.Errorf("%s: a line of %d characters", f, n)
			}
		}
	}
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
		0: "0.00", 1234.567: "1234.57", -2: "-2.00", 0.5: "0.500", 0.0138123: "0.0138", -0.000013049: "-0.0000130", 1e-30: "0.000000000000",
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

func TestObjectsKeepNamesReadable(t *testing.T) {
	o := Object{Names: []string{"<init>", "b"}, Values: []any{"a && <init>", Object{Names: []string{"<c>"}, Values: []any{[]string{"<clinit>", "\x1b"}}}}}
	line, err := Line(o)
	if want := `{"<init>":"a && <init>","b":{"<c>":["<clinit>","\u001b"]}}` + "\n"; err != nil || string(line) != want {
		t.Errorf("%s, want %s, %v", line, want, err)
	}
}
