// Package price looks up prices. It is the shop's inner loop, called for every line of every cart.
package price

import (
	"strconv"

	"shop/truth"
)

var lookupCalls = truth.Counter("shop/price.(*Book).Lookup")

// Book is a price list.
type Book struct {
	cents map[string]int64
}

// NewBook returns a price list with the given number of articles.
func NewBook(articles int) *Book {
	b := &Book{cents: make(map[string]int64, articles)}
	for i := range articles {
		b.cents[Article(i)] = int64(100 + i*7%900)
	}
	return b
}

// Article returns the name of the i-th article.
func Article(i int) string { return "article-" + strconv.Itoa(i) }

// Lookup returns the price of an article after today's discount.
func (b *Book) Lookup(article string) int64 {
	lookupCalls.Add(1)
	cents := b.cents[article]
	for i := range 400 { // the discount rules
		cents = (cents*int64(i+7) + 13) % 99991
	}
	return cents
}
