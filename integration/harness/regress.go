package harness

import "context"

// Findings are what the tests read of `corehour regress`.
type Findings struct {
	Alerts       []Alert `json:"alerts"`
	CouldNotTell bool    `json:"could_not_tell"`
	Comparisons  []struct {
		Service     string `json:"service"`
		BaseVersion string `json:"base_version"`
		HeadVersion string `json:"head_version"`
		Metric      string `json:"metric"`
		Methods     []struct {
			Class         string   `json:"class"`
			Method        string   `json:"method"`
			State         string   `json:"state"`
			ChangePercent *float64 `json:"change_percent"`
		} `json:"methods"`
	} `json:"comparisons"`
	Output Output `json:"-"`
}

// Alert is one regression.
type Alert struct {
	Service       string  `json:"service"`
	Class         string  `json:"class"`
	Method        string  `json:"method"`
	BaseVersion   string  `json:"base_version"`
	HeadVersion   string  `json:"head_version"`
	Metric        string  `json:"metric"`
	ChangePercent float64 `json:"change_percent"`
}

// Regress runs `corehour regress`.
func (c Command) Regress(ctx context.Context, args ...string) (Findings, error) {
	var f Findings
	var err error
	f.Output, err = c.json(ctx, &f, "regress", args...)
	return f, err
}
