package drift

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestReadCSV(t *testing.T) {
	s, err := ReadCSV(strings.NewReader("\ufeffName, date,value,weight\nb,2026-03-03,4,1\na,2026-03-01,2,1\nb,2026-03-03,1,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.First.Format("2006-01-02") != "2026-03-01" || s.Days != 3 || strings.Join(s.Methods, ",") != "b,a" || len(s.Rows) != 2 {
		t.Fatalf("found %+v", s)
	}
	if r := s.Rows[0]; r.Day != 2 || r.Weight != 3 || r.Capped != 6 || math.Abs(r.Log-math.Log(4)) > 1e-12 {
		t.Errorf("two lines of a day give %+v", r)
	}
}

func TestReadCSV_Errors(t *testing.T) {
	many := "date,value\n" + strings.Repeat("x,1\n", 100)
	for text, want := range map[string]string{
		"":                                       "line 1: want a line with the names of the columns",
		"date\n":                                 "line 1: want a column value",
		"date,value,date\n":                      `line 1: column 3: found "date" again`,
		"date,value,cost\n":                      `line 1: column 3: want date, value, name or weight, found "cost"`,
		"date,value\n":                           "want a line for each day",
		"date,value\n2026-01-01,1\n1/2/26,1":     `line 3: date: want a day like 2026-11-21, found "1/2/26"`,
		"date,value\n2026-01-01,-1e200":          `line 2: value: want a number, found "-1e200"`,
		"date,value\n2026-01-01,NaN":             `line 2: value: want a number, found "NaN"`,
		"date,value,weight\n2026-01-01,1,0":      `line 2: weight: want a number above 0, found "0"`,
		"date,value\n2026-01-01\n":               "line 2: want as many fields as the first line has, found 1",
		"date,value\n2026-01-01,\"1\n":           `line 2: extraneous or missing " in quoted-field`,
		"date,value\n1026-01-01,1\n2026-01-01,1": "want at most 3660 days, found 1026-01-01 to 2026-01-01",
		many:                                     "line 11: date",
	} {
		_, err := ReadCSV(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", text, err, want)
			continue
		}
		if n := strings.Count(err.Error(), "\n") + 1; n > maxFaults {
			t.Errorf("%.40q: %d faults are said", text, n)
		}
	}
}

// A file that ReadCSV accepts can be evaluated.
func FuzzReadCSV(f *testing.F) {
	var days strings.Builder
	days.WriteString("date,value\n")
	for d := range 60 {
		fmt.Fprintf(&days, "2026-%02d-%02d,%d\n", 1+d/28, 1+d%28, 10+d)
	}
	for _, s := range []string{days.String(), "name,date,value,weight\na,2026-01-01,1e-99,1e99\n", "date,value\n\"2026-01-01\n\",1", "\ufeff", "date,value\r\n0001-01-01,1\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		series, err := ReadCSV(strings.NewReader(s))
		if err != nil {
			return
		}
		if series.Days < 1 || series.Days > maxDays || len(series.Rows) == 0 {
			t.Fatalf("%d days, %d rows", series.Days, len(series.Rows))
		}
		if err := series.validate(); err != nil {
			t.Fatal(err)
		}
	})
}
