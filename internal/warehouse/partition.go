package warehouse

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

const (
	// DateLayout is the time layout of dates.
	DateLayout = "2006-01-02"
	// DatePrefix is the prefix of the directory name of a partition.
	DatePrefix = "date="
)

// Partition holds the rows of one UTC date.
type Partition struct {
	Date string
	Rows []*methodspan.Row
}

// PartitionByDate splits rows by the UTC day of their start, sorted by day.
func PartitionByDate(rows []*methodspan.Row) []Partition {
	var dates []Partition
	index := map[int32]int{}
	for len(rows) > 0 {
		day := rows[0].EventDay()
		n := sameDay(rows, day)
		i, ok := index[day]
		if !ok {
			i = len(dates)
			index[day] = i
			dates = append(dates, Partition{Date: dateOfDay(day), Rows: rows[:n:n]})
		} else {
			dates[i].Rows = append(dates[i].Rows, rows[:n]...)
		}
		rows = rows[n:]
	}
	slices.SortFunc(dates, func(a, b Partition) int { return strings.Compare(a.Date, b.Date) })
	return dates
}

// sameDay returns the number of leading rows that started on the day.
func sameDay(rows []*methodspan.Row, day int32) int {
	for i, r := range rows {
		if r.EventDay() != day {
			return i
		}
	}
	return len(rows)
}

func dateOfDay(day int32) string { return time.Unix(int64(day)*86400, 0).UTC().Format(DateLayout) }

// DayStart returns the start of a date in nanoseconds, or the minimum value for an empty date.
func DayStart(date string) int64 {
	t, err := time.Parse(DateLayout, date)
	if err != nil {
		return math.MinInt64
	}
	return t.UnixNano()
}
