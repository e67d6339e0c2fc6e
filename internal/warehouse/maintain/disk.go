package maintain

import (
	"time"

	"github.com/corehour/corehour/internal/warehouse/table"
)

// sheds returns the oldest dates that must be dropped to get the warehouse below its limits. It never
// returns the open day or the day before it, even if the limits are still exceeded.
func (p *Policy) sheds(dates []table.Date, now time.Time, counting, doomed, free int64, freeKnown bool) []table.Date {
	if !p.DropOldest {
		return nil
	}
	over := p.over(counting, doomed, free, freeKnown)
	var out []table.Date
	for i := range dates {
		if over <= 0 || age(dates[i].Date, now) < day {
			break
		}
		over -= bytesOf(&dates[i])
		out = append(out, dates[i])
	}
	return out
}

// over returns the number of bytes by which the warehouse exceeds its limits.
func (p *Policy) over(counting, doomed, free int64, freeKnown bool) (n int64) {
	if p.MaxBytes > 0 {
		n = counting - p.MaxBytes
	}
	if p.MinFree > 0 && freeKnown {
		// Files removed before are deleted as soon as their grace period is over.
		n = max(n, p.MinFree-free-doomed)
	}
	return n
}

// roomForSums reports whether there is enough room below the limits for a pre-aggregated rollup of files
// of the given size; the rollup is smaller. Rollups are the first files to be dropped at a limit. They
// therefore need a margin, or they would be made and dropped again and again.
func (p *Policy) roomForSums(bytes, counting, doomed, free int64, freeKnown bool) bool {
	return (p.MaxBytes == 0 || counting+doomed+bytes <= p.MaxBytes/8*7) &&
		(!freeKnown || free-bytes >= max(2*p.MinFree, bytes))
}
