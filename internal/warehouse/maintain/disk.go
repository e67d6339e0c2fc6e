package maintain

import (
	"time"

	"github.com/corehour/corehour/internal/warehouse/table"
)

// sheds lists the oldest dates that must go so that the warehouse gets below its
// limits. The date under way and the one before it stay, whatever the disk says.
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

// over tells by how much the warehouse is beyond its limits.
func (p *Policy) over(counting, doomed, free int64, freeKnown bool) (n int64) {
	if p.MaxBytes > 0 {
		n = counting - p.MaxBytes
	}
	if p.MinFree > 0 && freeKnown {
		// What was taken out before is free as soon as its grace is over.
		n = max(n, p.MinFree-free-doomed)
	}
	return n
}

// roomForSums reports whether sums may be kept in addition to so many bytes of files, which are fewer.
// They are the first to go at a limit, so they stay away from it: or they would come and go.
func (p *Policy) roomForSums(bytes, counting, doomed, free int64, freeKnown bool) bool {
	return (p.MaxBytes == 0 || counting+doomed+bytes <= p.MaxBytes/8*7) &&
		(!freeKnown || free-bytes >= max(2*p.MinFree, bytes))
}
