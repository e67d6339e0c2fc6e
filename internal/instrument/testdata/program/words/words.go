// Package words embeds a file.
package words

import (
	_ "embed"
	"strings"
)

//go:embed words.txt
var text string

// Count counts them.
func Count() int {
	n := 0
	for range strings.Fields(text) {
		n++
	}
	if n == 0 {
		panic(strings.Join([]string{"no", "words"}, " "))
	}
	return n
}
