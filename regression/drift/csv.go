package drift

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a file of series.
const (
	maxBytes  = 256 << 20
	maxRows   = 2_000_000
	maxNames  = 20_000
	maxDays   = 3660
	maxFaults = 10 // reported; the file can have more
)

// leastLog is the smallest value that is compared on the log scale.
const leastLog = 1e-100

// Series is a history read from a file, with the date of its day 0.
type Series struct {
	History
	First time.Time
}

// value is one line of the file.
type value struct {
	name          int32
	date          time.Time
	value, weight float64
}

// ReadCSV reads series of daily values. The columns date and value are required. The columns name (of the series)
// and weight (number of measurements behind the mean in value) are optional, and columns can have any order.
// Lines with the same name and date are averaged. The error lists up to maxFaults faults with their line numbers.
func ReadCSV(r io.Reader) (*Series, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes + 1}
	lines := csv.NewReader(limited)
	lines.ReuseRecord = true
	p := reader{lines: lines, numbers: map[string]int32{}}
	p.read()
	if limited.N <= 0 {
		return nil, fmt.Errorf("want at most %d MB, found more: pass fewer series at a time", maxBytes>>20)
	}
	if len(p.faults) > 0 {
		return nil, errors.Join(p.faults...)
	}
	return p.series()
}

type reader struct {
	lines   *csv.Reader
	columns struct{ date, value, name, weight int }
	names   []string
	numbers map[string]int32
	values  []value
	faults  []error
}

func (p *reader) fault(line int, format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf("line %d: "+format, append([]any{line}, args...)...))
}

func (p *reader) read() {
	for first := true; len(p.faults) < maxFaults; first = false {
		record, err := p.lines.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			if first {
				p.fault(1, "want a line with the names of the columns, found an empty file")
			}
			return
		case errors.As(err, &wrong) && errors.Is(err, csv.ErrFieldCount) && !first:
			p.fault(wrong.Line, "want as many fields as the first line has, found %d", len(record))
			continue
		case errors.As(err, &wrong):
			p.fault(wrong.Line, "%w", wrong.Err)
			return // the rest would be parsed from the wrong position
		case err != nil:
			p.faults = append(p.faults, err)
			return
		}
		line, _ := p.lines.FieldPos(0)
		switch {
		case first:
			if !p.header(record, line) {
				return
			}
		case len(p.values) == maxRows:
			p.fault(line, "want at most %d lines, found more", maxRows)
			return
		default:
			p.row(record, line)
		}
	}
}

func (p *reader) header(record []string, line int) bool {
	places := map[string]int{"date": -1, "value": -1, "name": -1, "weight": -1}
	for i, name := range record {
		if i == 0 {
			name = strings.TrimPrefix(name, "\ufeff") // byte order mark, written by spreadsheets
		}
		name = strings.ToLower(strings.TrimSpace(name))
		place, known := places[name]
		switch {
		case !known:
			p.fault(line, "column %d: want date, value, name or weight, found %q", i+1, name)
		case place >= 0:
			p.fault(line, "column %d: found %q again", i+1, name)
		}
		places[name] = i
	}
	for _, name := range []string{"date", "value"} {
		if places[name] < 0 {
			p.fault(line, "want a column %s, found %q", name, strings.Join(record, ","))
		}
	}
	c := &p.columns
	c.date, c.value, c.name, c.weight = places["date"], places["value"], places["name"], places["weight"]
	return len(p.faults) == 0
}

func (p *reader) row(record []string, line int) {
	v := value{weight: 1}
	var err error
	text := strings.TrimSpace(record[p.columns.date])
	if v.date, err = time.Parse(time.DateOnly, text); err != nil {
		p.fault(line, "date: want a day like 2026-11-21, found %q", text)
	}
	text = strings.TrimSpace(record[p.columns.value])
	if v.value, err = strconv.ParseFloat(text, 64); err != nil || !(math.Abs(v.value) <= 1e100) {
		p.fault(line, "value: want a number, found %q", text)
	}
	if p.columns.weight >= 0 {
		text = strings.TrimSpace(record[p.columns.weight])
		if v.weight, err = strconv.ParseFloat(text, 64); err != nil || !(v.weight >= 1e-100 && v.weight <= 1e100) {
			p.fault(line, "weight: want a number above 0, found %q", text)
		}
	}
	name := "value"
	if p.columns.name >= 0 {
		name = record[p.columns.name]
	}
	number, known := p.numbers[name]
	if !known {
		if number = int32(len(p.names)); number == maxNames {
			p.fault(line, "name: want at most %d names, found %q too", maxNames, name)
			return
		}
		name = strings.Clone(name)
		p.numbers[name] = number
		p.names = append(p.names, name)
	}
	v.name = number
	p.values = append(p.values, v)
}

// series converts the values to the rows of a history. Each row gets FewRecords records, whatever its weight, so
// that it is evaluated. A series with a value below leastLog is compared by differences.
func (p *reader) series() (*Series, error) {
	if len(p.values) == 0 {
		return nil, errors.New("want a line for each day below the names of the columns, found none")
	}
	byDate := func(a, b value) int { return a.date.Compare(b.date) }
	first, last := slices.MinFunc(p.values, byDate).date, slices.MaxFunc(p.values, byDate).date
	if days := int(last.Sub(first) / (24 * time.Hour)); days >= maxDays {
		return nil, fmt.Errorf("want at most %d days, found %s to %s", maxDays, first.Format(time.DateOnly), last.Format(time.DateOnly))
	}
	s := &Series{First: first, History: History{Methods: p.names, Callers: []string{""}}}
	s.Days = int(last.Sub(first)/(24*time.Hour)) + 1
	for _, v := range p.values {
		if v.value < leastLog {
			if s.Linear == nil {
				s.Linear = make([]bool, len(p.names))
			}
			s.Linear[v.name] = true
		}
	}
	type key struct{ name, day int32 }
	sums := map[key]*Day{}
	for _, v := range p.values {
		k := key{v.name, int32(v.date.Sub(first) / (24 * time.Hour))}
		d := sums[k]
		if d == nil {
			d = &Day{Method: k.name, Day: k.day}
			sums[k] = d
		}
		d.Weight += v.weight
		d.Capped += v.weight * v.value
		if s.linear(v.name) {
			d.Log += v.weight * v.value
		} else {
			d.Log += v.weight * math.Log(v.value)
		}
	}
	for _, d := range sums {
		d.Records = FewRecords
		s.Rows = append(s.Rows, *d)
	}
	slices.SortFunc(s.Rows, func(a, b Day) int {
		if a.Method != b.Method {
			return int(a.Method - b.Method)
		}
		return int(a.Day - b.Day)
	})
	return s, nil
}
