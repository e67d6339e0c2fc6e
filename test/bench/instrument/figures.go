package main

import (
	"os"
	"slices"

	"github.com/corehour/corehour/test/bench/results"
)

// figureWithoutPeer returns a figure without a peer.
func figureWithoutPeer(name, unit string, values ...float64) results.Figure {
	return results.Lower(name, median(values), unit)
}

// against returns a figure with a peer. Its ratio is the median over the rounds. A goal of 0 means no goal.
func against(name, unit string, ours []float64, peer string, peers []float64, goal float64) results.Figure {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / peers[i]
	}
	f := figureWithoutPeer(name, unit, ours...)
	value, ratio := median(peers), median(ratios)
	f.Peer, f.PeerValue, f.Ratio = peer, &value, &ratio
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
