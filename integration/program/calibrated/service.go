package main

// The methods, and the iterations of their own bodies, about a nanosecond each.
const (
	root = iota
	two
	fifty
	small
	micro
	ten
	nest
	even
	odd
	heavy
	batch
	five
	methods
)

var names = [methods]string{"root", "two", "fifty", "small", "micro", "ten", "nest", "even", "odd", "heavy", "batch", "five"}

var iterations = [methods]int{root: 20_000, two: 2, fifty: 48, small: 155, micro: 1000, ten: 10_000,
	nest: 300, even: 2000, odd: 1000, heavy: 4_800_000, batch: 5000, five: 5}

// heavyOneIn: one request in so many calls the heavy method.
const heavyOneIn = 20

// service counts its calls. One goroutine calls it.
type service struct {
	calls [methods]int64
	x     uint64
}

// work is a chain of dependent operations, which a busy neighbour slows little.
//
//go:noinline
func (s *service) work(method int) {
	s.calls[method]++
	x := s.x
	for range iterations[method] {
		x = x*6364136223846793005 + 1442695040888963407
	}
	s.x = x
}

// root is the request. It calls most of the other methods; the n-th request calls the heavy one as
// well.
//
//go:noinline
func (s *service) root(n int) {
	c := probes[root].Begin()
	s.work(root)
	for range 100 {
		s.two()
	}
	for range 40 {
		s.fifty()
		s.small()
	}
	for range 10 {
		s.micro()
	}
	for range 3 {
		s.ten()
	}
	s.nest(1 + n%100)
	s.even(5)
	s.batch()
	if n%heavyOneIn == 0 {
		s.heavy()
	}
	c.End()
}

//go:noinline
func (s *service) two() {
	c := probes[two].Begin()
	s.work(two)
	c.End()
}

//go:noinline
func (s *service) fifty() {
	c := probes[fifty].Begin()
	s.work(fifty)
	c.End()
}

//go:noinline
func (s *service) small() {
	c := probes[small].Begin()
	s.work(small)
	c.End()
}

//go:noinline
func (s *service) micro() {
	c := probes[micro].Begin()
	s.work(micro)
	c.End()
}

//go:noinline
func (s *service) ten() {
	c := probes[ten].Begin()
	s.work(ten)
	c.End()
}

// nest calls itself to a depth.
//
//go:noinline
func (s *service) nest(depth int) {
	c := probes[nest].Begin()
	s.work(nest)
	if depth > 1 {
		s.nest(depth - 1)
	}
	c.End()
}

//go:noinline
func (s *service) even(depth int) {
	c := probes[even].Begin()
	s.work(even)
	if depth > 0 {
		s.odd(depth - 1)
	}
	c.End()
}

//go:noinline
func (s *service) odd(depth int) {
	c := probes[odd].Begin()
	s.work(odd)
	if depth > 0 {
		s.even(depth - 1)
	}
	c.End()
}

//go:noinline
func (s *service) heavy() {
	c := probes[heavy].Begin()
	s.work(heavy)
	c.End()
}

// batch calls many small methods.
//
//go:noinline
func (s *service) batch() {
	c := probes[batch].Begin()
	s.work(batch)
	for range 200 {
		s.five()
	}
	c.End()
}

//go:noinline
func (s *service) five() {
	c := probes[five].Begin()
	s.work(five)
	c.End()
}
