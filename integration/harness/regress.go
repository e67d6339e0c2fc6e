package harness

import "context"

// Findings is the part of `corehour regress --format json` that tests read.
type Findings struct {
	Alerts       []Alert `json:"alerts"`
	CouldNotTell bool    `json:"could_not_tell"`
	Comparisons  []struct {
		Service     string    `json:"service"`
		BaseVersion string    `json:"base_version"`
		HeadVersion string    `json:"head_version"`
		Metric      string    `json:"metric"`
		Clusters    string    `json:"clusters"`
		Warnings    []string  `json:"warnings"`
		Methods     []Verdict `json:"methods"`
		Alerts      []Alert   `json:"alerts"`
	} `json:"comparisons"`
	Output Output `json:"-"`
}

// Verdict is the verdict on one method.
type Verdict struct {
	Class         string   `json:"class"`
	Method        string   `json:"method"`
	State         string   `json:"state"`
	ChangePercent *float64 `json:"change_percent"`
	// Interval is the 95% interval of ChangePercent.
	Interval     *[2]float64 `json:"interval"`
	Measured     *Change     `json:"measured_change"`
	Basis        string      `json:"basis"`
	MixPercent   *float64    `json:"mix_percent"`
	BaseRecords  int64       `json:"base_records"`
	HeadRecords  int64       `json:"head_records"`
	Reason       string      `json:"reason"`
	Inclusive    *Change     `json:"inclusive_change"`
	EValue       *float64    `json:"e_value"`
	NeededEValue *float64    `json:"needed_e_value"`
}

// Change is in percent, with its 95% interval.
type Change struct {
	Percent  float64    `json:"percent"`
	Interval [2]float64 `json:"interval"`
}

// Alert is one alert.
type Alert struct {
	Kind          string  `json:"kind"`
	Service       string  `json:"service"`
	Class         string  `json:"class"`
	Method        string  `json:"method"`
	Caller        string  `json:"caller"`
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
