// Package search finds articles by a word.
package search

import (
	"bytes"

	"shop/price"
	"shop/truth"
)

var findCalls = truth.Counter("shop/search.(*Index).Find")

// Index contains the names of all articles, one per line.
type Index struct {
	text []byte
}

// NewIndex indexes the given number of articles.
func NewIndex(articles int) *Index {
	var b bytes.Buffer
	for i := range articles {
		b.WriteString(price.Article(i))
		b.WriteByte('\n')
	}
	return &Index{text: b.Bytes()}
}

// Find returns the number of articles with the word in their name.
func (x *Index) Find(word []byte) int {
	findCalls.Add(1)
	return bytes.Count(x.text, word)
}
