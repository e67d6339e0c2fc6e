//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// work is a method or a component of the witness.
type work struct {
	name          string
	call, prepare func() // prepare may be nil and is not timed
}

// sink keeps results that the compiler would otherwise leave out.
var sink int //nolint:unused // only written

type order struct {
	ID       int
	Customer string
	Items    []string
	Total    float64
}

type node struct {
	key         uint64
	left, right *node
}

// newMethods returns eight kinds of code; a call takes 100 to 500 us.
func newMethods() []work {
	r := rand.New(rand.NewPCG(7, 7))
	orders := make([]order, 600)
	var text strings.Builder
	for i := range orders {
		orders[i] = order{i, "customer-" + strconv.Itoa(r.IntN(1e6)), []string{"apple", "pear " + strconv.Itoa(i), "plum"}, r.Float64() * 100}
		text.WriteString(orders[i].Customer + " bought " + orders[i].Items[1] + " at 12:" + strconv.Itoa(10+r.IntN(50)) + "\n")
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)

	large := make(map[uint64]uint64, 1<<20)
	for i := range uint64(1 << 20) {
		large[i*0x9E3779B97F4A7C15] = i
	}
	var root *node
	for range 200_000 {
		at := &root
		for key := r.Uint64(); ; {
			if *at == nil {
				*at = &node{key: key}
				break
			}
			if key < (*at).key {
				at = &(*at).left
			} else {
				at = &(*at).right
			}
		}
	}
	shuffled, sorted := r.Perm(4000), make([]int, 4000)
	pattern := regexp.MustCompile(`customer-(\d+) bought (\w+) (\d+) at 12:[345]\d`)
	lines := text.String()
	compressor := gzip.NewWriter(io.Discard)
	block := bytes.Repeat([]byte(lines), 16)[:300_000]

	return []work{
		{name: "json", call: func() {
			encoded.Reset()
			if err := encoder.Encode(orders); err != nil {
				panic(err)
			}
		}},
		{name: "map", call: func() {
			for range 3000 {
				sink += int(large[(r.Uint64()>>44)*0x9E3779B97F4A7C15])
			}
		}},
		{name: "sort", call: func() {
			copy(sorted, shuffled)
			slices.Sort(sorted)
		}},
		{name: "strings", call: func() {
			kept := make([]string, 0, 64)
			for i := range 2000 {
				kept = append(kept, "order "+strconv.Itoa(i)+" of "+orders[i%len(orders)].Customer)
			}
			sink += len(strings.Join(kept, ","))
		}},
		{name: "regexp", call: func() { sink += len(pattern.FindAllStringIndex(lines[:15000], -1)) }},
		{name: "gzip", call: func() {
			compressor.Reset(io.Discard)
			if _, err := compressor.Write(block[:8000]); err != nil {
				panic(err)
			}
			if err := compressor.Close(); err != nil {
				panic(err)
			}
		}},
		{name: "tree", call: func() {
			for range 400 {
				key := r.Uint64()
				for at := root; at != nil; {
					sink++
					if key < at.key {
						at = at.left
					} else {
						at = at.right
					}
				}
			}
		}},
		{name: "hash", call: func() {
			sum := sha256.Sum256(block)
			sink += int(sum[0])
		}},
	}
}

// newWitness returns the components of the witness; a reading takes 20 to 50 us.
func newWitness(r *rand.Rand) []work {
	x := uint64(1)
	return []work{
		{name: components[0], call: func() {
			for range 20_000 {
				x = x*6364136223846793005 + 1442695040888963407
			}
			sink += int(x)
		}},
		newChase(r, components[1], 32<<10, 20_000, true),
		newChase(r, components[2], 256<<10, 10_000, true),
		newChase(r, components[3], 2<<20, 150, false),
	}
}

// newChase returns a chase through size bytes, one cache line after another in a
// random cycle. A reading starts where the last one ended. With warm, all lines are
// read once before, and the reading measures the cache they fit into; without, it
// measures what the methods and the neighbours left there.
func newChase(r *rand.Rand, name string, size, steps int, warm bool) work {
	lines := make([][8]uint64, size/64)
	for i := range lines {
		lines[i][0] = uint64(i)
	}
	for i := len(lines) - 1; i > 0; i-- { // Sattolo: one cycle through all lines
		j := r.IntN(i)
		lines[i][0], lines[j][0] = lines[j][0], lines[i][0]
	}
	at := uint64(0)
	walk := func(steps int) {
		for range steps {
			at = lines[at][0]
		}
		sink += int(at)
	}
	chase := work{name: name, call: func() { walk(steps) }}
	if warm {
		chase.prepare = func() { walk(len(lines)) }
	}
	return chase
}
