package alert

// Severity is the severity of an alert.
type Severity string

const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Impact is the input of SeverityOf.
type Impact struct {
	// USDPerDay is the cost of the change; nil without a price.
	USDPerDay *float64
	// Share is the part of the service's cost that the change causes, 0 to 1.
	Share float64
	// HeadProcesses is the number of processes of the head version behind the evidence; 0 if processes do not
	// matter.
	HeadProcesses int
}

// level is the threshold of a severity: this many dollars per day, or this share of the service's cost if the
// change costs at least leastUSD per day.
type level struct {
	severity             Severity
	usd, share, leastUSD float64
}

var levels = []level{
	{Critical, 100, 0.05, 1},
	{Warning, 10, 0.01, 0.1},
}

// SeverityOf returns the severity for an impact. Without a price only the share counts. Evidence from a single
// process of the head version is never critical, as the process itself can be at fault.
func SeverityOf(i Impact) Severity {
	for _, l := range levels {
		if l.severity == Critical && i.HeadProcesses == 1 {
			continue
		}
		usd := l.leastUSD
		if i.USDPerDay != nil {
			usd = *i.USDPerDay
		}
		if usd >= l.usd || i.Share >= l.share && usd >= l.leastUSD {
			return l.severity
		}
	}
	return Info
}
