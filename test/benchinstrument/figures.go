package main

import (
	"os"
	"slices"
)

// figure is one line of the table.
type figure struct {
	Name      string   `json:"name"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"`
	Peer      string   `json:"peer,omitempty"`
	PeerValue float64  `json:"peer_value,omitempty"`
	Ratio     float64  `json:"ratio,omitempty"`
	Goal      *float64 `json:"goal,omitempty"`
	Better    string   `json:"better"`
}

// alone returns a figure that nothing is next to.
func alone(name, unit string, values ...float64) figure {
	return figure{Name: name, Value: median(values), Unit: unit, Better: "lower"}
}

// against returns a figure with the median of the ratios of the rounds; goal 0 = none.
func against(name, unit string, ours []float64, peer string, peers []float64, goal float64) figure {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / peers[i]
	}
	f := alone(name, unit, ours...)
	f.Peer, f.PeerValue, f.Ratio = peer, median(peers), median(ratios)
	if goal > 0 {
		f.Goal = &goal
	}
	return f
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// sizeOf returns the size of a file in MB.
func sizeOf(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size()) / 1e6
}
