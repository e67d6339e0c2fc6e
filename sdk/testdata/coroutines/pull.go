//go:build !nopull

package main

import (
	"iter"
	"slices"

	corehour "github.com/corehour/corehour/sdk"
)

func init() {
	ways["pulling in"] = func(m *corehour.Method) {
		next, stop := iter.Pull(numbers)
		defer stop()
		call := m.Begin()
		next()
		call.End()
	}
	ways["pulling after"] = func(m *corehour.Method) {
		call := m.Begin()
		next, stop := iter.Pull(numbers)
		defer stop()
		next()
		call.End()
		next()
	}
	ways["pulling deeper"] = func(m *corehour.Method) {
		defer m.Begin().End()
		next, stop := iter.Pull(numbers)
		defer stop()
		call := m.Begin()
		next()
		call.End()
	}
	ways["yielding in"] = func(m *corehour.Method) {
		next, stop := iter.Pull(func(yield func(int) bool) {
			defer m.Begin().End()
			yield(1)
		})
		defer stop()
		next()
		next()
	}
	// A coroutine that is used up within the call it is made in.
	ways["pulling within"] = func(m *corehour.Method) {
		defer m.Begin().End()
		next, stop := iter.Pull2(slices.All([]int{1, 2, 3}))
		defer stop()
		for _, _, more := next(); more; _, _, more = next() {
		}
	}
}

func numbers(yield func(int) bool) {
	for i := 0; yield(i); i++ {
	}
}
