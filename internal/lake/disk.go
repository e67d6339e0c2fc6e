package lake

import (
	"time"

	"github.com/corehour/corehour/internal/parquet"
)

// sheds lists the oldest dates that must go so that the warehouse gets below its
// limits. The date under way and the one before it stay, whatever the disk says.
func (p *Policy) sheds(dates []parquet.Date, now time.Time, counting, doomed, free int64, freeKnown bool) []parquet.Date {
	if !p.DropOldest {
		return nil
	}
	// What was taken out before is free as soon as its grace is over.
	over := int64(0)
	if p.MaxBytes > 0 {
		over = counting - p.MaxBytes
	}
	if p.MinFree > 0 && freeKnown {
		over = max(over, p.MinFree-free-doomed)
	}
	var out []parquet.Date
	for i := range dates {
		if over <= 0 || age(dates[i].Date, now) < day {
			break
		}
		over -= bytesOf(&dates[i])
		out = append(out, dates[i])
	}
	return out
}
