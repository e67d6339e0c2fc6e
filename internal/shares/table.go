// Package shares holds bounded tables whose room senders share: who fills a table pushes out
// entries of its own, not those of others.
package shares

import (
	"container/heap"
	"container/list"
)

// Table is bounded. When it is full, the entry goes that was used least recently, of the sender
// that has most entries. An entry that several senders use is that of the one with fewest. It is
// not safe for concurrent use.
type Table[K comparable, V any] struct {
	most    int
	entries map[K]*list.Element // of *entry
	senders map[string]*sender
	order   byEntries
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	sender *sender
}

// sender has its entries in the order of use, the last one in front.
type sender struct {
	name    string
	entries *list.List
	place   int // in the order
}

// New makes a table of that many entries at most.
func New[K comparable, V any](most int) *Table[K, V] {
	return &Table[K, V]{most: most, entries: make(map[K]*list.Element), senders: make(map[string]*sender)}
}

// Len is how many entries there are.
func (t *Table[K, V]) Len() int { return len(t.entries) }

// Get finds an entry, which counts as use by a sender.
func (t *Table[K, V]) Get(key K, by string) (value V, ok bool) {
	element, ok := t.entries[key]
	if !ok {
		return value, false
	}
	e := element.Value.(*entry[K, V])
	if e.sender.name != by && e.sender.entries.Len() > t.lengthOf(by)+1 {
		t.leave(element)
		t.join(key, e, by)
		return e.value, true
	}
	e.sender.entries.MoveToFront(element)
	return e.value, true
}

// Peek finds an entry and changes nothing.
func (t *Table[K, V]) Peek(key K) (value V, ok bool) {
	element, ok := t.entries[key]
	if !ok {
		return value, false
	}
	return element.Value.(*entry[K, V]).value, true
}

// Add adds an entry that is not there, or replaces its value. Another may go to make room.
func (t *Table[K, V]) Add(key K, value V, by string) (gone V, full bool) {
	if element, ok := t.entries[key]; ok {
		element.Value.(*entry[K, V]).value = value
		return gone, false
	}
	t.join(key, &entry[K, V]{key: key, value: value}, by)
	if len(t.entries) <= t.most {
		return gone, false
	}
	least, gone, _ := t.Least()
	t.Remove(least)
	return gone, true
}

// Least is the entry that is the first to go.
func (t *Table[K, V]) Least() (key K, value V, ok bool) {
	if len(t.order) == 0 {
		return key, value, false
	}
	e := t.order[0].entries.Back().Value.(*entry[K, V])
	return e.key, e.value, true
}

// Remove removes an entry if it is there.
func (t *Table[K, V]) Remove(key K) {
	if element, ok := t.entries[key]; ok {
		t.leave(element)
	}
}

// All goes through the entries, in no order; the one under way may be removed.
func (t *Table[K, V]) All(yield func(K, V) bool) {
	for key, element := range t.entries {
		if !yield(key, element.Value.(*entry[K, V]).value) {
			return
		}
	}
}

func (t *Table[K, V]) lengthOf(name string) int {
	if s := t.senders[name]; s != nil {
		return s.entries.Len()
	}
	return 0
}

func (t *Table[K, V]) join(key K, e *entry[K, V], by string) {
	s := t.senders[by]
	if s == nil {
		s = &sender{name: by, entries: list.New()}
		t.senders[by] = s
		heap.Push(&t.order, s)
	}
	e.sender = s
	t.entries[key] = s.entries.PushFront(e)
	heap.Fix(&t.order, s.place)
}

func (t *Table[K, V]) leave(element *list.Element) {
	e := element.Value.(*entry[K, V])
	s := e.sender
	s.entries.Remove(element)
	delete(t.entries, e.key)
	if s.entries.Len() == 0 {
		heap.Remove(&t.order, s.place)
		delete(t.senders, s.name)
		return
	}
	heap.Fix(&t.order, s.place)
}

// byEntries is a heap of senders, the one with most entries first.
type byEntries []*sender

func (o byEntries) Len() int           { return len(o) }
func (o byEntries) Less(i, j int) bool { return o[i].entries.Len() > o[j].entries.Len() }
func (o byEntries) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].place, o[j].place = i, j
}

func (o *byEntries) Push(x any) {
	s := x.(*sender)
	s.place = len(*o)
	*o = append(*o, s)
}

func (o *byEntries) Pop() any {
	last := len(*o) - 1
	s := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return s
}
