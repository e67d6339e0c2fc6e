package harness

import "context"

// Costs are what the tests read of `corehour cost`.
type Costs struct {
	Methods []struct {
		Class              string      `json:"class"`
		Method             string      `json:"method"`
		CPUMeasured        int64       `json:"cpu_measured"`
		SelfCoreHours      *float64    `json:"self_core_hours"`
		SelfCoreHoursSE    *float64    `json:"self_core_hours_se"`
		SelfCoreHours95    *[2]float64 `json:"self_core_hours_interval"`
		InclusiveCoreHours *float64    `json:"inclusive_core_hours"`
		BelowResolution    bool        `json:"below_resolution"`
		ResolutionNS       float64     `json:"resolution_ns"`
	} `json:"methods"`
}

// Cost runs `corehour cost`.
func (c Command) Cost(ctx context.Context, args ...string) (Costs, error) {
	var costs Costs
	_, err := c.json(ctx, &costs, "cost", args...)
	return costs, err
}
