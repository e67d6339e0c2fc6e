package warehouse

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/corehour/corehour/internal/methodspan"
)

// An item that was given up can be sent again as a new item. It stays unsettled until a write succeeds.
func TestItemTable_AbandonedItemRestarts(t *testing.T) {
	table, now := newItemTable(), time.Now()
	batch := []methodspan.Item{{ID: "a", Rows: make([]methodspan.Row, 5)}}
	assert.True(t, table.admit("a", now))
	assert.False(t, table.admit("a", now), "a second copy")
	table.accept("a")
	fresh, _ := table.startWriting(batch, now)
	assert.Len(t, fresh, 1)
	table.unsettle(batch, []bool{true})
	table.refuse("a", 2)
	table.giveUp("a")
	assert.Zero(t, table.age(now.Add(time.Hour)), "it waits for nothing")

	assert.True(t, table.admit("a", now.Add(time.Minute)), "it is sent again")
	assert.True(t, table.mayBeStored("a"))
	assert.True(t, table.isUnsettled("a"))
	assert.Equal(t, 3, table.notRefused(&batch[0]))
	assert.Equal(t, time.Minute, table.age(now.Add(2*time.Minute)))

	table.settle()
	assert.False(t, table.mayBeStored("a"))
	assert.False(t, table.isUnsettled("a"))
	assert.Equal(t, 5, table.notRefused(&batch[0]))
	table.remove("a")
	assert.Empty(t, table.items)
}

// The item table is bounded even if a store is unreachable for long.
func TestItemTable_Bounded(t *testing.T) {
	table, now := newItemTable(), time.Now()
	for i := range maxGivenUp + 1000 {
		id := strconv.Itoa(i)
		table.admit(id, now)
		table.giveUp(id)
	}
	assert.Len(t, table.items, maxGivenUp)
	assert.LessOrEqual(t, len(table.order), 2*maxGivenUp+1024)
	table.settle()
	assert.Empty(t, table.items)
}
