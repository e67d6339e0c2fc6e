package output

import (
	"fmt"
	"slices"
)

// Most splits all into the first top elements by an order, and the others. Both keep their order in all.
// If top is 0, shown contains all.
func Most[T any](all []T, top int, order func(a, b T) int) (shown, left []T) {
	if top <= 0 || top >= len(all) {
		return all, nil
	}
	places := make([]int, len(all))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int { return order(all[i], all[j]) })
	is := make([]bool, len(all))
	for _, i := range places[:top] {
		is[i] = true
	}
	for i, v := range all {
		if is[i] {
			shown = append(shown, v)
		} else {
			left = append(left, v)
		}
	}
	return shown, left
}

// First returns the first top elements of all (0 = all), and the number of the others.
func First[T any](all []T, top int) (shown []T, left int) {
	if top <= 0 || top >= len(all) {
		return all, 0
	}
	return all[:top], len(all) - top
}

// More returns a line with the number of omitted elements, if there are any.
func More(n int, what string) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d more %s: --all prints them", n, what)}
}
