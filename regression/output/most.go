package output

import (
	"fmt"
	"slices"
)

// Most splits all into the top that come first by an order and the others, both in the order in
// which all are; 0 = all.
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

// First are the top of all (0 = all), and how many there are beyond.
func First[T any](all []T, top int) (shown []T, left int) {
	if top <= 0 || top >= len(all) {
		return all, 0
	}
	return all[:top], len(all) - top
}

// More says in a line that there is more than what is printed, if there is.
func More(n int, what string) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d more %s: --all prints them", n, what)}
}
