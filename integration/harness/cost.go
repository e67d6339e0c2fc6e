package harness

import "context"

// Costs is the part of `corehour cost --format json` that tests read.
type Costs struct {
	Methods []MethodCost `json:"methods"`
	Groups  []MethodCost `json:"groups"` // instead of methods, with --by

	Services []struct {
		ProcessCoreHours float64 `json:"process_core_hours"`
	} `json:"services"`
}

// MethodCost is the cost of one method.
type MethodCost struct {
	Class              string      `json:"class"`
	Method             string      `json:"method"`
	CPUMeasured        int64       `json:"cpu_measured"`
	UnmeasuredCalls    float64     `json:"unmeasured_calls"`
	SelfCoreHours      *float64    `json:"self_core_hours"`
	SelfCoreHoursSE    *float64    `json:"self_core_hours_se"`
	SelfCoreHours95    *[2]float64 `json:"self_core_hours_interval"`
	InclusiveCoreHours *float64    `json:"inclusive_core_hours"`
	BelowResolution    bool        `json:"below_resolution"`
	ResolutionNS       float64     `json:"resolution_ns"`
}

// Cost runs `corehour cost`.
func (c Command) Cost(ctx context.Context, args ...string) (Costs, error) {
	var costs Costs
	_, err := c.json(ctx, &costs, "cost", args...)
	return costs, err
}

// Report is the part of `corehour report --format json` that tests read.
type Report struct {
	Costs []MethodCost `json:"costs"`
	Moves []Verdict    `json:"moves"`
}

// Report runs `corehour report`.
func (c Command) Report(ctx context.Context, args ...string) (Report, error) {
	var report Report
	_, err := c.json(ctx, &report, "report", args...)
	return report, err
}

// Explanation is the part of `corehour explain --format json` that tests read.
type Explanation struct {
	Methods []struct {
		Cost    *MethodCost `json:"cost"`
		Verdict *Verdict    `json:"verdict"`
	} `json:"methods"`
}

// ExplainStored runs `corehour explain` on the warehouse.
func (c Command) ExplainStored(ctx context.Context, method string, args ...string) (Explanation, error) {
	var explanation Explanation
	_, err := c.json(ctx, &explanation, "explain", append([]string{method}, args...)...)
	return explanation, err
}
