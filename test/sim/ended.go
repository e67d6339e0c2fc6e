package sim

import (
	"math"
	"sync"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// Ends are the numbers of evaluations after which a roll-out ends early.
var Ends = []int{2, 3, 4, 5, 6, 8, 10}

// Ended counts the results of the last evaluation of roll-outs that end early. Every deployment is ended at
// each of Ends.
type Ended struct {
	Unchanged, False int
	// Clear counts methods that are at least 50% more expensive and have at least 300 head records at the end.
	// Found counts the reported ones, OneLook those reported by the last evaluation alone.
	Clear, Found, OneLook int
}

// CountEnded draws deployments and ends each at all of Ends.
func CountEnded(p Plan, seed uint64, deployments int, o evidence.Options, progress func(done int)) Ended {
	var total Ended
	var mutex sync.Mutex
	done := 0
	parallel(deployments, func() func(int) {
		var memory *Deployment
		return func(run int) {
			memory = Draw(p, seed, uint64(run), memory)
			e := memory.ended(o)
			mutex.Lock()
			defer mutex.Unlock()
			total.Unchanged, total.False = total.Unchanged+e.Unchanged, total.False+e.False
			total.Clear, total.Found, total.OneLook = total.Clear+e.Clear, total.Found+e.Found, total.OneLook+e.OneLook
			if done++; progress != nil {
				progress(done)
			}
		}
	})
	return total
}

func (d *Deployment) ended(o evidence.Options) (e Ended) {
	for _, end := range Ends {
		shown := d.Deployment
		shown.Buckets = d.before + end - 1
		_, memory, err := evidence.Evaluate(&shown, o, evidence.Memory{})
		if err != nil {
			panic(err) // the harness drew an invalid deployment
		}
		shown.Buckets++
		shown.Over = true
		result, _, err := evidence.Evaluate(&shown, o, memory)
		if err != nil {
			panic(err)
		}
		for m, v := range result.Methods {
			told := v.State == evidence.Regressed
			switch effect := d.Truth[m].Effect; {
			case effect == 0:
				e.Unchanged++
				if told {
					e.False++
				}
			case effect >= math.Log(1.5) && v.HeadRecords >= 300:
				e.Clear++
				if told {
					e.Found++
				}
				if told && memory.InARow[""][v.Method] == 0 {
					e.OneLook++
				}
			}
		}
	}
	return e
}
