package sim

import "github.com/corehour/corehour/regression/judge"

// Pipeline is package judge, as the command uses it.
func Pipeline(o judge.Options) Kind {
	return Kind{"pipeline", func() Detector { return &pipeline{options: o} }}
}

type pipeline struct {
	options judge.Options
	memory  judge.Memory
}

func (p *pipeline) Look(d *Deployment, slots int) []int {
	shown := d.Deployment
	shown.Slots = slots
	result, memory, err := judge.Look(&shown, p.options, p.memory)
	if err != nil {
		panic(err) // the harness drew a deployment that is none
	}
	p.memory = memory
	var raised []int
	for m, v := range result.Methods {
		if v.State == judge.Regressed {
			raised = append(raised, m)
		}
	}
	return raised
}
