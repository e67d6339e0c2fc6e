package query

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// Map is a value of the type MAP, in the order of the engine.
type Map struct {
	Keys, Values []any
}

// change converts a value of the engine to the value returned to the user. A nil change keeps values
// as they are.
type change func(any) any

// changesOf returns the conversions for the columns of a statement. A date, a time of day, an interval and
// a UUID become the text that the engine itself prints, because their Go values are ambiguous: a date is
// the instant at which it begins in UTC, and would appear as the day before in a zone west of UTC.
// A value that remains a time.Time is an instant.
func changesOf(s *duckdb.Stmt) ([]change, error) {
	n, err := s.ColumnCount()
	if err != nil {
		return nil, err
	}
	out := make([]change, n)
	for i := range out {
		if t, err := s.ColumnTypeInfo(i); err == nil { // on an error the driver has no details of the type
			out[i] = changeOf(t)
		}
	}
	return out, nil
}

func changeOf(t duckdb.TypeInfo) change {
	switch t.InternalType() {
	case duckdb.TYPE_DATE:
		return as("2006-01-02")
	case duckdb.TYPE_TIME:
		return as("15:04:05.999999")
	case duckdb.TYPE_TIME_TZ:
		zoned := as("15:04:05.999999-07:00")
		return func(v any) any { return strings.TrimSuffix(zoned(v).(string), ":00") }
	case duckdb.TYPE_INTERVAL:
		return func(v any) any { return intervalText(v.(duckdb.Interval)) }
	case duckdb.TYPE_UUID:
		return func(v any) any {
			var id duckdb.UUID
			copy(id[:], v.([]byte))
			return id.String()
		}
	}
	switch d := t.Details().(type) {
	case *duckdb.ListDetails:
		return eachOf(changeOf(d.Child))
	case *duckdb.ArrayDetails:
		return eachOf(changeOf(d.Child))
	case *duckdb.StructDetails:
		return fieldsOf(d.Entries)
	case *duckdb.MapDetails:
		return mapOf(changeOf(d.Key), changeOf(d.Value))
	case *duckdb.UnionDetails:
		return memberOf(d.Members)
	}
	return nil
}

// changeOfRemote returns the conversion for a type of BigQuery. Its decimals have more digits than a
// float64.
func changeOfRemote(kind string) change {
	if kind == "NUMERIC" || kind == "BIGNUMERIC" {
		return func(v any) any { return json.Number(v.(string)) }
	}
	return nil
}

// to applies the conversion to v; NULL stays NULL.
func (c change) to(v any) any {
	if c == nil || v == nil {
		return v
	}
	return c(v)
}

func as(layout string) change {
	return func(v any) any { return v.(time.Time).Format(layout) }
}

// all applies the conversion to the elements of a list.
func (c change) all(list []any) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = c.to(list[i])
	}
	return out
}

func eachOf(element change) change {
	if element == nil {
		return nil
	}
	return func(v any) any { return element.all(v.([]any)) }
}

func fieldsOf(entries []duckdb.StructEntry) change {
	fields := map[string]change{}
	for _, e := range entries {
		if c := changeOf(e.Info()); c != nil {
			fields[e.Name()] = c
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return func(v any) any {
		record := v.(map[string]any)
		out := make(map[string]any, len(record))
		for name, value := range record {
			out[name] = fields[name].to(value)
		}
		return out
	}
}

func mapOf(keys, values change) change {
	return func(v any) any {
		pairs := v.(duckdb.OrderedMap)
		return Map{Keys: keys.all(pairs.Keys()), Values: values.all(pairs.Values())}
	}
}

func memberOf(members []duckdb.UnionMember) change {
	byTag := map[string]change{}
	for _, m := range members {
		byTag[m.Name] = changeOf(m.Type)
	}
	return func(v any) any {
		union := v.(duckdb.Union)
		return byTag[union.Tag].to(union.Value)
	}
}

// intervalText formats an interval as the engine does: `1 year 2 months 3 days 04:05:06.5`.
func intervalText(i duckdb.Interval) string {
	var parts []string
	for _, p := range []struct {
		n    int32
		unit string
	}{{i.Months / 12, "year"}, {i.Months % 12, "month"}, {i.Days, "day"}} {
		switch p.n {
		case 0:
		case 1, -1:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.unit))
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", p.n, p.unit))
		}
	}
	if i.Micros != 0 || len(parts) == 0 {
		sign, micros := "", uint64(i.Micros)
		if i.Micros < 0 {
			sign, micros = "-", -micros
		}
		seconds := micros / 1e6
		clock := fmt.Sprintf("%s%02d:%02d:%02d", sign, seconds/3600, seconds/60%60, seconds%60)
		if rest := micros % 1e6; rest > 0 {
			clock += strings.TrimRight(fmt.Sprintf(".%06d", rest), "0")
		}
		parts = append(parts, clock)
	}
	return strings.Join(parts, " ")
}
