package harness

import "context"

// Costs are what the tests read of `corehour cost`.
type Costs struct {
	Methods []struct {
		Class              string   `json:"class"`
		Method             string   `json:"method"`
		SelfCoreHoursSE    *float64 `json:"self_core_hours_se"`
		InclusiveCoreHours *float64 `json:"inclusive_core_hours"`
	} `json:"methods"`
}

// Cost runs `corehour cost`.
func (c Command) Cost(ctx context.Context) (Costs, error) {
	var costs Costs
	_, err := c.json(ctx, &costs, "cost")
	return costs, err
}
