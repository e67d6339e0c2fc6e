package shares

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable_EvictsLeastRecentlyUsed(t *testing.T) {
	table := New[string, int](2)
	table.Add("a", 1, "x")
	table.Add("b", 2, "x")
	_, ok := table.Get("a", "x")
	require.True(t, ok)
	gone, full := table.Add("c", 3, "x")
	require.True(t, full)
	require.Equal(t, 2, gone)
	_, ok = table.Peek("b")
	require.False(t, ok)
	require.Equal(t, 2, table.Len())
}

// A sender with many entries does not evict those of others.
func TestTable_FloodEvictsItsOwn(t *testing.T) {
	table := New[string, int](100)
	for i := range 20 {
		table.Add(fmt.Sprint("quiet", i), i, fmt.Sprint("host", i))
	}
	for i := range 100_000 {
		table.Add(fmt.Sprint("flood", i), i, "flood")
	}
	require.Equal(t, 100, table.Len())
	for i := range 20 {
		_, ok := table.Get(fmt.Sprint("quiet", i), fmt.Sprint("host", i))
		require.True(t, ok, i)
	}
}

// An entry that a flooding sender added first belongs to another sender once that one uses it.
func TestTable_EntryBelongsToSenderWithFewest(t *testing.T) {
	table := New[string, int](100)
	table.Add("shop", 1, "flood")
	for i := range 1000 {
		if i%50 == 0 {
			_, ok := table.Get("shop", "host")
			require.True(t, ok, i)
			table.Get("shop", "flood")
		}
		table.Add(fmt.Sprint("flood", i), i, "flood")
	}
	_, ok := table.Peek("shop")
	require.True(t, ok)
}

// The entries, the senders and their order stay consistent through random operations.
func TestTable_Consistent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table := New[int, int](50)
	for range 200_000 {
		key, by := random.IntN(200), fmt.Sprint(random.IntN(8))
		switch random.IntN(10) {
		case 0:
			table.Remove(key)
		case 1, 2, 3:
			if v, ok := table.Get(key, by); ok {
				require.Equal(t, key, v)
			}
		default:
			table.Add(key, key, by)
		}
		require.LessOrEqual(t, table.Len(), 50)
		if random.IntN(1000) > 0 {
			continue
		}
		total := 0
		for i, s := range table.order {
			require.Equal(t, i, s.place)
			require.Positive(t, s.entries.Len())
			require.LessOrEqual(t, s.entries.Len(), table.order[0].entries.Len())
			require.Same(t, s, table.senders[s.name])
			total += s.entries.Len()
		}
		require.Equal(t, total, table.Len())
		require.Len(t, table.senders, len(table.order))
	}
}

func BenchmarkFlood(b *testing.B) {
	table := New[int, int](10_000)
	for i := range 10_000 {
		table.Add(-i-1, 0, fmt.Sprint(i))
	}
	for i := 0; b.Loop(); i++ {
		table.Add(i, 0, "flood")
	}
}
