package pairs

import (
	"fmt"
	"math"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Spreads are the assumed differences between hosts, and of one method between processes, as standard deviations of
// logarithms.
type Spreads struct {
	// Hosts is null if hosts cannot be distinguished from processes. Processes then includes both.
	Hosts     *float64 `json:"hosts"`
	Processes float64  `json:"processes"`
	From      string   `json:"from"`
}

func spreadsOf(s evidence.Spreads) *Spreads {
	out := &Spreads{Processes: math.Sqrt(s.Processes.Variance)}
	if s.Hosts.Variance > 0 {
		sd := math.Sqrt(s.Hosts.Variance)
		out.Hosts = &sd
	}
	return out
}

const theseProcesses = "these processes"

// learnedFrom describes the origin of the spreads in a comparison with few processes.
func learnedFrom(earlier, others int) string {
	from := theseProcesses
	switch {
	case earlier == 1:
		from += ", an earlier deployment of the service"
	case earlier > 1:
		from += fmt.Sprintf(", %d earlier deployments of the service", earlier)
	}
	if others > 0 {
		from += fmt.Sprintf(", deployments of %d other services", others)
	}
	return from + " and the defaults"
}

// String returns the spreads as text.
func (s *Spreads) String() string {
	if s.Hosts == nil {
		return fmt.Sprintf("processes of one version are taken to differ by %.1f%%, from %s", 100*s.Processes, s.From)
	}
	return fmt.Sprintf("hosts are taken to differ by %.1f%%, a method between processes by %.1f%%, from %s", 100**s.Hosts, 100*s.Processes, s.From)
}
