package sim

import (
	"sync"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Pipeline returns the evaluation of package evidence, as the command uses it.
func Pipeline(o evidence.Options) Kind {
	return Kind{"pipeline", func() Detector { return &pipeline{options: o} }}
}

type pipeline struct {
	options evidence.Options
	memory  evidence.Memory
	service bool // the whole service was ever reported
}

func (p *pipeline) Look(d *Deployment, buckets int) []int {
	shown := d.Deployment
	shown.Buckets = d.before + buckets
	result, memory, err := evidence.Evaluate(&shown, p.options, p.memory)
	if err != nil {
		panic(err) // the harness drew an invalid deployment
	}
	p.memory = memory
	p.service = p.service || result.Service.State == evidence.Regressed
	var raised []int
	for m, v := range result.Methods {
		if v.State == evidence.Regressed {
			raised = append(raised, m)
		}
	}
	return raised
}

// ServiceFound returns the number of deployments in which the whole service was reported (found), and the
// number in which at least one method was reported (methods). The two are counted independently.
func ServiceFound(p Plan, seed uint64, deployments int, progress func(done int)) (found, methods int) {
	results := make([][2]bool, deployments)
	var mutex sync.Mutex
	done := 0
	parallel(deployments, func() func(int) {
		var memory *Deployment
		return func(run int) {
			memory = Draw(p, seed, uint64(run), memory)
			d := &pipeline{options: evidence.Defaults()}
			raised := false
			for buckets := 1; buckets <= Looks; buckets++ {
				raised = len(d.Look(memory, buckets)) > 0 || raised
			}
			mutex.Lock()
			defer mutex.Unlock()
			results[run] = [2]bool{d.service, raised}
			if done++; progress != nil {
				progress(done)
			}
		}
	})
	for _, r := range results {
		if r[0] {
			found++
		}
		if r[1] {
			methods++
		}
	}
	return found, methods
}
