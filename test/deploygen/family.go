package deploygen

import "math/rand/v2"

// Names of the families.
const (
	FamilySmallServices = "small-services"
	FamilyIndependent   = "independent"
)

// SmallServices returns all scenes of the family of small services, always in the same order.
func SmallServices() []Scene {
	structures := []Structure{Tree(12), Tree(60), Recursion, SharedLeaf}
	for n := 1; n <= 9; n++ {
		structures = append(structures, Chain(n))
	}
	changes := []Change{{Nothing, 1}, {Two, 1.5}, {Third, 1.3}, {Half, 1.3}, {All, 1.2}, {All, 10}}
	for _, where := range []string{Leaf, Middle, Root} {
		for _, factor := range []float64{1.2, 1.5, 2.28} {
			changes = append(changes, Change{where, factor})
		}
	}
	var list []Scene
	for _, structure := range structures {
		for _, change := range changes {
			if !change.Fits(structure) {
				continue
			}
			for _, processes := range [][2]int{{1, 1}, {3, 1}, {3, 3}, {8, 8}, {36, 4}} {
				usual := Scene{
					Family: FamilySmallServices, Structure: structure, Change: change,
					Base: processes[0], Head: processes[1], HostSD: 0.06, InstanceSD: 0.015,
				}
				list = append(list, conditions(usual)...)
				for _, records := range []int{100, 2000} {
					s := usual
					s.Records = records
					list = append(list, s)
				}
				whole := usual
				whole.WholeRequests = true
				list = append(list, whole)
			}
		}
	}
	return list
}

// conditions returns a scene once for every combination of host and instance conditions.
func conditions(s Scene) []Scene {
	var list []Scene
	for _, s.HostSD = range []float64{0.03, 0.06, 0.15} {
		for _, s.InstanceSD = range []float64{0.015, 0.05} {
			for _, s.LoadingSD = range []float64{0, 0.3} {
				list = append(list, s)
			}
		}
	}
	return list
}

// Independent returns all scenes of the independent family, always in the same order.
func Independent() []Scene {
	disturbances := []Disturbance{
		{},
		{Rare: Rare{P: 0.01, Factor: 100, Both: true}}, {Rare: Rare{P: 0.003, Factor: 400, Both: true}},
		{DifferSD: 0.15},
		{HeadLoad: 2.5}, {HeadLoad: 1 / 2.5},
		{AR: 0.7}, {AR: 0.9},
		{Dips: true}, {Neighbor: true}, {Tie: true}, {ColdCache: true}, {ColdCache: true, Tie: true},
	}
	becoming := []Disturbance{{Rare: Rare{P: 0.01, Factor: 100}}, {Rare: Rare{P: 0.003, Factor: 400}}}
	var list []Scene
	for _, structure := range []Structure{Chain(5), Tree(12), SharedLeaf} {
		for _, processes := range [][2]int{{3, 3}, {8, 8}, {6, 1}} {
			s := Scene{
				Family: FamilyIndependent, Structure: structure, Base: processes[0], Head: processes[1],
				HostSD: 0.06, InstanceSD: 0.015,
			}
			for _, s.Change = range []Change{{Nothing, 1}, {Leaf, 1.5}, {Third, 1.3}} {
				for _, s.Disturbance = range disturbances {
					list = append(list, s)
				}
			}
			s.Change = Change{Nothing, 1}
			for _, s.Disturbance = range becoming {
				for _, s.Records = range []int{DefaultRecords, 2000} {
					list = append(list, s)
				}
			}
		}
	}
	return list
}

// Pick returns n scenes of a family in an order determined by the seed. No scene repeats before all have been picked.
func Pick(family []Scene, n int, seed uint64) []Scene {
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	picked := make([]Scene, 0, n)
	var order []int
	for range n {
		if len(order) == 0 {
			order = rng.Perm(len(family))
		}
		picked = append(picked, family[order[0]])
		order = order[1:]
	}
	return picked
}
