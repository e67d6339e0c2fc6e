package alert

// Severity is the scale of alerts.
type Severity string

const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Impact is what the severity of an alert follows from.
type Impact struct {
	// USDPerDay is what the change costs; nil where nothing has a price.
	USDPerDay *float64
	// Share is the part of the service's cost that is due to the change, 0 to 1.
	Share float64
	// HeadProcesses are the processes of the head version that the evidence comes from;
	// 0 if it is not a matter of processes.
	HeadProcesses int
}

// level is where a severity begins: at this many dollars a day, or at this share of the
// service's cost if that is leastUSD a day.
type level struct {
	severity             Severity
	usd, share, leastUSD float64
}

var levels = []level{
	{Critical, 100, 0.05, 1},
	{Warning, 10, 0.01, 0.1},
}

// SeverityOf is the place of an alert on the scale. Without a price the share alone
// decides. What one process of the head version shows may be that process's fault, and
// is never critical.
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
