// Package shop has functions of all forms.
package shop

import (
	"errors"
	"fmt"
	"strings"
	_ "unsafe" // for go:linkname
)

// Order says in which order variables were initialised, by functions with probes.
var Order = first() + second

var second = strings.Repeat(next("b"), 2)

func first() string { return next("a") + strings.Repeat("-", 1) + fmt.Sprint(len(seen)) }

var seen []string

func next(s string) string { // a comment after the brace
	seen = append(seen, s)
	defer func() { seen = append(seen, strings.ToUpper(s)) }()
	return s + fmt.Sprint(len(s))
}

func init() { seen = append(seen, "init") }

// Run calls everything and returns what it saw.
func Run() string {
	var out []string
	out = append(out, seen...)
	list := List[int]{}
	for i := 0; i < 100; i++ {
		list.Add(i)
	}
	out = append(out, fmt.Sprint(list.Sum(func(i int) int { return i })))
	promoted := struct{ *List[int] }{&list}
	add := promoted.Add
	add(7)
	out = append(out, fmt.Sprint(len(list.items)), jump(3), where())
	value, err := Recovered()
	out = append(out, fmt.Sprint(value, err), fmt.Sprint(Map([]int{1, 2}, func(i int) string { return fmt.Sprint(-i) })))
	if nanotime() == 0 || leaf() != 1 {
		out = append(out, "no time")
	}
	return strings.Join(out, " ")
}

// List is generic.
type List[T any] struct{ items []T }

// Add has a pointer to an instance for its receiver.
//
//go:noinline
func (l *List[T]) Add(item T) { l.items = append(l.items, item) }

// Sum has a method's type parameter in its argument.
func (l List[T]) Sum(weight func(T) int) (total int) {
	defer func() { total++ }()
	for _, item := range l.items {
		total += weight(item)
	}
	return
}

// Map has two type parameters.
func Map[T, U any](items []T, change func(T) U) (changed []U) {
	defer func() { changed = changed[:len(items):len(items)] }()
	for _, item := range items {
		changed = append(changed, change(item))
	}
	return changed
}

func jump(n int) string {
again:
	n--
	if n > 0 {
		goto again
	}
	defer func() { n = 0 }()
	return fmt.Sprint("jumped ", n)
}

func Recovered() (value int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New(fmt.Sprint("recovered: ", r))
		}
	}()
	value = 1
	var none []int
	return none[value], nil
}

// Fail ends the program by a panic.
func Fail() {
	defer fmt.Println("deferred")
	panic("failed")
}

//go:nosplit
func leaf() int {
	return 1
}

//go:linkname nanotime runtime.nanotime
func nanotime() int64
