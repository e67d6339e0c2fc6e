//go:build !race

package families

import (
	"math"
	"testing"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// rename gives a method another name in the head version. With split, the method remains and calls the new one, which
// has most of its cost and all of its callees.
func rename(d *evidence.Deployment, method int32, split bool) {
	caller, fresh := method+1, int32(len(d.Methods)) // Callers begins with "(entry)"
	name := d.Methods[method] + "Fast"
	d.Methods, d.Callers = append(d.Methods, name), append(d.Callers, name)
	for i, n := 0, len(d.Cells); i < n; i++ {
		c := &d.Cells[i]
		if d.Instances[c.Instance].Side == evidence.Base {
			continue
		}
		if c.Caller == caller {
			c.Caller = fresh + 1
		}
		switch {
		case c.Method != method:
		case split:
			inner := *c
			inner.Method, inner.Caller = fresh, caller
			inner.Sum, inner.Capped, inner.Log = 0.9*c.Sum, 0.9*c.Capped, c.Log+c.Weight*math.Log(0.9)
			d.Cells = append(d.Cells, inner)
		default:
			c.Method = fresh
		}
	}
}

// A renamed or split method cannot be compared with itself. Its callers, or what remains of it, show that it became more
// expensive, and nothing is raised if it did not.
func TestRenamed_CallersShowChange(t *testing.T) {
	deployments := 10
	if !testing.Short() {
		deployments = 500
	}
	for _, split := range []bool{false, true} {
		for _, factor := range []float64{1, 2.5} {
			s := deploygen.Scene{
				Family: deploygen.FamilyIndependent, Structure: deploygen.Chain(5), Change: deploygen.Change{Where: deploygen.Leaf, Factor: factor},
				Base: 3, Head: 3, HostSD: 0.06, InstanceSD: 0.015, Records: 1000,
			}
			var raised, found, named int
			if err := each(deployments, func(i int) (*evidence.Result, error) {
				d := Deployment(deploygen.Draw(s, seed+uint64(i)))
				rename(d, 4, split)
				d.Buckets--
				_, memory, err := evidence.Evaluate(d, evidence.Defaults(), evidence.Memory{})
				if err != nil {
					return nil, err
				}
				d.Buckets++
				r, _, err := evidence.Evaluate(d, evidence.Defaults(), memory)
				return r, err
			}, func(r *evidence.Result) {
				shows := "app/steps.Step03"
				if split {
					shows = "app/steps.Step04"
				}
				for _, v := range r.Alerts {
					if raised++; v.FullName == shows && factor > 1 {
						if found++; len(v.Warnings) > 0 {
							named++
						}
					}
				}
			}, nil); err != nil {
				t.Fatal(err)
			}
			t.Logf("split %v, factor %v: %d raised, %d found", split, factor, raised, found)
			if factor == 1 && 1000*raised > 5*deployments || factor > 1 && 10*found < 8*deployments || named < found {
				t.Errorf("split %v, factor %v: %d raised, %d found, %d with names, in %d deployments", split, factor, raised, found, named, deployments)
			}
		}
	}
}
