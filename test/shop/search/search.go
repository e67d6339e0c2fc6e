// Package search finds articles by a word.
package search

import (
	"bytes"

	"shop/price"
	"shop/truth"
)

var findCalls = truth.Counter("shop/search.(*Index).Find")

// Index holds the names of all articles, one a line.
type Index struct {
	text []byte
}

// NewIndex indexes so many articles.
func NewIndex(articles int) *Index {
	var b bytes.Buffer
	for i := range articles {
		b.WriteString(price.Article(i))
		b.WriteByte('\n')
	}
	return &Index{text: b.Bytes()}
}

// Find returns how many articles have the word in their name.
func (x *Index) Find(word []byte) int {
	findCalls.Add(1)
	return bytes.Count(x.text, word)
}
