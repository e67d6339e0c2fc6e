// Package shares contains a bounded table whose room is shared by senders: a sender that fills the
// table evicts its own entries, not those of others.
package shares

import (
	"container/heap"
	"container/list"
)

// Table is a bounded map. When it is full, it evicts the least recently used entry of the sender
// with the most entries. An entry that several senders use belongs to the one with the fewest
// entries. Table is not safe for concurrent use.
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

// sender holds the entries of one sender, most recently used first.
type sender struct {
	name    string
	entries *list.List
	place   int // in the order
}

// New returns a table of at most most entries.
func New[K comparable, V any](most int) *Table[K, V] {
	return &Table[K, V]{most: most, entries: make(map[K]*list.Element), senders: make(map[string]*sender)}
}

// Len returns the number of entries.
func (t *Table[K, V]) Len() int { return len(t.entries) }

// Get returns the value of key and marks it as used by the sender by.
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

// Peek returns the value of key without marking it as used.
func (t *Table[K, V]) Peek(key K) (value V, ok bool) {
	element, ok := t.entries[key]
	if !ok {
		return value, false
	}
	return element.Value.(*entry[K, V]).value, true
}

// Add sets the value of key; a new entry belongs to the sender by. If the table was full, Add
// returns the value that it evicted.
func (t *Table[K, V]) Add(key K, value V, by string) (evicted V, full bool) {
	if element, ok := t.entries[key]; ok {
		element.Value.(*entry[K, V]).value = value
		return evicted, false
	}
	t.join(key, &entry[K, V]{key: key, value: value}, by)
	if len(t.entries) <= t.most {
		return evicted, false
	}
	least, evicted, _ := t.Least()
	t.Remove(least)
	return evicted, true
}

// Least returns the entry that is evicted next.
func (t *Table[K, V]) Least() (key K, value V, ok bool) {
	if len(t.order) == 0 {
		return key, value, false
	}
	e := t.order[0].entries.Back().Value.(*entry[K, V])
	return e.key, e.value, true
}

// Remove removes the entry of key, if there is one.
func (t *Table[K, V]) Remove(key K) {
	if element, ok := t.entries[key]; ok {
		t.leave(element)
	}
}

// All iterates over the entries in no particular order. The current entry may be removed.
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
